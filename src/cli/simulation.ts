import { ChainVerifier } from "../ledger/index.ts";
import {
  type BatchReport,
  BRANCHES,
  FAULTS,
  type Outcome,
  type SeedFailure,
  seedFailure,
  simulate,
  simulateSeeds,
} from "../simulator/index.ts";
import { FileStore } from "../store/index.ts";
import { countOf, formatCount } from "../words/index.ts";
import { CheckFailed, UsageError } from "./errors.ts";
import { fieldLines, tableLines } from "./layout.ts";
import { type Palette, printJson, printLines, stdoutPalette } from "./output.ts";
import { StatusLine } from "./status-line.ts";
import { neutralise } from "./terminal-text.ts";

export interface SimulationOptions {
  readonly json: boolean;
  readonly verbose: boolean;
  /** Where to write the ledger of the only seed. */
  readonly ledger: string | undefined;
}

/** Plays the seeds and prints what came of it. Returns whether everything held. */
export async function playSeeds(first: number, last: number, options: SimulationOptions): Promise<boolean> {
  if (options.ledger !== undefined) await writeLedger(options.ledger, await simulate(first));
  if (options.verbose && !options.json && first === last) await tellEvents(first);
  const status = new StatusLine();
  const report = await simulateSeeds(first, last, (seed, { events, tally }) => {
    const done = `${countOf(events, "event")}, ${countOf(tally.faults, "fault")}`;
    status.show(() => `seed ${seed} of ${last}, ${done}`);
  });
  status.clear();
  if (options.json) await printJson(jsonOf(report));
  else await printLines(render(report, options.verbose, stdoutPalette()));
  return report.failure === undefined && report.missing.length === 0;
}

async function writeLedger(path: string, outcome: Outcome): Promise<void> {
  await using store = await FileStore.open(path);
  if (store.head.seq > 0) throw new UsageError(`${path} holds a ledger already; choose another file`);
  const chain = new ChainVerifier();
  for (const line of outcome.lines) {
    const block = chain.accept(line);
    if ("code" in block) throw new CheckFailed(`the ledger breaks at event ${block.seq}: ${block.detail}`);
    await store.commit(block);
  }
}

async function tellEvents(seed: number): Promise<void> {
  const lines: string[] = [];
  const outcome = await simulate(seed, {
    onEvent: (seq, now, text) => lines.push(`${seq} ${now} ${neutralise(text)}`),
  });
  const failure = seedFailure(outcome);
  if (failure) lines.push("", ...failure.stack.split("\n").map(neutralise));
  await printLines([...lines, ""]);
}

function jsonOf(report: BatchReport): unknown {
  const { tally, failure, ...rest } = report;
  const counts = Object.fromEntries([...FAULTS, ...BRANCHES].map((name) => [name, tally.of(name)]));
  return {
    ok: failure === undefined && report.missing.length === 0,
    ...rest,
    happenings: counts,
    failure: failure ? { ...failure, command: commandFor(failure) } : null,
  };
}

function render(report: BatchReport, verbose: boolean, palette: Palette): string[] {
  const { failure, missing, tally } = report;
  if (failure) return renderFailure(failure, palette);
  const fields = fieldLines(
    [
      ["seeds", `${formatCount(report.seeds)} (${report.from} to ${report.to})`],
      ["steps", formatCount(report.steps)],
      ["events", formatCount(report.events)],
      ["virtual hours", (report.virtualMs / 3_600_000).toFixed(1)],
      ["faults", formatCount(tally.faults)],
      ["played twice", `${formatCount(report.repeated)}, with the same ledger`],
    ],
    palette,
  );
  const title =
    missing.length === 0
      ? `${palette.green("✓")} every invariant held in ${countOf(report.seeds, "seed")}`
      : `${palette.red("✗")} never happened in ${countOf(report.seeds, "seed")}: ${missing.join(", ")}`;
  const names = verbose || report.seeds > 1 ? [...FAULTS, ...BRANCHES] : [];
  const rows = names.map((name) => [name, formatCount(tally.of(name))]);
  const table = tableLines([{ title: "happened" }, { title: "times", align: "right" }], rows, palette);
  return [title, "", ...fields, ...(rows.length > 0 ? ["", ...table] : [])];
}

function renderFailure(failure: SeedFailure, palette: Palette): string[] {
  return [
    `${palette.red("✗")} seed ${failure.seed} broke ${palette.bold(failure.invariant)} in step ${formatCount(failure.step)}`,
    "",
    `  ${neutralise(failure.detail)}`,
    "",
    ...tableLines(
      [{ title: "seq", align: "right" }, { title: "time", align: "right" }, { title: "event" }],
      failure.window.map(({ seq, now, text }) => [String(seq), String(now), neutralise(shortened(text))]),
      palette,
    ),
    "",
    `  ${commandFor(failure)}`,
  ];
}

/** A whole graph can stand in an event. */
function shortened(text: string): string {
  return text.length <= 160 ? text : `${text.slice(0, 159)}…`;
}

function commandFor({ seed }: SeedFailure): string {
  return `orrery simulate --seeds ${seed}..${seed} --verbose`;
}
