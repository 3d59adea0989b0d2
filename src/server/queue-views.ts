import { compareText } from "../core/index.ts";
import { nodeOfKey, runOfKey } from "../placement/index.ts";
import { placeKey, readyWork, type State } from "../scheduler/index.ts";
import type { Caller, QueuesView, QueueView } from "./api.ts";

interface Sums {
  ready: number;
  running: number;
  oldestReadyAt: number;
  workers: number;
}

/** The executors of a zone: those that have work, a worker, or a pause. It looks at groups and workers, never at every task. */
export function queuesOf(state: State, caller: Caller, now: number): QueuesView {
  const { zone } = caller;
  const agent = caller.isZoneAdmin ? undefined : caller.agent;
  const sums = new Map<string, Sums>();
  const sumOf = (executor: string): Sums => {
    const known = sums.get(executor) ?? { ready: 0, running: 0, oldestReadyAt: -1, workers: 0 };
    sums.set(executor, known);
    return known;
  };
  for (const key of state.paused) {
    const [ofZone, executor] = JSON.parse(key) as [zone: string, executor: string];
    if (ofZone === zone && executor !== "") sumOf(executor);
  }
  for (const { needs, count, oldestReadyAt } of readyWork(state, zone, agent)) {
    const sum = sumOf(needs.executor);
    sum.ready += count;
    if (sum.oldestReadyAt < 0 || (oldestReadyAt >= 0 && oldestReadyAt < sum.oldestReadyAt))
      sum.oldestReadyAt = oldestReadyAt;
  }
  for (const { spec, status, held } of state.fleet.present()) {
    const isServing = spec.zone === zone || spec.zones.includes(zone);
    if (isServing && status !== "Unreachable") for (const one of spec.executors) sumOf(one).workers++;
    for (const key of held.keys()) {
      const tasks = state.tasks(runOfKey(key));
      const node = nodeOfKey(key);
      if (tasks.zoneOf(node) !== zone || (agent ?? tasks.agentOf(node)) !== tasks.agentOf(node)) continue;
      sumOf(tasks.taskOf(node).executor).running++;
    }
  }
  return {
    zone,
    isPaused: state.paused.has(placeKey(zone, "")),
    maxConcurrent: state.shares.maxOf(zone, ""),
    hasOwnMax: state.shares.isZoneSet(zone),
    queues: Array.from(sums, ([executor, sum]) => viewOf(state, zone, executor, sum, now)).sort((a, b) =>
      compareText(a.executor, b.executor),
    ),
  };
}

function viewOf(state: State, zone: string, executor: string, sum: Sums, now: number): QueueView {
  const { ready, running, oldestReadyAt, workers } = sum;
  return {
    executor,
    isPaused: state.paused.has(placeKey(zone, executor)),
    ready,
    running,
    oldestWaitMs: oldestReadyAt < 0 ? 0 : Math.max(0, now - oldestReadyAt),
    workers,
  };
}
