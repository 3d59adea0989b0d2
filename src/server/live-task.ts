import { effectiveTier, startTier, type Tier } from "../queue/index.ts";
import { isEnded, isPlaced, type State, Status, type Tasks } from "../scheduler/index.ts";
import type { RowStatus, TaskLine, TaskProgress } from "../store/index.ts";
import type { Caller } from "./api.ts";

export function isOpen(status: RowStatus): boolean {
  return status === "queued" || status === "running";
}

/** A task is there for its agent and for its zone's admins, and for nobody else. */
export function isVisible(
  caller: Caller,
  { zone, agent }: { readonly zone: string; readonly agent: string },
): boolean {
  return zone === caller.zone && (caller.isZoneAdmin || agent === caller.agent);
}

export interface Place {
  readonly tasks: Tasks;
  readonly run: number;
  readonly node: number;
  readonly zone: string;
  readonly agent: string;
  readonly isCancelling: boolean;
}

/** A task by its public id, and where it belongs to a run by its place there. */
export type TaskName = Pick<TaskLine, "id" | "run">;

/** Where the state has a task that has not ended. */
export function locate(state: State, { id, run: of }: TaskName): Place | undefined {
  const single = of ? undefined : state.singles.byId(id);
  if (single) return placeOf(state.singles, single.number);
  const run = of && state.runById(of.id);
  const node = run?.graph.indexOf(of?.node ?? "");
  if (!run || node === undefined || isEnded(run.statusOf(node))) return undefined;
  return placeOf(run, node);
}

function placeOf(tasks: Tasks, node: number): Place {
  return {
    tasks,
    run: tasks.number,
    node,
    zone: tasks.zoneOf(node),
    agent: tasks.agentOf(node),
    isCancelling: tasks.statusOf(node) === Status.cancelling,
  };
}

/** What the state knows better than a row: where an open task stands. */
export function overlay(state: State, name: TaskName): TaskProgress | undefined {
  const place = locate(state, name);
  if (!place) return undefined;
  const { tasks, node } = place;
  const status = tasks.statusOf(node);
  const worker = tasks.workerOf(node);
  const runs = isPlaced(status);
  return {
    status: runs ? "running" : "queued",
    attempt: tasks.attemptOf(node),
    worker: runs && worker >= 0 ? state.worker(worker).id : "",
    startedAt: status === Status.running || status === Status.assigned ? tasks.sinceOf(node) : -1,
    endedAt: -1,
    result: undefined,
    resultHash: "",
    errorCode: "",
    errorMessage: "",
    costMicros: 0,
    seq: tasks.lastSeqOf(node),
  };
}

/** The tier that a task has reached by waiting; once it ran, the one that it had. */
export function tierOf(
  state: State,
  row: Pick<
    TaskLine,
    | "priority"
    | "boostMicros"
    | "enqueuedAt"
    | "estimateMs"
    | "deadline"
    | "status"
    | "startedAt"
    | "endedAt"
    | "runAt"
  >,
  now: number,
): number {
  const { config } = state;
  const tier = startTier(row.priority as Tier, row.boostMicros, config);
  const until = row.status === "queued" ? now : row.startedAt >= 0 ? row.startedAt : row.endedAt;
  const readyAt = Math.max(row.enqueuedAt, row.runAt);
  const { estimateMs, deadline } = row;
  const entry = {
    id: "",
    readyAt,
    estimateMs,
    tier,
    class: 0 as const,
    deadline,
    seq: 0,
    holdsUpMs: 0,
    node: 0,
  };
  return effectiveTier(entry, Math.max(until, readyAt), config);
}
