import type { ChunkLost, RunReleased, TaskFailed } from "../ledger/index.ts";
import { taskKey } from "../placement/index.ts";
import { type Emit, isWaiting } from "./dispatch.ts";
import { followersOf, readersAhead } from "./followers.ts";
import type { Run } from "./run.ts";
import { Result } from "./run-data.ts";
import type { State } from "./state.ts";
import { isEnded, isSettling, Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";

/** What decisions about data need of the turn that they are part of. */
export interface DataTurn {
  readonly state: State;
  readonly emit: Emit;
  /** Whether nothing of its run shall begin any more. */
  isStopping(tasks: Tasks): boolean;
  fail(tasks: Tasks, node: number, code: TaskFailed["code"]): void;
  cancelTask(tasks: Tasks, node: number): void;
  cancelRest(run: Run): void;
  /** Of something that will never complete. */
  skipDependents(tasks: Tasks, node: number): void;
  endIfDone(tasks: Tasks): void;
}

/** Why something that was said of data does not count; undefined: it does. */
export type Refused = "unknown" | "stale" | undefined;

/** How often the same may be lost before it is taken for the cause. */
export const MAX_LOSSES = 3;

/** Takes from the cache what is there, and then what has become ready by that: also in the run that another was added to. */
export function reuseResults(turn: DataTurn): void {
  const { seekers } = turn.state;
  for (let number = seekers.firstRun(); number !== undefined; number = seekers.firstRun()) {
    const run = turn.state.run(number);
    for (let nodes = seekers.take(number); nodes.length > 0; nodes = seekers.take(number))
      reuseOf(turn, run, nodes);
    turn.endIfDone(run);
  }
}

function reuseOf({ state, emit }: DataTurn, run: Run, nodes: readonly number[]): void {
  const { cache, seekers, now } = state;
  const found = nodes.map((node) => cache.find(seekers.keyOf(taskKey(run.number, node)) as string, now));
  for (const [at, result] of found.entries()) {
    if (!result) continue;
    const { taskId, resultHash, resultBytes } = result;
    const node = nodes[at] as number;
    emit({ kind: "TaskReused", run: run.number, node, taskId, resultHash, resultBytes });
  }
}

/** What was to be made for these alone, which were cancelled and will never get it, and what for that alone. */
export function cancelUnneeded(turn: DataTurn, run: Run, ended: readonly number[]): void {
  const next = [...ended];
  const open = new OpenDependents(run);
  for (let node = next.pop(); node !== undefined; node = next.pop()) {
    for (const input of run.graph.inputsOf(node)) {
      if (!mayBeUnneeded(run, input) || open.hasAny(input)) continue;
      turn.cancelTask(run, input);
      if (isEnded(run.statusOf(input))) next.push(input);
    }
  }
}

function mayBeUnneeded(run: Run, node: number): boolean {
  const status = run.statusOf(node);
  return !isEnded(status) && !isSettling(status) && status !== Status.cancelling && !run.data?.isNeeded(node);
}

/** Asked of the same node for each of its dependents that ends, it looks at each of them once. */
class OpenDependents {
  readonly #run: Run;
  /** By node: those before this one have ended, and stay so. */
  readonly #from = new Map<number, number>();

  constructor(run: Run) {
    this.#run = run;
  }

  hasAny(node: number): boolean {
    const { start, targets } = this.#run.graph.dependents;
    const end = start[node + 1] as number;
    let at = this.#from.get(node) ?? (start[node] as number);
    while (at < end && isEnded(this.#run.statusOf(targets[at] as number))) at++;
    this.#from.set(node, at);
    return at < end;
  }
}

/** Results that nobody needs any more. */
export function freeChunks({ state, emit }: DataTurn): void {
  // What was borrowed is given back, and may be needed by nobody else.
  while (state.withIdle.size > 0) {
    for (const number of [...state.withIdle].sort((a, b) => a - b)) {
      const idle = state.run(number).data?.idle ?? [];
      emit({ kind: "ChunksFreed", run: number, nodes: [...idle].sort((a, b) => a - b) });
    }
  }
}

/** What workers keep for whoever may use it again, beyond what they may. */
export function evictCached({ state, emit }: DataTurn): void {
  const next = () => state.cache.excess(state.config.cacheBytes ?? 0, state.now);
  for (let found = next(); found; found = next()) emit({ kind: "CacheEvicted", ...found });
}

/** A run that ends may be one too many to remember: what was kept of the oldest goes. */
export function freeForgotten({ state, emit }: DataTurn, ending: Run): void {
  for (const run of state.forgottenBy(ending)) {
    if (!run.data) continue;
    // Also what it has borrowed, which another keeps for it.
    const nodes = [...run.data.holders.keys(), ...run.data.loans.keys()].sort((a, b) => a - b);
    if (nodes.length > 0) emit({ kind: "ChunksFreed", run: run.number, nodes });
  }
}

/** Makes what was lost and is needed again. What a run that has ended kept is lost for good. */
export function recomputeLost(turn: DataTurn, run: Run): void {
  if (!run.data || !goesOn(turn, run)) return;
  const nodes = run.data.toRecompute((node) => run.statusOf(node) === Status.completed);
  if (nodes.length === 0) return;
  remake(turn, run, nodes);
  recomputeLinked(turn, run, nodes);
  skipHopeless(turn, run, nodes);
}

/** What needs something that will not be made any more is not made again either. */
function skipHopeless(turn: DataTurn, run: Run, nodes: readonly number[]): void {
  for (const node of nodes) {
    const dead = isWaiting(run, node) ? run.deadNeedOf(node) : undefined;
    if (dead === undefined) continue;
    turn.skipDependents(run, dead);
    turn.endIfDone(run);
  }
}

function goesOn(turn: DataTurn, run: Run): boolean {
  return run.outcome === undefined && !run.cancelRequested && !turn.isStopping(run);
}

/** What is ahead of these waits for them once more, here and in the runs of those that stand for them. */
function remake(turn: DataTurn, run: Run, nodes: readonly number[]): void {
  const ahead = nodes.flatMap((node) => readersAhead(turn.state, run, node));
  const stopped = withdraw(turn, run, ahead);
  turn.emit({ kind: "NodesRecomputed", run: run.number, nodes });
  for (const node of stopped) cancelWithdrawn(turn, run, node);
  withdrawLinks(turn, run, nodes);
}

/** What these nodes stand for may have been freed. */
export function recomputeLinked(turn: DataTurn, run: Run, nodes: Iterable<number>): void {
  const runs = new Set<number>();
  for (const node of nodes) {
    const of = run.links.get(node);
    if (of) runs.add(of.run);
  }
  for (const number of [...runs].sort((a, b) => a - b)) {
    const of = turn.state.runs.get(number);
    if (of) recomputeLost(turn, of);
  }
}

/** Nodes are made again: those that stand for them wait once more. */
function withdrawLinks(turn: DataTurn, { number, data }: Run, nodes: readonly number[]): void {
  if (!data || !nodes.some((node) => data.lent.has(node))) return;
  const again = new Set(nodes);
  for (const run of turn.state.dataRuns) {
    const links = [...run.links].flatMap(([link, of]) =>
      of.run === number && again.has(of.node) && run.data?.result[link] === Result.borrowed ? [link] : [],
    );
    if (links.length > 0 && goesOn(turn, run)) remake(turn, run, links);
  }
}

export function takeLostChunk(turn: DataTurn, event: ChunkLost): Refused {
  const run = turn.state.runs.get(event.run);
  if (!run?.data || !run.has(event.node)) return "unknown";
  if (!run.data.holders.get(event.node)?.includes(event.worker)) return "stale";
  turn.emit(event);
  recomputeLost(turn, run);
  const isBad = (run.data.breaches.get(event.node) ?? 0) >= MAX_LOSSES && isWaiting(run, event.node);
  if (isBad) {
    turn.fail(run, event.node, "corrupt");
    turn.endIfDone(run);
  }
  return undefined;
}

export function releaseRun({ state, emit }: DataTurn, event: RunReleased): Refused {
  const data = state.runs.get(event.run)?.data;
  if (!data) return "unknown";
  if (data.isReleased) return "stale";
  emit(event);
  return undefined;
}

/** What its worker was given in the belief that it would complete there. Those are returned that were to stop. */
export function withdrawFollowers(turn: DataTurn, tasks: Tasks, node: number): number[] {
  const run = turn.state.runs.get(tasks.number);
  return run?.data ? withdraw(turn, run, followersOf(run, node)) : [];
}

function withdraw({ emit }: DataTurn, run: Run, found: readonly number[]): number[] {
  const nodes = [...new Set(found)];
  const stopped = nodes.filter((node) => run.statusOf(node) === Status.cancelling);
  if (nodes.length > 0) emit({ kind: "TasksWithdrawn", run: run.number, nodes });
  return stopped;
}

/** It was told to stop, and has not even begun. */
export function cancelWithdrawn(turn: DataTurn, tasks: Tasks, node: number): void {
  if (!isWaiting(tasks, node)) return;
  turn.cancelTask(tasks, node);
  turn.endIfDone(tasks);
}
