import { decodeEvent } from "../ledger/index.ts";
import { type Outcome, simulate } from "./simulate.ts";
import { type Happening, Tally } from "./tally.ts";
import type { About } from "./violation.ts";

/** What came of a range of seeds. It ends at the first that broke an invariant. */
export interface BatchReport {
  readonly from: number;
  readonly to: number;
  /** How many were played. */
  readonly seeds: number;
  readonly steps: number;
  readonly events: number;
  readonly virtualMs: number;
  /** Seeds that were played twice, and gave the same ledger. */
  readonly repeated: number;
  readonly tally: Tally;
  readonly failure: SeedFailure | undefined;
  /** What never happened, where there were seeds enough for it to happen. */
  readonly missing: readonly Happening[];
}

export interface SeedFailure {
  readonly seed: number;
  readonly invariant: string;
  readonly detail: string;
  readonly step: number;
  /** The last recorded events about those that it concerns. */
  readonly window: readonly SeenEvent[];
  readonly stack: string;
}

export interface SeenEvent {
  readonly seq: number;
  readonly now: number;
  /** As it stands in the ledger. */
  readonly text: string;
}

/** Fewer seeds cannot be expected to meet everything. */
const SEEDS_FOR_ALL = 100;
const SEEDS_PER_REPETITION = 10;
const WINDOW = 12;
const LAST_EVENTS = 4;

export async function simulateSeeds(
  from: number,
  to: number,
  onProgress: (seed: number, report: BatchReport) => void = () => {},
): Promise<BatchReport> {
  const tally = new Tally();
  let report: BatchReport = {
    from,
    to,
    seeds: 0,
    steps: 0,
    events: 0,
    virtualMs: 0,
    repeated: 0,
    tally,
    failure: undefined,
    missing: [],
  };
  for (let seed = from; seed <= to && !report.failure; seed++) {
    const outcome = await simulate(seed);
    const repeats = seed % SEEDS_PER_REPETITION === 0 && !outcome.failure;
    tally.add(outcome.tally);
    report = {
      ...report,
      seeds: report.seeds + 1,
      steps: report.steps + outcome.steps,
      events: report.events + outcome.events,
      virtualMs: report.virtualMs + outcome.virtualMs,
      repeated: report.repeated + (repeats ? 1 : 0),
      failure: repeats ? await differenceTo(outcome) : seedFailure(outcome),
    };
    onProgress(seed, report);
  }
  const all = report.seeds >= SEEDS_FOR_ALL && !report.failure;
  return { ...report, missing: all ? tally.missing() : [] };
}

export function seedFailure({ seed, failure, lines }: Outcome): SeedFailure | undefined {
  if (!failure) return undefined;
  const { invariant, detail, step, stack, about } = failure;
  return { seed, invariant, detail, step, stack, window: windowOf(lines, about) };
}

/** Plays a seed again: the ledger must be the same, byte for byte. */
async function differenceTo(outcome: Outcome): Promise<SeedFailure | undefined> {
  const again = await simulate(outcome.seed);
  const at = outcome.lines.findIndex((line, index) => line !== again.lines[index]);
  if (at < 0 && again.lines.length === outcome.lines.length) return undefined;
  return {
    seed: outcome.seed,
    invariant: "same-seed-same-ledger",
    detail: `block ${at} differs when the seed is played again`,
    step: at,
    window: windowOf([outcome.lines[at] ?? "", again.lines[at] ?? ""], {}),
    stack: "",
  };
}

/** The last events about those concerned, and the very last ones, which led to it. */
function windowOf(lines: readonly string[], about: About): SeenEvent[] {
  const events = lines.flatMap(eventsIn);
  const concerned = events.filter(({ text }) => concerns(text, about)).slice(-WINDOW);
  const last = events.slice(-LAST_EVENTS);
  return events.filter((event) => concerned.includes(event) || last.includes(event));
}

function eventsIn(line: string): SeenEvent[] {
  if (line === "") return [];
  const { seq, now, events } = JSON.parse(line) as { seq: number; now: number; events: unknown[] };
  return events.map((wire, at) => ({ seq: seq + at, now, text: JSON.stringify(wire) }));
}

function concerns(text: string, { run, node, worker }: About): boolean {
  if (run === undefined && worker === undefined) return true;
  const event: Named = decodeEvent(JSON.parse(text)) as Named;
  if (worker !== undefined && event.worker === worker) return true;
  if (run === undefined || event.run !== run) return false;
  return node === undefined || event.node === undefined || event.node === node;
}

interface Named {
  readonly run?: number;
  readonly node?: number;
  readonly worker?: unknown;
}
