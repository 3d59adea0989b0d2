import { alternativeIdOf, compareText } from "../core/index.ts";
import { BUDGET_PARTS, speculationTag, type TaskBudget } from "../graph/index.ts";
import type { TaskRecharged } from "../ledger/index.ts";
import { NO_RUN, nodeOfKey, runOfKey, taskKey } from "../placement/index.ts";
import { effectiveTier, startTier, type Tier } from "../queue/index.ts";
import { isEnded, isPlaced, type Run, type State, Status, type Tasks } from "../scheduler/index.ts";
import type { ListCursor, RowStatus, TaskFilter, TaskLine, TaskProgress, TaskRow } from "../store/index.ts";
import type { BudgetView, Caller, SpeculationView } from "./api.ts";

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
  const single = state.singles.byId(id);
  if (single) return placeOf(state.singles, single.number);
  const run = of && state.runById(of.id);
  const node = run?.graph.indexOf(of?.node ?? "");
  if (!run || node === undefined || run.taskIdOf(node) !== id || isEnded(run.statusOf(node)))
    return undefined;
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
  const runs = isPlaced(status) || status === Status.speculating || status === Status.expanded;
  return {
    status: runs ? "running" : "queued",
    attempt: tasks.attemptOf(node),
    worker: runs && worker >= 0 ? state.worker(worker).id : "",
    startedAt: runs && status !== Status.cancelling ? state.timeOfDay(tasks.sinceOf(node)) : -1,
    endedAt: -1,
    result: undefined,
    resultHash: "",
    errorCode: "",
    errorMessage: "",
    costMicros: 0,
    seq: tasks.lastSeqOf(node),
  };
}

/** How a node is or was tried in several ways, while its run is in the state. */
export function speculationOf(state: State, { id: named, run: of }: TaskName): SpeculationView | undefined {
  const run = of && state.runById(of.id);
  const node = run?.graph.indexOf(of?.node ?? "");
  const speculated = node === undefined ? undefined : run?.speculations.get(node);
  const id = node === undefined ? undefined : run?.taskIdOf(node);
  if (!speculated || id === undefined || id !== named) return undefined;
  const { because, ends, outcome } = speculated;
  return {
    because,
    alternatives: ends.map((end, at) => {
      const tag = speculationTag(at);
      const points = outcome?.scores[at] ?? undefined;
      return { id: alternativeIdOf(id, tag), tag, isOpen: end === undefined, points };
    }),
    outcome: outcome && { winner: outcome.winner, by: outcome.by },
  };
}

/** What a task may consume, and did, by what was asked and what the state knows of its attempt. */
export function budgetOf(state: State, row: TaskRow): BudgetView | undefined {
  const asked = givenIn(row.settings);
  if (!asked) return undefined;
  const place = locate(state, row);
  const charge = place && state.charges.get(taskKey(place.run, place.node));
  const recharged = charge?.amounts ?? row.recharged ?? asked.recharged;
  return { ...asked, recharged, exhausted: charge?.lacks, used: row.used };
}

/** The budget that was asked for, of which nothing is known yet. */
export function givenIn(settings: string): BudgetView | undefined {
  // To see that there is none takes less than to read them.
  if (!settings.includes('"budget":')) return undefined;
  const { budget: given } = JSON.parse(settings) as { budget: TaskBudget };
  return { given, recharged: BUDGET_PARTS.map(() => 0), exhausted: undefined, used: undefined };
}

export function rechargeOf(state: State, name: TaskName, amounts: readonly number[]): TaskRecharged {
  const place = locate(state, name);
  const { run, node } = place ?? { run: NO_RUN, node: -1 };
  return { kind: "TaskRecharged", run, node, attempt: place?.tasks.attemptOf(node) ?? 0, amounts };
}

/** Ids of what has not ended; undefined where more than `most` tasks, of whomever, would have to be looked at. */
export function openTasks(
  state: State,
  { zone, agent }: Pick<TaskFilter, "zone" | "agent">,
  most: number,
): string[] | undefined {
  const runs = [...state.runs.values()].filter((run) => isOf(run, zone, agent));
  if (runs.reduce((sum, { graph }) => sum + graph.size, state.singles.all.size) > most) return undefined;
  const found: string[] = [];
  for (const single of state.singles.all.values()) if (isOf(single, zone, agent)) found.push(single.id);
  for (const run of runs) {
    for (let node = 0; node < run.graph.size; node++)
      if (!isEnded(run.statusOf(node))) found.push(run.taskIdOf(node));
  }
  return found;
}

function isOf(
  one: { readonly zone: string; readonly agent: string },
  zone: string,
  agent: string | undefined,
): boolean {
  return one.zone === zone && (agent === undefined || one.agent === agent);
}

/** Ids of what is on the workers, newest first, after the cursor. */
export function runningTasks(
  state: State,
  filter: TaskFilter,
  after: ListCursor | undefined,
  count: number,
): string[] {
  const found: ListCursor[] = [];
  for (const worker of state.fleet.workers) {
    for (const key of worker.held.keys()) {
      const run = state.runs.get(runOfKey(key));
      const tasks: Tasks = run ?? state.singles;
      const node = nodeOfKey(key);
      const { executor, type } = tasks.taskOf(node);
      if (tasks.zoneOf(node) !== filter.zone || (filter.agent ?? tasks.agentOf(node)) !== tasks.agentOf(node))
        continue;
      if ((filter.executor ?? executor) !== executor || (filter.type ?? type) !== type) continue;
      const runId = run?.id ?? runOfAlternative(state, node)?.id;
      if (filter.runId !== undefined && filter.runId !== runId) continue;
      const submittedSeq = run ? run.submittedSeq : state.singles.get(node).seq;
      found.push({ submittedSeq, id: tasks.taskIdOf(node) });
    }
  }
  const later = after ? found.filter((task) => newestFirst(after, task) < 0) : found;
  return later
    .sort(newestFirst)
    .slice(0, count)
    .map(({ id }) => id);
}

function runOfAlternative(state: State, number: number): Run | undefined {
  const of = state.singles.get(number).alternativeOf;
  return of && state.runs.get(of.run);
}

export function newestFirst(a: ListCursor, b: ListCursor): number {
  return b.submittedSeq - a.submittedSeq || compareText(b.id, a.id);
}

/** The tier that a task has reached by waiting; once it ran, the one that it had. */
export function tierOf(
  { config }: Pick<State, "config">,
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
    standing: 0,
    weight: 0,
    node: 0,
  };
  return effectiveTier(entry, Math.max(until, readyAt), config);
}
