import { speculationTag, taskSpecOf } from "../graph/index.ts";
import { type Attempt, completions, type History, packLanes, type RunStory } from "../history/index.ts";
import type { RunOutcome } from "../ledger/index.ts";
import { closest } from "../protocol/index.ts";
import type { AttemptOutcome } from "../words/index.ts";
import { NotFoundError } from "./errors.ts";
import { neutralise } from "./terminal-text.ts";

/** Times are milliseconds of the ledger's clock. */
export interface Chart {
  readonly run: string;
  readonly name: string;
  readonly outcome: RunOutcome | "open";
  readonly runs: number;
  readonly nodes: number;
  readonly start: number;
  readonly end: number;
  readonly by: "node" | "worker";
  /** What held up the end: each node was waited for by the next. */
  readonly criticalPath: readonly string[];
  readonly rows: readonly Row[];
}

export interface Row {
  /** A node or a worker. */
  readonly label: string;
  /** Of a worker, from 1: attempts that overlap are in different ones. */
  readonly lane: number;
  readonly critical: boolean;
  /** Ready, and not started. */
  readonly waits: readonly Span[];
  readonly bars: readonly Bar[];
  /** What became of a node that never ran. */
  readonly fate: "failed" | "cancelled" | "skipped" | "done before" | "not started" | null;
}

export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Bar extends Span {
  readonly node: string;
  readonly worker: string;
  readonly attempt: number;
  readonly outcome: AttemptOutcome;
  readonly critical: boolean;
}

const MOST_NODES_BY_NODE = 40;

export function chartOf(
  history: History,
  path: string,
  options: { readonly run?: string; readonly by?: "node" | "worker" },
): Chart {
  const run = findRun(history, path, options.run);
  const attempts = history.attempts.filter((attempt) => attempt.run === run.number);
  const nodes = run.graph.ids.length;
  const end = run.endedAt ?? history.lastAt;
  const by = options.by ?? (nodes <= MOST_NODES_BY_NODE ? "node" : "worker");
  const pathNodes = criticalPath(run, attempts);
  const critical = new Set(pathNodes);
  const barOf = (attempt: Attempt): Bar => ({
    node: labelOf(run, attempt),
    worker: history.workers[attempt.worker] as string,
    attempt: attempt.attempt,
    outcome: attempt.outcome,
    critical: critical.has(attempt.node),
    start: attempt.startedAt,
    end: attempt.endedAt,
  });
  return {
    run: run.id,
    name: run.name,
    outcome: run.outcome ?? "open",
    runs: history.runs.length,
    nodes,
    start: run.submittedAt,
    end,
    by,
    criticalPath: pathNodes.map((node) => run.graph.ids[node] as string),
    rows: by === "node" ? nodeRows(run, end, attempts, critical, barOf) : workerRows(attempts, barOf),
  };
}

function findRun(history: History, path: string, id: string | undefined): RunStory {
  const run = history.runs.findLast((one) => id === undefined || one.id.startsWith(id));
  if (run) return run;
  if (id === undefined) throw new NotFoundError(`${path} has no run`);
  const near = closest(
    id,
    history.runs.map((one) => one.id),
  );
  const hint = near === undefined ? "" : `; did you mean ${neutralise(near)}?`;
  throw new NotFoundError(`${path} has no run ${neutralise(id)}${hint}`);
}

/** Nodes in the order in which they started, then those that never did. */
function nodeRows(
  run: RunStory,
  end: number,
  attempts: readonly Attempt[],
  critical: ReadonlySet<number>,
  barOf: (attempt: Attempt) => Bar,
): Row[] {
  const byLabel = new Map<string, Attempt[]>();
  const byNode = new Set<number>();
  for (const attempt of attempts.toSorted((a, b) => a.startedAt - b.startedAt || a.seq - b.seq)) {
    const label = labelOf(run, attempt);
    const of = byLabel.get(label);
    if (of) of.push(attempt);
    else byLabel.set(label, [attempt]);
    byNode.add(attempt.node);
  }
  const completedAt = completions(run, attempts);
  const rows: Row[] = [];
  for (const [label, of] of byLabel) {
    const { node } = of[0] as Attempt;
    rows.push({
      label,
      lane: 1,
      critical: critical.has(node),
      waits: waitsOf(readyAt(run, node, completedAt), of),
      bars: of.map(barOf),
      fate: null,
    });
  }
  const done = new Set(run.graph.done);
  for (const [node, label] of run.graph.ids.entries()) {
    if (byNode.has(node)) continue;
    const fate = done.has(node) ? "done before" : (run.fates.get(node) ?? "not started");
    const isReady = (run.graph.needs[node] ?? []).every((need) => completedAt.has(need) || done.has(need));
    const waits =
      fate === "not started" && isReady && !isHeld(run, node)
        ? [{ start: readyAt(run, node, completedAt), end }]
        : [];
    rows.push({ label, lane: 1, critical: false, waits, bars: [], fate });
  }
  return rows;
}

/** Alternatives of a node have rows of their own. */
function labelOf({ graph }: RunStory, { node, alternative }: Attempt): string {
  const id = graph.ids[node] as string;
  return alternative === -1 ? id : `${id} ${speculationTag(alternative)}`;
}

function isHeld({ graph }: RunStory, node: number): boolean {
  const spec = graph.specs[graph.spec[node] as number];
  return spec !== undefined && taskSpecOf(spec).held;
}

function readyAt(run: RunStory, node: number, completedAt: ReadonlyMap<number, number>): number {
  const needs = run.graph.needs[node] ?? [];
  return needs.reduce((at, need) => Math.max(at, completedAt.get(need) ?? at), run.submittedAt);
}

function waitsOf(readyAtMs: number, attempts: readonly Attempt[]): Span[] {
  let from = readyAtMs;
  const waits: Span[] = [];
  for (const { startedAt, endedAt } of attempts) {
    if (startedAt > from) waits.push({ start: from, end: startedAt });
    from = endedAt;
  }
  return waits;
}

function workerRows(attempts: readonly Attempt[], barOf: (attempt: Attempt) => Bar): Row[] {
  const rows = new Map<string, { label: string; lane: number; bars: Bar[] }>();
  for (const [attempt, lane] of packLanes(attempts)) {
    const bar = barOf(attempt);
    const key = JSON.stringify([bar.worker, lane]);
    const row = rows.get(key) ?? { label: bar.worker, lane: lane + 1, bars: [] };
    row.bars.push(bar);
    rows.set(key, row);
  }
  return [...rows.values()]
    .sort((a, b) => (a.label === b.label ? a.lane - b.lane : a.label < b.label ? -1 : 1))
    .map((row) => ({ ...row, critical: false, waits: [], fate: null }));
}

/** Back from what ended last: each time to the node that it needed and that ended last. */
function criticalPath({ graph }: RunStory, attempts: readonly Attempt[]): number[] {
  const endOf = new Map<number, number>();
  for (const { node, endedAt } of attempts) endOf.set(node, Math.max(endOf.get(node) ?? endedAt, endedAt));
  const latest = (nodes: Iterable<number>): number | undefined => {
    let best: number | undefined;
    for (const node of nodes) {
      const end = endOf.get(node);
      if (end !== undefined && (best === undefined || end > (endOf.get(best) as number))) best = node;
    }
    return best;
  };
  const path: number[] = [];
  for (let node = latest(endOf.keys()); node !== undefined; node = latest(graph.needs[node] ?? [])) {
    path.push(node);
  }
  return path.reverse();
}
