import { compareText } from "../core/index.ts";
import { nodeOfKey, type Rejection, rejectionOf, runOfKey, type Worker } from "../placement/index.ts";
import { type ReadyWork, readyWork, type State, Status } from "../scheduler/index.ts";
import type { Caller, WorkerView } from "./api.ts";
import { isVisible } from "./live-task.ts";
import { apart } from "./task-types.ts";

/** What is known of workers beside what the ledger says. */
interface Attendance {
  isAway(worker: number): boolean;
  chunksOf(worker: number): WorkerView["chunks"];
}

/** Tasks that are named of each worker. */
const MOST_RUNNING = 100;
/** Kinds of waiting work that are held against each worker, the largest first. */
const MOST_KINDS = 50;
/** No worker is kept free for it. */
const NO_TASK = -1;

/** Workers of the zone, and those from elsewhere that serve it; of these only what concerns the zone. */
export function workersOf(state: State, caller: Caller, attendance: Attendance): WorkerView[] {
  const { zone } = caller;
  const waiting = readyWork(state, zone, caller.isZoneAdmin ? undefined : caller.agent)
    .sort((a, b) => b.count - a.count)
    .slice(0, MOST_KINDS);
  return state.fleet
    .present()
    .filter(({ spec }) => spec.zone === zone || spec.zones.includes(zone))
    .map((worker) => ({
      ...workerView(worker, zone),
      ...(attendance.isAway(worker.number) && { status: "Away" }),
      chunks: worker.spec.zone === zone ? attendance.chunksOf(worker.number) : undefined,
      running: runningOn(state, worker, caller),
      rejects: rejectedBy(state, worker, waiting),
    }))
    .sort((a, b) => compareText(a.id, b.id));
}

function workerView(
  { spec, status, held, io, freeCpu, freeMemory }: Worker,
  zone: string,
): Omit<WorkerView, "chunks" | "running" | "rejects"> {
  return {
    id: spec.id,
    zone: spec.zone === zone ? spec.zone : "",
    zones: spec.zone === zone ? spec.zones : [zone],
    executors: spec.executors,
    ...apart(spec.capabilities),
    status,
    slots: spec.slots,
    held: held.size,
    ioSlots: spec.ioSlots ?? 0,
    ioHeld: io,
    cpuMillicores: spec.cpuMillicores,
    freeCpuMillicores: freeCpu,
    memoryBytes: spec.memoryBytes,
    freeMemoryBytes: freeMemory,
  };
}

/** What it has of what the caller may see, in the order in which it was given. */
function runningOn(state: State, worker: Worker, caller: Caller): WorkerView["running"] {
  const found: WorkerView["running"][number][] = [];
  for (const key of worker.held.keys()) {
    const tasks = state.tasks(runOfKey(key));
    const node = nodeOfKey(key);
    if (!isVisible(caller, { zone: tasks.zoneOf(node), agent: tasks.agentOf(node) })) continue;
    found.push({
      id: tasks.taskIdOf(node),
      type: tasks.taskOf(node).type,
      node: state.runs.get(tasks.number)?.graph.idOf(node),
      attempt: tasks.attemptOf(node),
      since: state.timeOfDay(tasks.sinceOf(node)),
      hasStarted: tasks.statusOf(node) === Status.running,
    });
    if (found.length === MOST_RUNNING) break;
  }
  return found;
}

/** How many of those that are ready it cannot take, by the first reason; what is not meant for it does not count. */
function rejectedBy(state: State, worker: Worker, waiting: readonly ReadyWork[]): WorkerView["rejects"] {
  const counts: Partial<Record<Rejection, number>> = {};
  for (const { needs, count } of waiting) {
    const rejection = rejectionOf(state.fleet, worker, needs, NO_TASK);
    if (rejection === undefined || rejection === "executor" || rejection === "zone") continue;
    counts[rejection] = (counts[rejection] ?? 0) + count;
  }
  return counts;
}
