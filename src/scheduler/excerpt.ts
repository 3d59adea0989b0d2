import { nodeOfKey, runOfKey, type TaskKey, taskKey } from "../placement/index.ts";
import { someBefore } from "./ahead.ts";
import type { Single } from "./singles.ts";
import { type Snapshot, takeSnapshot } from "./snapshot.ts";
import type { State } from "./state.ts";
import { isSettling, Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";

/** What of a state decides when a task starts. */
export interface Excerpt {
  readonly snapshot: Snapshot;
  /** As long as so many attempts take, it takes to begin a play with it. */
  readonly work: number;
  /** How much longer the line in front of the task is than what was taken of it. 1: all was. */
  readonly stretch: number;
}

/** Tasks of no run, nodes, and workers that are taken at most; and of a longer line, how many of those that wait in it. */
const MOST_SINGLES = 400;
const MOST_NODES = 4_000;
const MOST_WORKERS = 500;
const MOST_OF_LINE = 200;
const SINGLES_PER_ATTEMPT = 4;
const NODES_PER_ATTEMPT = 16;

/**
 * A part of the state that is small enough to be played at once. Of a long line some are taken; what stands behind the
 * task is left out where all would be too much. Undefined: there are too many nodes or workers, or the line is long and
 * the task does not stand in it; or it is a state in the middle of a turn, which no other turn may begin from.
 */
export function excerptFor(state: State, tasks: Tasks, node: number, now: number): Excerpt | undefined {
  const { singles, fleet } = state;
  const runs = [...state.runs.values()].filter((run) => run.outcome === undefined || run.data);
  const nodes = runs.reduce((sum, { graph }) => sum + graph.size, 0);
  if (nodes > MOST_NODES || fleet.workers.length > MOST_WORKERS) return undefined;
  if (runs.some((run) => run.count(Status.settling) + run.count(Status.settlingCancel) > 0)) return undefined;
  const taking = (taken: readonly Single[], stretch: number): Excerpt | undefined => {
    if (taken.some((single) => isSettling(single.status))) return undefined;
    const work = Math.ceil(taken.length / SINGLES_PER_ATTEMPT + nodes / NODES_PER_ATTEMPT);
    return { snapshot: takeSnapshot(state, { singles: taken, runs }), work, stretch };
  };
  if (singles.all.size <= MOST_SINGLES) return taking([...singles.all.values()], 1);
  const status = tasks.statusOf(node);
  if (status !== Status.ready && !(status === Status.delayed && tasks.isOffered(node))) return undefined;
  const { some, stretch } = someBefore(state, tasks, node, now, MOST_OF_LINE);
  const needed = neededSingles(state, taskKey(tasks.number, node));
  if (needed.size > MOST_SINGLES) return undefined;
  for (const number of some) needed.add(number);
  const taken = [...needed].sort((a, b) => a - b).map((number) => singles.get(number));
  return taking(taken, stretch);
}

/** The task, what is on workers, alternatives, and what something is kept for. */
function neededSingles(state: State, own: TaskKey): Set<number> {
  const { singles, fleet, roomFor, runs } = state;
  const keys = [own, ...fleet.reservations.keys(), ...fleet.returned.keys(), ...roomFor.values()];
  for (const worker of fleet.workers) keys.push(...worker.held.keys(), ...worker.ahead);
  const numbers = new Set<number>();
  for (const key of keys) if (runOfKey(key) === singles.number) numbers.add(nodeOfKey(key));
  for (const { speculations } of runs.values()) {
    for (const { first, ends } of speculations.values())
      for (const at of ends.keys()) if (singles.has(first + at)) numbers.add(first + at);
  }
  return numbers;
}
