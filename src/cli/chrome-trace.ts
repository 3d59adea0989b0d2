/**
 * The history as Chrome trace events, the form that Perfetto and most other viewers read.
 *
 * A process is a run, a thread is a lane of a worker: attempts that overlap on a worker have lanes of their
 * own, because slices of one thread must nest. What concerns no run belongs to the process "scheduler". Times
 * are microseconds since the first event.
 */

import { speculationTag } from "../graph/index.ts";
import { type Attempt, type History, type Mark, packLanes, type RunStory } from "./history.ts";

export interface TraceEvent {
  readonly ph: "M" | "X" | "i" | "s" | "f";
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

export function* traceEvents(history: History): Generator<TraceEvent> {
  const threads = threadsOf(history);
  const at = (ms: number): number => (ms - history.firstAt) * 1_000;
  yield* metadata(history, threads);
  for (const attempt of history.attempts) yield slice(history, attempt, threads, at);
  yield* flows(history, threads, at);
  for (const mark of history.marks) yield instant(history, mark, threads, at);
}

/** The thread of every attempt: workers in the order of their ids, each with as many as it has lanes. */
function threadsOf(history: History): Map<Attempt, number> {
  const lanes = packLanes(history.attempts);
  const counts = new Map<number, number>();
  for (const [{ worker }, lane] of lanes) counts.set(worker, Math.max(counts.get(worker) ?? 0, lane + 1));
  const first = new Map<number, number>();
  let next = 1;
  for (const worker of [...counts.keys()].sort((a, b) => compare(history.workers[a], history.workers[b]))) {
    first.set(worker, next);
    next += counts.get(worker) as number;
  }
  const threads = new Map<Attempt, number>();
  for (const [attempt, lane] of lanes) threads.set(attempt, (first.get(attempt.worker) as number) + lane);
  return threads;
}

function compare(a = "", b = ""): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function pidOf(run: number): number {
  return run + 1;
}

function* metadata(history: History, threads: ReadonlyMap<Attempt, number>): Generator<TraceEvent> {
  yield name("process_name", SCHEDULER, 0, "scheduler");
  for (const run of history.runs) {
    const title = run.name === run.id || run.name === "" ? run.id : `${run.name} (${run.id})`;
    yield name("process_name", pidOf(run.number), 0, `run ${title}`);
  }
  const named = new Set<string>();
  const lanes = new Map<number, number>();
  for (const [attempt, tid] of threads)
    lanes.set(attempt.worker, Math.min(lanes.get(attempt.worker) ?? tid, tid));
  for (const [{ run, worker }, tid] of threads) {
    const key = `${run} ${tid}`;
    if (named.has(key)) continue;
    named.add(key);
    const lane = tid - (lanes.get(worker) as number) + 1;
    yield name("thread_name", pidOf(run), tid, `${history.workers[worker]} #${lane}`);
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

function slice(
  history: History,
  attempt: Attempt,
  threads: ReadonlyMap<Attempt, number>,
  at: At,
): TraceEvent {
  const id = nodeName(history, attempt);
  const node = attempt.alternative === -1 ? id : `${id} ${speculationTag(attempt.alternative)}`;
  return {
    ph: "X",
    pid: pidOf(attempt.run),
    tid: threads.get(attempt) as number,
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

/** An arrow from the end of what a node needs to its first start. */
function* flows(history: History, threads: ReadonlyMap<Attempt, number>, at: At): Generator<TraceEvent> {
  let id = 0;
  for (const { run, firsts, finals } of attemptsByRun(history)) {
    for (const [node, to] of firsts) {
      for (const need of run.graph.needs[node] ?? []) {
        const from = finals.get(need);
        if (!from) continue;
        const arrow = { cat: "needs", name: "needs", id: ++id };
        const source = { pid: pidOf(run.number), tid: threads.get(from) as number };
        const target = { pid: pidOf(run.number), tid: threads.get(to) as number };
        // Within the slice: an arrow that begins at its very end belongs to none.
        yield { ph: "s", ...source, ...arrow, ts: Math.max(at(from.startedAt), at(from.endedAt) - 1) };
        yield { ph: "f", ...target, ...arrow, bp: "e", ts: at(to.startedAt) };
      }
    }
  }
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

function instant(history: History, mark: Mark, threads: ReadonlyMap<Attempt, number>, at: At): TraceEvent {
  const ts = at(mark.at);
  const { seq } = mark;
  switch (mark.type) {
    case "retried": {
      const { attempt } = mark;
      const node = nodeName(history, attempt);
      const args = { node, attempt: attempt.attempt, dueInMs: mark.dueAt - mark.at, seq };
      const place = { pid: pidOf(attempt.run), tid: threads.get(attempt) as number };
      return { ph: "i", ...place, name: `retry ${node}`, cat: "retry", ts, s: "t", args };
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
