import { invariant } from "../core/index.ts";
import type {
  AttemptFinished,
  ChunkLost,
  NodesRecomputed,
  RunParent,
  TaskReused,
  WorkerLost,
} from "../ledger/index.ts";
import { NO_RUN, nodeOfKey, runOfKey, takesNoSlot, taskKey, type Worker } from "../placement/index.ts";
import { type CachedResult, cacheKeyOf, type KeptCopies } from "./result-cache.ts";
import type { Run } from "./run.ts";
import { Result, type RunData } from "./run-data.ts";
import type { State } from "./state.ts";
import { isEnded, isPlaced, Status } from "./status.ts";

/** Where the result of a node is now, and how long the likes of it take. */
export function noteResult(state: State, run: Run, event: AttemptFinished, now: number): void {
  const { data } = run;
  const { node, held, startedAt, resultHash, resultBytes } = event;
  if (!data) return;
  const worker = run.workerOf(node);
  data.hashes.set(node, resultHash);
  data.movedBytes += event.movedBytes ?? 0;
  if (held) data.hold(node, worker);
  else data.store(node);
  const key = data.outdated.has(node) ? undefined : cacheKeyOf(run, node);
  if (key && !(held && resultBytes > (state.config.cacheBytes ?? 0))) {
    const made = { taskId: run.taskIdOf(node), resultHash, resultBytes, at: now };
    remember(state, key, held ? { ...made, held: copiesOf(run, node, worker) } : made);
  }
  share(run, node, worker);
  data.outdated.delete(node);
  if (run.attemptOf(node) > 1 || data.found.has(node)) outdate(state, run, data, node);
  if (data.found.has(node)) data.found.set(node, false);
  if (startedAt >= 0)
    data.noteTime(run.taskOf(node).type, event.tookMicros ?? 1000 * Math.max(0, now - startedAt));
  if (!takesNoSlot(state.worker(worker), run.taskOf(node))) state.worker(worker).finishedAt = now;
}

function copiesOf(run: Run, node: number, worker: number): KeptCopies {
  return { zone: run.zone, chunk: run.chunkIdOf(node), rootId: run.rootId, holders: [worker] };
}

/** Whoever has run a node has its inputs; of a meta node it has had only what they are known by. */
export function share(run: Run, node: number, worker: number): void {
  if (!run.taskOf(node).meta) run.data?.share(node, worker);
}

/** What runs with an earlier result of the node. */
function outdate(state: State, run: Run, data: RunData, node: number): void {
  const { start, targets } = run.graph.dependents;
  for (const reader of targets.subarray(start[node], start[node + 1])) {
    const isAhead = state.fleet.workers[run.workerOf(reader)]?.ahead.has(taskKey(run.number, reader));
    if (isPlaced(run.statusOf(reader)) && !isAhead && run.graph.inputsOf(reader).includes(node))
      data.outdated.set(reader, [...(data.outdated.get(reader) ?? []), node]);
  }
}

/** A worker is gone: what it had is lost, and what it may have been running is under suspicion. */
export function loseData(state: State, worker: Worker, code: WorkerLost["code"]): void {
  let begun = worker.spec.slots;
  for (const [key, { io }] of worker.held) {
    if (code === "left" || (!io && begun-- <= 0)) continue;
    if (runOfKey(key) === NO_RUN) continue;
    const { data } = state.run(runOfKey(key));
    const node = nodeOfKey(key);
    data?.deaths.set(node, (data.deaths.get(node) ?? 0) + 1);
  }
  for (const { data } of state.dataRuns) data?.dropWorker(worker.number);
  state.cache.dropWorker(worker.number);
}

/** In a run with data a worker's loss does not count as a try of what it held: it is what the run is made to survive. */
export function isExcused(state: State, run: number): boolean {
  return run !== NO_RUN && state.run(run).data !== undefined;
}

export function loseChunk(state: State, { run, node, worker }: ChunkLost): void {
  const data = state.run(run).data as RunData;
  data.breaches.set(node, (data.breaches.get(node) ?? 0) + 1);
  state.cache.drop(state.run(run).chunkIdOf(node), worker);
  data.drop(node, worker);
}

/** Before the first of a type has ended. */
const UNKNOWN_MICROS = 100_000;

/** How long a task will run on a worker; undefined where nodes hand no data to each other. */
export function expectedMicros(state: State, run: number, type: string): number | undefined {
  const data = run === NO_RUN ? undefined : state.run(run).data;
  return data && (data.times.get(type) ?? UNKNOWN_MICROS);
}

/** Whether something that a node needs is being made again. */
export function lacksInputs(state: State, run: number, node: number): boolean {
  return run !== NO_RUN && (state.run(run).pending[node] as number) > 0;
}

/** Nodes that had completed run again; whoever waits for them and has not begun waits once more. */
export function recompute(state: State, { run: number, nodes }: NodesRecomputed, now: number): void {
  const run = state.run(number);
  const data = run.data;
  invariant(data, "only results that were handed on are made again");
  const again = new Set(nodes);
  for (const node of nodes) {
    data.forget(node);
    // The attempt that had completed is none that failed.
    if (data.found.get(node)) data.found.set(node, false);
    else run.excuse(node);
    run.move(node, Status.waiting, state.seq, now);
    state.accounts.wait(run.account, 1);
  }
  const { dependents } = run.graph;
  for (const node of nodes) {
    run.countPending(node);
    for (let edge = dependents.start[node] as number; edge < (dependents.start[node + 1] as number); edge++) {
      const dependent = dependents.targets[edge] as number;
      if (again.has(dependent) || isEnded(run.statusOf(dependent))) continue;
      run.block(dependent);
      withdraw(state, run, dependent, now);
    }
  }
  for (const node of nodes) {
    if (run.links.has(node)) borrow(state, run, node);
    else if (run.pending[node] === 0) makeReady(state, run, node, now);
  }
}

/** A node that stands for another waits for its result, even if that was freed. */
export function borrow(state: State, run: Run, link: number): void {
  const { run: number, node } = run.links.get(link) ?? { run: NO_RUN, node: -1 };
  const of = state.runs.get(number);
  if (!of?.data) return;
  run.data?.borrow(link, { run: of, node });
  if (of.statusOf(node) === Status.completed) of.data.miss(node);
}

/** The node that it stands for has a result, and keeps it. */
function link(state: State, run: Run, node: number): void {
  run.assignTo(node, run.attemptOf(node) + 1, -1);
  run.data?.take(node);
  if (run.data && run.attemptOf(node) > 1) outdate(state, run, run.data, node);
}

/** What is on a worker already stays there: it may have got the result before it was lost. */
function withdraw(state: State, run: Run, node: number, now: number): void {
  const status = run.statusOf(node);
  if (status !== Status.ready && status !== Status.delayed) return;
  run.withdraw(node);
  state.unreserve(run, node);
  run.move(node, Status.waiting, state.seq, now);
}

export function makeReady(state: State, run: Run, node: number, now: number): void {
  run.move(node, Status.ready, state.seq, now);
  run.readyAt[node] = now;
  run.offer(node);
  seekResult(state, run, node);
}

/** A node became ready whose result may be known. */
export function seekResult({ seekers }: State, run: Run, node: number): void {
  const key = cacheKeyOf(run, node);
  if (key) seekers.add(taskKey(run.number, node), key);
}

function remember({ cache, seekers }: State, key: string, result: CachedResult): void {
  cache.put(key, result);
  seekers.wake(key);
}

/** A node has the result of another that was made from the same. */
export function reuse(
  state: State,
  { run: number, node, taskId, resultHash, resultBytes }: TaskReused,
  now: number,
): void {
  const run = state.run(number);
  const key = cacheKeyOf(run, node);
  const kept = key === undefined ? undefined : state.cache.keptAs(key);
  if (key && kept) state.cache.use(key, now);
  else if (key) remember(state, key, { taskId, resultHash, resultBytes, at: now });
  run.withdraw(node);
  state.fleet.returned.delete(taskKey(number, node));
  state.unreserve(run, node);
  state.accounts.wait(run.account, -1);
  run.move(node, Status.completed, state.seq, now);
  run.data?.hashes.set(node, resultHash);
  if (run.links.has(node)) link(state, run, node);
  else if (kept) adopt(state, run, node, kept);
  else takeStored(state, run, node);
}

function takeStored(state: State, run: Run, node: number): void {
  const { data } = run;
  if (!data) return;
  data.store(node);
  if (run.attemptOf(node) > 0 || data.found.has(node)) outdate(state, run, data, node);
}

/** Workers keep it for this run as well from now on. */
function adopt(state: State, run: Run, node: number, { chunk: origin, rootId, holders }: KeptCopies): void {
  const { data } = run;
  if (!data) return;
  data.adopt(node, { origin, holders, rootId: rootId === run.rootId ? undefined : rootId });
  if (run.attemptOf(node) > 0 || data.found.has(node)) outdate(state, run, data, node);
  data.found.set(node, true);
}

/** A node has the result of the tail of the run that it submitted, which needs it no longer. How large it is. */
export function takeTail(state: State, run: Run, node: number, child: Run): number {
  const { tail } = child.parent as RunParent;
  const made = child.data as RunData;
  const data = run.data as RunData;
  data.hashes.set(node, made.hashes.get(tail) ?? "");
  if (made.result[tail] === Result.stored) data.store(node);
  else {
    const holders = made.holders.get(tail) ?? [];
    data.adopt(node, { origin: child.chunkIdOf(tail), rootId: made.roots.get(tail), holders });
    made.forget(tail);
  }
  if (run.attemptOf(node) > 1 || data.found.has(node)) outdate(state, run, data, node);
  return child.resultBytes[tail] as number;
}
