/** A zone at a glance, as lines of text. */

import type { OverviewAnswer, WorkersAnswer } from "../client/index.ts";
import { formatBytes, formatCount, formatMs } from "../words/index.ts";
import { type Column, tableLines } from "./layout.ts";
import type { Palette } from "./output.ts";
import { shown } from "./service-text.ts";
import { fitText } from "./terminal-text.ts";

export interface Sample {
  readonly overview: OverviewAnswer;
  readonly workers: WorkersAnswer["workers"];
}

export interface Size {
  readonly columns?: number;
  readonly rows?: number;
}

const CLASSES: readonly Column[] = [
  { title: "CLASS" },
  { title: "READY", align: "right" },
  { title: "RUNNING", align: "right" },
  { title: "OLDEST", align: "right" },
];
const WORKERS: readonly Column[] = [
  { title: "WORKER" },
  { title: "STATUS" },
  { title: "HELD", align: "right" },
  { title: "SLOTS", align: "right" },
];
const AGENTS: readonly Column[] = [
  { title: "AGENT" },
  { title: "RUNNING", align: "right" },
  { title: "OF", align: "right" },
];
const DATA: readonly Column[] = [
  { title: "DATA" },
  { title: "HELD", align: "right" },
  { title: "SPILLED", align: "right" },
  { title: "MOVED", align: "right" },
  { title: "FREED", align: "right" },
];
/** Names are cut to this, so that a table fits into 80 columns whatever things are called. */
const NAME_COLUMNS = 40;
const DATA_NAME_COLUMNS = 32;
const BAR = 20;

/** Everything; where there are fewer rows than it takes, the lists at the end are cut. */
export function topLines(
  { overview, workers }: Sample,
  palette: Palette,
  { columns = Number.POSITIVE_INFINITY, rows = Number.POSITIVE_INFINITY }: Size = {},
): string[] {
  const { bold, dim } = palette;
  const { zone, at, classes, per_second, wait, commit, ended } = overview;
  const head = [
    `${bold("orrery top")}  zone ${shown(zone)}  ${dim(at.slice(11, 19))}`,
    "",
    ...tableLines(CLASSES, classes.map(classRow), palette),
    "",
    `${dim("waiting ")}  ${fitText(waitingText(overview), columns - 10)}`,
    `${dim("per sec ")}  ${rate(per_second.submitted)} submitted, ${rate(per_second.started)} started, ${rate(per_second.ended)} ended`,
    `${dim("wait    ")}  ${quantiles(wait)}`,
    `${dim("commit  ")}  ${quantiles(commit)}`,
    `${dim("ended   ")}  ${formatCount(ended.completed)} completed, ${formatCount(ended.failed)} failed, ${formatCount(ended.cancelled)} cancelled`,
    `${dim("slots   ")}  ${slotsText(overview, palette)}`,
  ];
  return [...head, ...lists(overview, workers, palette, rows - head.length)];
}

function lists(
  overview: OverviewAnswer,
  workers: Sample["workers"],
  palette: Palette,
  rows: number,
): string[] {
  const { agents } = overview;
  const busiest = workers.toSorted((a, b) => b.held - a.held);
  const ofWorkers = ["", ...tableLines(WORKERS, busiest.map(workerRow), palette)];
  const ofAgents = agents.length > 0 ? ["", ...tableLines(AGENTS, agents.map(agentRow), palette)] : [];
  const inData = dataRows(overview, workers);
  const ofData = inData.length > 0 ? ["", ...tableLines(DATA, inData, palette)] : [];
  if (workers.length === 0) ofWorkers.splice(1, 1, "no workers");
  const below = Math.min(ofAgents.length, 5) + Math.min(ofData.length, 8);
  const kept = cut(ofWorkers, Math.max(4, Math.floor(rows - below)));
  const keptOfData = cut(ofData, Math.max(4, Math.floor(rows - kept.length - Math.min(ofAgents.length, 5))));
  return [...kept, ...keptOfData, ...ofAgents].slice(0, Math.max(0, rows));
}

function cut(lines: readonly string[], most: number): readonly string[] {
  return lines.length > most ? [...lines.slice(0, most - 1), more(lines.length - most + 1)] : lines;
}

/** Results that nodes hand to each other: on workers, and of runs, whose share of what was spilled nobody knows. */
function dataRows({ data_runs: runs }: OverviewAnswer, workers: Sample["workers"]): string[][] {
  const most = workers
    .flatMap(({ id, chunks }) => (chunks ? [{ id, ...chunks }] : []))
    .toSorted((a, b) => b.held_bytes + b.spilled_bytes - a.held_bytes - a.spilled_bytes);
  const name = (kind: string, text: string) => fitText(`${kind} ${shown(text)}`, DATA_NAME_COLUMNS);
  return [
    ...runs.map((run) => [
      name("run", run.name || run.id),
      bytes(run.held_bytes),
      "",
      bytes(run.moved_bytes),
      bytes(run.freed_bytes),
    ]),
    ...most.map((worker) => [
      name("worker", worker.id),
      ...[worker.held_bytes, worker.spilled_bytes, worker.moved_bytes, worker.freed_bytes].map(bytes),
    ]),
  ];
}

function bytes(count: number): string {
  return count === 0 ? "0" : formatBytes(count);
}

function more(count: number): string {
  return `and ${formatCount(count)} more`;
}

function classRow({
  priority_class,
  ready,
  running,
  oldest_wait,
}: OverviewAnswer["classes"][number]): string[] {
  const oldest = ready === 0 ? "" : formatMs(Math.round(oldest_wait * 1000));
  return [priority_class, formatCount(ready), formatCount(running), oldest];
}

function workerRow({ id, status, held, slots }: Sample["workers"][number]): string[] {
  return [fitText(shown(id), NAME_COLUMNS), shown(status), String(held), String(slots)];
}

function agentRow({ agent, running_count, max_concurrent }: OverviewAnswer["agents"][number]): string[] {
  const most = max_concurrent === null ? "any" : String(max_concurrent);
  return [fitText(shown(agent), NAME_COLUMNS), String(running_count), most];
}

function waitingText({ waiting }: OverviewAnswer): string {
  const some = Object.entries(waiting).filter(([, count]) => count > 0);
  if (some.length === 0) return "nothing";
  return some.map(([reason, count]) => `${formatCount(count)} ${shown(reason)}`).join(", ");
}

function slotsText({ slots, workers }: OverviewAnswer, { green, dim }: Palette): string {
  const all = slots.busy + slots.free + slots.closed;
  const filled = all === 0 ? 0 : Math.ceil((BAR * slots.busy) / all);
  const bar = green("#".repeat(filled)) + dim(".".repeat(BAR - filled));
  const closed = slots.closed > 0 ? `, ${formatCount(slots.closed)} closed` : "";
  return `${bar}  ${formatCount(slots.busy)} of ${formatCount(all)} busy${closed}, workers ${formatCount(workers)}`;
}

function rate(perSecond: number): string {
  return perSecond < 100 ? perSecond.toFixed(1) : formatCount(Math.round(perSecond));
}

function quantiles(seconds: OverviewAnswer["wait"]): string {
  if (seconds === null) return "nothing in the last minute";
  return `p50 ${millis(seconds.p50)}, p95 ${millis(seconds.p95)}`;
}

function millis(seconds: number): string {
  const ms = seconds * 1000;
  return ms < 10 ? `${ms.toFixed(1)}ms` : formatMs(Math.round(ms));
}
