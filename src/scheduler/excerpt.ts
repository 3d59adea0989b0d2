import { nodeOfKey, runOfKey, type TaskKey, taskKey } from "../placement/index.ts";
import { isWaiting } from "./dispatch.ts";
import { singlesBefore } from "./explain.ts";
import type { Single } from "./singles.ts";
import { type Snapshot, takeSnapshot } from "./snapshot.ts";
import type { State } from "./state.ts";
import { Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";

/** What of a state decides when a task starts. */
export interface Excerpt {
  readonly snapshot: Snapshot;
  /** Tasks and nodes in it. */
  readonly size: number;
  /** Of those that go before the task: how many there are for each that was taken. 1: all were. */
  readonly sparse: number;
}

/** Tasks of no run, nodes, and workers that are taken at most; and of a longer line, how many of those that wait in it. */
const MOST_SINGLES = 400;
const MOST_NODES = 1_000;
const MOST_WORKERS = 500;
const MOST_OF_LINE = 200;

/**
 * A part of the state that is small enough to be played at once. Of a long line the first are taken; what stands behind the
 * task is left out where all would be too much. Undefined: there are too many nodes or workers, or the line is long and
 * the task does not stand in it; or it is a state in the middle of a turn, which no other turn may begin from.
 */
export function excerptFor(state: State, tasks: Tasks, node: number, now: number): Excerpt | undefined {
  const { singles, fleet } = state;
  const runs = [...state.runs.values()].filter((run) => run.outcome === undefined || run.data);
  const nodes = runs.reduce((sum, { graph }) => sum + graph.size, 0);
  if (nodes > MOST_NODES || fleet.workers.length > MOST_WORKERS || isInTurn(state)) return undefined;
  const taking = (taken: readonly Single[], sparse: number): Excerpt => {
    return { snapshot: takeSnapshot(state, { singles: taken, runs }), size: nodes + taken.length, sparse };
  };
  if (singles.all.size <= MOST_SINGLES) return taking([...singles.all.values()], 1);
  const status = tasks.statusOf(node);
  if (status !== Status.ready && !(status === Status.delayed && tasks.isOffered(node))) return undefined;
  const { first, singles: ahead } = singlesBefore(state, tasks, node, now, MOST_OF_LINE);
  const needed = neededSingles(state, taskKey(tasks.number, node));
  if (needed.size > MOST_SINGLES) return undefined;
  for (const number of first) needed.add(number);
  const taken = Array.from(singles.all.values()).filter(({ number }) => needed.has(number));
  return taking(taken, first.length === 0 ? 1 : ahead / first.length);
}

/** Whether something that was reported is not settled yet. */
function isInTurn({ singles, runs }: State): boolean {
  const { settling, settlingCancel } = Status;
  for (const { status } of singles.all.values())
    if (status === settling || status === settlingCancel) return true;
  for (const run of runs.values()) if (run.count(settling) + run.count(settlingCancel) > 0) return true;
  return false;
}

/** The task, what is on workers, alternatives, and what something is kept for. */
function neededSingles(state: State, own: TaskKey): Set<number> {
  const { singles, fleet, roomFor } = state;
  const isOther = (single: Single) =>
    !isWaiting(singles, single.number) || single.alternativeOf !== undefined;
  const numbers = new Set<number>();
  for (const single of singles.all.values()) if (isOther(single)) numbers.add(single.number);
  const keys = [own, ...fleet.reservations.keys(), ...fleet.returned.keys(), ...roomFor.values()];
  for (const key of keys) if (runOfKey(key) === singles.number) numbers.add(nodeOfKey(key));
  return numbers;
}
