import type { StatusName } from "../scheduler/index.ts";
import {
  countOf,
  formatBytes,
  formatCores,
  formatCount,
  formatMs,
  formatTime,
  OUTCOME_WORDS,
  STATUS_WORDS,
} from "../words/index.ts";
import { fieldLines, tableLines } from "./layout.ts";
import type { Palette } from "./output.ts";
import type { RunSummary, StateSummary, WorkerSummary } from "./state-summary.ts";
import { fitText, neutralise } from "./terminal-text.ts";

/** Names of held tasks that are shown for a worker; it may hold hundreds. */
const HELD_SHOWN = 3;
const NAME_WIDTH = 32;

export function renderSummary(
  ledger: string,
  summary: StateSummary,
  columns: number,
  palette: Palette,
): string[] {
  const lines = [`${palette.bold(neutralise(ledger))} after event ${formatCount(summary.seq)}`, ""];
  const fields: (readonly [string, string])[] = [
    ["time", formatTime(summary.now)],
    ["state", summary.stateHash],
    ["strategy", summary.strategy],
    ["backlog", countOf(summary.backlog, "task")],
  ];
  if (summary.refusedSubmissions > 0) {
    fields.push(["refused", countOf(summary.refusedSubmissions, "submission")]);
  }
  lines.push(...fieldLines(fields, palette, columns));
  lines.push(...section("Workers", workerLines(summary.workers, palette), palette));
  lines.push(...section("Runs", runLines(summary, palette), palette));
  for (const run of summary.runs) {
    if (run.nodes) lines.push(...section(`Nodes of ${shortName(run.id)}`, nodeLines(run, palette), palette));
  }
  if (summary.reservations.length > 0) {
    const rows = summary.reservations.map(({ worker, node, run }) => [worker, node, run].map(shortName));
    const columns = [{ title: "worker" }, { title: "kept free for" }, { title: "run" }];
    lines.push(...section("Reservations", tableLines(columns, rows, palette), palette));
  }
  return lines;
}

function section(title: string, lines: readonly string[], { bold }: Palette): string[] {
  return ["", bold(title), ...(lines.length === 0 ? ["  none"] : lines.map((line) => `  ${line}`))];
}

function workerLines(workers: readonly WorkerSummary[], palette: Palette): string[] {
  if (workers.length === 0) return [];
  const columns = [
    { title: "id" },
    { title: "status" },
    { title: "slots", align: "right" },
    { title: "free cpu", align: "right" },
    { title: "free memory", align: "right" },
    { title: "holds" },
  ] as const;
  const rows = workers.map(({ id, status, slots, held, free, total }) => [
    shortName(id),
    status,
    formatCount(slots),
    `${formatCores(free.cpuMillicores)} of ${formatCores(total.cpuMillicores)}`,
    formatBytes(free.memoryBytes),
    describeHeld(held.map(({ node }) => node)),
  ]);
  return tableLines(columns, rows, palette);
}

function describeHeld(nodes: readonly string[]): string {
  const shown = nodes.slice(0, HELD_SHOWN).map(shortName).join(", ");
  return nodes.length > HELD_SHOWN ? `${shown} and ${formatCount(nodes.length - HELD_SHOWN)} more` : shown;
}

function runLines({ runs, now }: StateSummary, palette: Palette): string[] {
  if (runs.length === 0) return [];
  const columns = [
    { title: "id" },
    { title: "name" },
    { title: "outcome" },
    { title: "time", align: "right" },
    { title: "nodes" },
  ] as const;
  const rows = runs.map((run) => [
    shortName(run.id),
    shortName(run.name),
    run.outcome === null ? "open" : OUTCOME_WORDS[run.outcome],
    formatMs((run.endedAt ?? now) - run.submittedAt),
    describeCounts(run),
  ]);
  return tableLines(columns, rows, palette);
}

function describeCounts({ counts }: RunSummary): string {
  return (Object.entries(counts) as [StatusName, number][])
    .toReversed()
    .map(([status, count]) => `${formatCount(count)} ${STATUS_WORDS[status]}`)
    .join(", ");
}

function nodeLines({ nodes }: RunSummary, palette: Palette): string[] {
  const columns = [
    { title: "id" },
    { title: "status" },
    { title: "attempts", align: "right" },
    { title: "worker" },
  ] as const;
  const rows = (nodes ?? []).map(({ id, status, attempt, worker }) => [
    shortName(id),
    STATUS_WORDS[status],
    formatCount(attempt),
    worker === null ? "" : shortName(worker),
  ]);
  return tableLines(columns, rows, palette);
}

function shortName(name: string): string {
  return fitText(neutralise(name), NAME_WIDTH);
}
