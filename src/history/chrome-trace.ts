/**
 * The history as Chrome trace events, the form that Perfetto and most other viewers read.
 *
 * A process is a run, a thread is a lane of a worker: attempts that overlap on a worker have lanes of their
 * own, because slices of one thread must nest, and so have the transfers to it. What concerns no run belongs to the
 * process "scheduler". Times are microseconds since the first event.
 */

import { taskIdOf } from "../core/index.ts";
import { speculationTag } from "../graph/index.ts";
import { formatTime } from "../words/index.ts";
import {
  type Attempt,
  type History,
  type Mark,
  packLanes,
  type RunStory,
  type TransferStory,
} from "./history.ts";

export interface TraceEvent {
  readonly ph: "M" | "X" | "i" | "s" | "t" | "f";
  readonly pid: number;
  readonly tid: number;
  readonly name: string;
  readonly ts?: number;
  readonly dur?: number;
  readonly cat?: string;
  readonly id?: number;
  readonly s?: "t" | "p" | "g";
  readonly bp?: "e";
  readonly args?: Readonly<Record<string, unknown>>;
}

const SCHEDULER = 0;
const CHUNK_CHARS = 65_536;

/** The whole file, in pieces. */
export function* chromeTrace(history: History): Generator<string> {
  const otherData = JSON.stringify({ start: formatTime(history.firstAt) });
  let chunk = `{"displayTimeUnit":"ms","otherData":${otherData},"traceEvents":[`;
  let before = "\n";
  for (const event of traceEvents(history)) {
    chunk += before + JSON.stringify(event);
    before = ",\n";
    if (chunk.length < CHUNK_CHARS) continue;
    yield chunk;
    chunk = "";
  }
  yield `${chunk}\n]}\n`;
}

/** What has a slice, and its place: the number of its thread, and the lane that this is of its worker's. */
type Threads = ReadonlyMap<Attempt | TransferStory, { readonly tid: number; readonly lane: number }>;

function* traceEvents(history: History): Generator<TraceEvent> {
  const threads = threadsOf(history);
  const at = (ms: number): number => Math.round((ms - history.firstAt) * 1_000);
  yield* metadata(history, threads);
  for (const attempt of history.attempts) yield slice(history, attempt, threads, at);
  const needs = yield* flows(history, threads, at);
  yield* transfers(history, threads, at, needs);
  for (const mark of history.marks) yield instant(history, mark, threads, at);
}

/** Workers in the order of their ids, each with as many as it has lanes: those of attempts first. */
function threadsOf(history: History): Threads {
  const lanes = packLanes(history.attempts);
  const lanesIn = packLanes(history.attempts.flatMap(({ transfers = [] }) => transfers));
  const counts = countLanes(lanes);
  const countsIn = countLanes(lanesIn);
  const threads = new Map<Attempt | TransferStory, { tid: number; lane: number }>();
  const first = new Map<number, number>();
  let next = 1;
  for (const worker of [...counts.keys()].sort((a, b) => compare(history.workers[a], history.workers[b]))) {
    first.set(worker, next);
    next += (counts.get(worker) as number) + (countsIn.get(worker) ?? 0);
  }
  const firstOf = ({ worker }: Attempt | TransferStory) => first.get(worker) as number;
  for (const [one, lane] of lanes) threads.set(one, { tid: firstOf(one) + lane, lane });
  for (const [one, lane] of lanesIn)
    threads.set(one, { tid: firstOf(one) + (counts.get(one.worker) as number) + lane, lane });
  return threads;
}

function countLanes(lanes: ReadonlyMap<Attempt | TransferStory, number>): Map<number, number> {
  const counts = new Map<number, number>();
  for (const [{ worker }, lane] of lanes) counts.set(worker, Math.max(counts.get(worker) ?? 0, lane + 1));
  return counts;
}

function compare(a = "", b = ""): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function pidOf(run: number): number {
  return run + 1;
}

function* metadata(history: History, threads: Threads): Generator<TraceEvent> {
  yield name("process_name", SCHEDULER, 0, "scheduler");
  for (const run of history.runs) {
    const title = run.name === run.id || run.name === "" ? run.id : `${run.name} (${run.id})`;
    yield name("process_name", pidOf(run.number), 0, `run ${title}`);
  }
  const named = new Set<string>();
  for (const [one, { tid, lane }] of threads) {
    const { run, worker } = "to" in one ? { ...one, run: one.to.run } : one;
    const key = `${run} ${tid}`;
    if (named.has(key)) continue;
    named.add(key);
    const title = "to" in one ? `${history.workers[worker]} in` : history.workers[worker];
    yield name("thread_name", pidOf(run), tid, `${title} #${lane + 1}`);
    yield {
      ph: "M",
      pid: pidOf(run),
      tid,
      name: "thread_sort_index",
      args: { sort_index: tid },
    };
  }
}

function name(kind: string, pid: number, tid: number, value: string): TraceEvent {
  return { ph: "M", pid, tid, name: kind, args: { name: value } };
}

type At = (ms: number) => number;

function placeOf(of: Attempt, threads: Threads, one: Attempt | TransferStory = of): TraceEventPlace {
  return { pid: pidOf(of.run), tid: threads.get(one)?.tid as number };
}

type TraceEventPlace = Pick<TraceEvent, "pid" | "tid">;

function slice(history: History, attempt: Attempt, threads: Threads, at: At): TraceEvent {
  const id = nodeName(history, attempt);
  const node = attempt.alternative === -1 ? id : `${id} ${speculationTag(attempt.alternative)}`;
  return {
    ph: "X",
    ...placeOf(attempt, threads),
    name: attempt.attempt > 1 ? `${node} #${attempt.attempt}` : node,
    cat: attempt.outcome,
    ts: at(attempt.startedAt),
    dur: (attempt.endedAt - attempt.startedAt) * 1_000,
    args: {
      node,
      attempt: attempt.attempt,
      outcome: attempt.outcome,
      worker: history.workers[attempt.worker],
      reason: attempt.reason,
      seq: attempt.seq,
      waitedMs: attempt.startedAt - attempt.assignedAt,
      ...(attempt.movedBytes ? { movedBytes: attempt.movedBytes } : {}),
      ...(attempt.error ? { error: attempt.error } : {}),
    },
  };
}

function nodeName(history: History, { run, node }: { readonly run: number; readonly node: number }): string {
  return history.runs[run]?.graph.ids[node] ?? `node ${node}`;
}

/** An arrow from the end of what a node needs to its first start. Returns how many there are. */
function* flows(history: History, threads: Threads, at: At): Generator<TraceEvent, number> {
  let id = 0;
  for (const { run, firsts, finals } of attemptsByRun(history)) {
    for (const [node, to] of firsts) {
      for (const need of run.graph.needs[node] ?? []) {
        const from = finals.get(need);
        if (!from) continue;
        const arrow = { cat: "needs", name: "needs", id: ++id };
        yield { ph: "s", ...placeOf(from, threads), ...arrow, ts: beforeEnd(from, at) };
        yield { ph: "f", ...placeOf(to, threads), ...arrow, bp: "e", ts: at(to.startedAt) };
      }
    }
  }
  return id;
}

/** Within the slice: an arrow that begins at its very end belongs to none. */
function beforeEnd({ startedAt, endedAt }: Attempt, at: At): number {
  return Math.max(at(startedAt), at(endedAt) - 1);
}

/** A slice for each on its worker, and an arrow through it from who made the result to who needed it. */
function* transfers(history: History, threads: Threads, at: At, arrows: number): Generator<TraceEvent> {
  let id = arrows;
  for (const to of history.attempts) {
    for (const transfer of to.transfers ?? []) {
      const ts = at(transfer.startedAt);
      const place = placeOf(to, threads, transfer);
      yield transferSlice(history, transfer, place, at);
      const from = transfer.maker;
      if (!from) continue;
      const arrow = { cat: "data", name: "data", id: ++id };
      yield { ph: "s", ...placeOf(from, threads), ...arrow, ts: beforeEnd(from, at) };
      yield { ph: "t", ...place, ...arrow, ts };
      yield { ph: "f", ...placeOf(to, threads), ...arrow, bp: "e", ts: at(to.startedAt) };
    }
  }
}

function transferSlice(
  history: History,
  transfer: TransferStory,
  place: TraceEventPlace,
  at: At,
): TraceEvent {
  const { to, node, maker, startedAt, endedAt } = transfer;
  const made = maker && { chunk: chunkIdOf(history, maker), bytes: maker.resultBytes };
  return {
    ph: "X",
    ...place,
    name: `fetch ${nodeName(history, { run: to.run, node })}`,
    cat: "transfer",
    ts: at(startedAt),
    dur: at(endedAt) - at(startedAt),
    args: {
      from: history.workers[transfer.from],
      to: history.workers[transfer.worker],
      for: nodeName(history, to),
      ...made,
      seq: to.seq,
    },
  };
}

/** What workers know the result by. */
function chunkIdOf(history: History, { run, node, attempt }: Attempt): string {
  return `${taskIdOf(history.runs[run]?.id ?? "", nodeName(history, { run, node }))}:${attempt}`;
}

interface RunAttempts {
  readonly run: RunStory;
  /** By node: its first attempt, and the one that finished. */
  readonly firsts: Map<number, Attempt>;
  readonly finals: Map<number, Attempt>;
}

function attemptsByRun(history: History): RunAttempts[] {
  const byRun = history.runs.map((run) => ({ run, firsts: new Map(), finals: new Map() }) as RunAttempts);
  for (const attempt of history.attempts) {
    const of = byRun[attempt.run];
    if (!of) continue;
    if (!of.firsts.has(attempt.node)) of.firsts.set(attempt.node, attempt);
    const { node, alternative } = attempt;
    const counts = alternative === -1 || of.run.chosen.get(node)?.alternative === alternative;
    if (attempt.outcome === "finished" && counts) of.finals.set(node, attempt);
  }
  return byRun;
}

function instant(history: History, mark: Mark, threads: Threads, at: At): TraceEvent {
  const ts = at(mark.at);
  const { seq } = mark;
  switch (mark.type) {
    case "retried": {
      const { attempt } = mark;
      const node = nodeName(history, attempt);
      const args = { node, attempt: attempt.attempt, dueInMs: mark.dueAt - mark.at, seq };
      return { ph: "i", ...placeOf(attempt, threads), name: `retry ${node}`, cat: "retry", ts, s: "t", args };
    }
    case "worker-lost":
    case "worker-joined": {
      const worker = history.workers[mark.worker];
      const what = mark.type === "worker-lost" ? "lost" : "joined";
      const args = { worker, seq };
      return { ph: "i", pid: SCHEDULER, tid: 0, name: `${worker} ${what}`, cat: "worker", ts, s: "g", args };
    }
    case "reserved": {
      const worker = history.workers[mark.worker];
      const node = nodeName(history, mark);
      const args = { node, worker, freeInMs: mark.freeAt - mark.at, seq };
      const title = `${worker} kept for ${node}`;
      return { ph: "i", pid: SCHEDULER, tid: 0, name: title, cat: "reservation", ts, s: "p", args };
    }
  }
}
