import { hasBit } from "../core/index.ts";
import { NO_RUN, nodeOfKey, runOfKey, taskKey, type Worker } from "../placement/index.ts";
import { isPaused } from "./admission.ts";
import type { Emit } from "./dispatch.ts";
import type { Run } from "./run.ts";
import type { State } from "./state.ts";
import { isEnded, Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";

/** How much time the tasks may take together that a worker is given ahead of their inputs, in microseconds. */
const AHEAD_MICROS = 50_000;
const MAX_AHEAD = 64;
/** Of what uses a result, so many are looked at. */
const MAX_LOOKED_AT = 16;

/**
 * Gives workers nodes whose last inputs they are still making: each begins when its input is there, without a word to the
 * scheduler in between, and takes the place of the node that made it. Only short ones, because nothing that is more urgent
 * can go before them: a chain of long nodes loses nothing by being asked for one by one.
 *
 * Only workers are looked at for which something has changed in this turn.
 */
export function placeFollowers(state: State, stirred: ReadonlySet<number>, emit: Emit): void {
  for (const number of [...stirred].sort((a, b) => a - b)) {
    const worker = state.worker(number);
    if (!state.fleet.isOpen(worker) || worker.reservedFor !== undefined) continue;
    for (const key of [...worker.held.keys(), ...worker.ahead]) {
      if (runOfKey(key) !== NO_RUN) follow(state, state.run(runOfKey(key)), nodeOfKey(key), worker, emit);
    }
  }
}

/** Whether its worker was given it ahead of an input. */
export function isAhead({ fleet }: State, tasks: Tasks, node: number): boolean {
  return fleet.workers[tasks.workerOf(node)]?.ahead.has(taskKey(tasks.number, node)) ?? false;
}

function follow(state: State, run: Run, from: number, worker: Worker, emit: Emit): void {
  if (!run.data || run.cancelRequested) return;
  for (let node = followerOf(state, run, from, worker); node !== undefined; ) {
    emit({
      kind: "TaskAssigned",
      run: run.number,
      node,
      attempt: run.attemptOf(node) + 1,
      worker: worker.number,
      reason: { type: "Affinity", because: "Follows" },
      runnerUp: -1,
      rejected: [],
    });
    node = followerOf(state, run, node, worker);
  }
}

function followerOf(state: State, run: Run, node: number, worker: Worker): number | undefined {
  if (run.data?.followers.has(node) || !isThere(run, node, worker)) return undefined;
  const { start, targets } = run.graph.dependents;
  let looked = 0;
  for (let edge = start[node] as number; edge < (start[node + 1] as number); edge++) {
    const next = targets[edge] as number;
    if (run.statusOf(next) !== Status.waiting) continue;
    if (mayFollow(state, run, next, worker)) return next;
    if (++looked === MAX_LOOKED_AT) break;
  }
  return undefined;
}

function mayFollow(state: State, run: Run, node: number, worker: Worker): boolean {
  // What its inputs are known by is known when they are there.
  if (run.taskOf(node).meta) return false;
  const micros = run.data?.times.get(run.taskOf(node).type) ?? Number.POSITIVE_INFINITY;
  if (worker.ahead.size >= MAX_AHEAD || (worker.ahead.size + 1) * micros > AHEAD_MICROS) return false;
  const { start, targets } = run.graph.dependencies;
  const firstOther = (start[node] as number) + (run.graph.inputs?.[node] as number);
  for (let edge = start[node] as number; edge < (start[node + 1] as number); edge++) {
    const need = targets[edge] as number;
    if (run.statusOf(need) === Status.completed) continue;
    // Its worker is told of inputs alone.
    if (edge >= firstOther || run.data?.followers.has(need) || !isThere(run, need, worker)) return false;
    if (!takesNoMore(run, node, need)) return false;
  }
  return !isPaused(state, run.groupOf(node)) && serves(state, run, node, worker);
}

/** It is on the worker, and nobody has told it to stop. */
function isThere(run: Run, node: number, worker: Worker): boolean {
  const status = run.statusOf(node);
  return run.workerOf(node) === worker.number && (status === Status.assigned || status === Status.running);
}

/** It takes the place of the input that is made last, so each must be large enough. */
function takesNoMore(run: Run, node: number, before: number): boolean {
  const [task, place] = [run.taskOf(node), run.taskOf(before)];
  return (
    task.limits.length === 0 &&
    task.io === place.io &&
    task.cpuMillicores <= place.cpuMillicores &&
    task.memoryBytes <= place.memoryBytes
  );
}

function serves({ fleet }: State, run: Run, node: number, worker: Worker): boolean {
  const { demand } = run.groupOf(node).pool;
  fleet.refresh(demand);
  return hasBit(demand.serves, fleet.ordinalOf(worker));
}

/** What a worker was given ahead because of a node that does not complete there, by the chain. */
export function followersOf(run: Run, node: number): number[] {
  const found: number[] = [];
  for (let next = run.data?.followers.get(node); next !== undefined; next = run.data?.followers.get(next))
    found.push(next);
  return found;
}

/** What workers were given ahead of other inputs than this result, which is lost; with what follows it. */
export function readersAhead(state: State, run: Run, node: number): number[] {
  const { start, targets } = run.graph.dependents;
  return Array.from(targets.subarray(start[node], start[node + 1])).flatMap((reader) =>
    isAhead(state, run, reader) ? [reader, ...followersOf(run, reader)] : [],
  );
}

/** Of a node that is given to a worker ahead of its inputs. */
export function noteFollower(run: Run, node: number): void {
  for (const input of run.graph.inputsOf(node))
    if (!isEnded(run.statusOf(input))) run.data?.followers.set(input, node);
}

/** It will not take the place of those that it follows. */
export function forgetFollower(run: Run, node: number): void {
  for (const input of run.graph.inputsOf(node))
    if (run.data?.followers.get(input) === node) run.data.followers.delete(input);
}
