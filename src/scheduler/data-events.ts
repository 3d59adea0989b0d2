import { invariant } from "../core/index.ts";
import type { AttemptFinished, ChunkLost, NodesRecomputed, WorkerLost } from "../ledger/index.ts";
import { NO_RUN, nodeOfKey, runOfKey, type Worker } from "../placement/index.ts";
import type { Run } from "./run.ts";
import type { RunData } from "./run-data.ts";
import type { State } from "./state.ts";
import { isEnded, Status } from "./status.ts";

/** Where the result of a node is now, and how long the likes of it take. */
export function noteResult(run: Run, { node, held, startedAt }: AttemptFinished, now: number): void {
  const { data } = run;
  if (!data) return;
  const worker = run.workerOf(node);
  if (held) data.hold(node, worker);
  else data.store(node);
  data.share(node, worker);
  if (startedAt >= 0) data.noteTime(run.taskOf(node).type, Math.max(0, now - startedAt));
}

/** A worker is gone: what it had is lost, and what it may have been running is under suspicion. */
export function loseData(state: State, worker: Worker, code: WorkerLost["code"]): void {
  let begun = code === "left" ? 0 : worker.spec.slots;
  for (const key of worker.held.keys()) {
    if (begun-- <= 0) break;
    if (runOfKey(key) === NO_RUN) continue;
    const { data } = state.run(runOfKey(key));
    const node = nodeOfKey(key);
    data?.deaths.set(node, (data.deaths.get(node) ?? 0) + 1);
  }
  for (const { data } of state.dataRuns) data?.dropWorker(worker.number);
}

/** In a run with data a worker's loss does not count as a try of what it held: it is what the run is made to survive. */
export function isExcused(state: State, run: number): boolean {
  return run !== NO_RUN && state.run(run).data !== undefined;
}

export function loseChunk(state: State, { run, node, worker }: ChunkLost): void {
  const data = state.run(run).data as RunData;
  data.breaches.set(node, (data.breaches.get(node) ?? 0) + 1);
  data.drop(node, worker);
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
    run.excuse(node);
    run.move(node, Status.waiting, state.seq, now);
    state.backlog++;
  }
  const { dependencies, dependents } = run.graph;
  for (const node of nodes) {
    for (
      let edge = dependencies.start[node] as number;
      edge < (dependencies.start[node + 1] as number);
      edge++
    ) {
      if (again.has(dependencies.targets[edge] as number)) run.block(node);
    }
    for (let edge = dependents.start[node] as number; edge < (dependents.start[node + 1] as number); edge++) {
      const dependent = dependents.targets[edge] as number;
      if (again.has(dependent) || isEnded(run.statusOf(dependent))) continue;
      run.block(dependent);
      withdraw(state, run, dependent, now);
    }
  }
  for (const node of nodes) if (run.pending[node] === 0) makeReady(state, run, node, now);
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
}
