import { taskIdOf } from "../core/index.ts";
import { BUDGET_PARTS, Graph, type TaskSpec, taskSpecOf, type WireSpec } from "../graph/index.ts";
import type { RunOutcome, RunSubmitted, SchedulerConfig, TaskSubmitted } from "../ledger/index.ts";
import { NO_RUN, type WorkerSpec } from "../placement/index.ts";
import type { StatusName } from "../scheduler/index.ts";
import type { AttemptName, GivenInput } from "./messages.ts";
import type { ModelPace } from "./recalls.ts";
import type { ModelSpeculation } from "./speculation.ts";
import { classOf, tiersBought } from "./tiers.ts";

export interface ModelRun {
  readonly number: number;
  readonly id: string;
  readonly onFailure: RunSubmitted["onFailure"];
  readonly tasks: readonly ModelTask[];
  /** The node whose attempt ended by submitting it, and its own node that this gets the result of. */
  readonly addedBy:
    | { readonly task: ModelTask; readonly tail: number; readonly startedAt: number }
    | undefined;
  cancelAsked: boolean;
  outcome: RunOutcome | undefined;
  /** Nodes hand results to each other. */
  readonly hasData: boolean;
  /** What was kept is not wanted any more. */
  isReleased: boolean;
  /** By type how long nodes took, in microseconds, of which the last counts for an eighth. */
  readonly times: Map<string, number>;
}

export interface ModelTask {
  /** The same for all that belong to no run. */
  readonly run: ModelRun;
  readonly node: number;
  readonly id: string;
  readonly publicId: string;
  readonly agent: string;
  readonly zone: string;
  readonly spec: TaskSpec;
  readonly needs: ModelTask[];
  readonly neededBy: ModelTask[];
  /** Of its needs those whose results it gets, and those that get its own. */
  readonly inputs: ModelTask[];
  readonly readers: ModelTask[];
  readonly isKept: boolean;
  /** A hash of its arguments. */
  readonly request: string;
  /** Of two nodes of a run with data that are as urgent, the one with more goes first. */
  readonly weight: number;
  /** Tasks with equal keys can run on the same workers. */
  readonly needsKey: string;
  /** Tasks with equal keys also start under the same conditions. */
  readonly groupKey: string;
  /** Of tasks with equal keys, the first by its run's own order stands for all. */
  readonly laneKey: string;
  /** Its executor and zone. */
  readonly place: string;
  /** The event that submitted it. */
  readonly seq: number;
  /** After boost. */
  readonly tier: number;
  readonly startClass: number;
  readonly deadline: number;
  /** Attempts that do not count: from before it came, and those that ended before they began. */
  uncounted: number;
  readonly reservedMicros: number;
  /** It belongs to no run. */
  readonly isAlone: boolean;
  /** How it was submitted, if it was by itself. */
  readonly submission: TaskSubmitted | undefined;
  /** The node that it is an alternative of, and its place among these. */
  readonly alternativeOf: { readonly of: ModelTask; readonly at: number } | undefined;
  /** The node of a run above that it stands for: it is never run, and has the result of that. */
  standsFor: ModelTask | undefined;
  /** It needs that result, or waits for it. */
  borrows: boolean;
  /** The nodes of added runs that stand for it. */
  readonly links: ModelTask[];
  speculation: ModelSpeculation | undefined;
  /** The run that its last attempt ended by submitting. */
  added: ModelRun | undefined;
  charge: ModelCharge;
  holdsUpMs: number;
  status: StatusName;
  attempt: number;
  worker: ModelWorker | undefined;
  /** The wait counts from here. */
  readyAt: number;
  /** When it became ready, or is due. */
  since: number;
  /** When its worker should be done with it. */
  expectedEndMs: number;
  /** In a run with data: since when it has been on its worker, and how long the likes of it had taken by then. */
  placedAt: number;
  expectedMicros: number;
  /** Since when it has been assigned. */
  assignedAt: number;
  /** Its worker was asked to give it back for another. */
  recall: { readonly idle: ModelWorker; readonly at: number } | undefined;
  /** Who gave it back when asked, until it is given to somebody. */
  returnedBy: ModelWorker | undefined;
  cancelAsked: boolean;
  /** How the attempt that is being settled ended: one that was lost waits for nothing, a fatal one was the last. */
  ending: "failed" | "lost" | "fatal";
  /** Attempts whose end the worker itself reported. */
  readonly reported: Set<number>;
  completedSeq: number;
  resultBytes: number;
  resultHash: string | undefined;
  /** Its result is with it, or on these workers: first where it was made. */
  isStored: boolean;
  holders: readonly ModelWorker[];
  /** Where it was found, and not made: the attempt that made it. */
  origin: AttemptName | undefined;
  isFound: boolean;
  /** What its worker was told of its inputs. */
  given: readonly (GivenInput & { readonly made: number })[];
  /** How often it has completed. */
  timesMade: number;
  /** It waits on its worker for inputs that are made there. */
  isAhead: boolean;
  /** How often a worker was lost that may have run it, and how often its result was not where it should be. */
  deaths: number;
  breaches: number;
}

export interface ModelWorker {
  readonly number: number;
  spec: WorkerSpec;
  standing: "open" | "overloaded" | "draining" | "unreachable";
  registeredSeq: number;
  lostSeq: number;
  /** It said good-bye. */
  hasLeft: boolean;
  /** Lost so long ago that it is as if it had never been; under its name comes a new one. */
  isForgotten: boolean;
  freeCpu: number;
  freeMemory: number;
  readonly held: Set<ModelTask>;
  /** What waits there for inputs that it makes. */
  readonly ahead: Set<ModelTask>;
  readonly executed: Set<string>;
  /** When it last finished a task of a run with data. */
  finishedAt: number;
  pace: ModelPace | undefined;
  reservedFor: ModelTask | undefined;
}

/** What became of the budget of an attempt. */
export interface ModelCharge {
  recharges: number;
  amounts: number[];
  lacks: string;
}

export function noCharge(): ModelCharge {
  return { recharges: 0, amounts: BUDGET_PARTS.map(() => 0), lacks: "" };
}

const LOOSE: ModelRun = {
  number: NO_RUN,
  id: "",
  onFailure: "continue",
  tasks: [],
  addedBy: undefined,
  cancelAsked: false,
  outcome: undefined,
  hasData: false,
  isReleased: false,
  times: new Map(),
};

export function modelRun(
  number: number,
  event: RunSubmitted,
  seq: number,
  now: number,
  addedBy: ModelRun["addedBy"],
): ModelRun {
  const { graph } = event;
  const tasks: ModelTask[] = [];
  const run: ModelRun = {
    number,
    id: event.runId,
    onFailure: event.onFailure,
    tasks,
    addedBy,
    cancelAsked: false,
    outcome: undefined,
    hasData: graph.inputs !== undefined,
    isReleased: false,
    times: new Map(),
  };
  const kept = new Set(graph.keep);
  const { weight } = new Graph(graph);
  const done = new Set(graph.done);
  for (const [node, id] of graph.ids.entries()) {
    const spec = taskSpecOf(graph.specs[graph.spec[node] as number] as WireSpec);
    tasks.push({
      ...blank(run, node, spec, event),
      isKept: kept.has(node),
      isStored: done.has(node),
      request: graph.requests[node] ?? "",
      weight: weight[node] as number,
      id,
      publicId: taskIdOf(event.runId, id),
      seq,
      tier: spec.priority,
      startClass: classOf(spec.priority, false),
      status: done.has(node) ? "completed" : spec.held ? "held" : "waiting",
      readyAt: now,
      since: now,
    });
  }
  for (const [node, needs] of graph.needs.entries()) {
    for (const need of needs) link(tasks[need] as ModelTask, tasks[node] as ModelTask);
    for (const input of needs.slice(0, graph.inputs?.[node] ?? 0))
      hand(tasks[input] as ModelTask, tasks[node] as ModelTask);
  }
  for (const task of tasks) task.holdsUpMs = holdsUpMs(task);
  return run;
}

export function modelSingle(
  number: number,
  event: TaskSubmitted,
  seq: number,
  now: number,
  config: SchedulerConfig,
): ModelTask {
  const spec = taskSpecOf(event.spec);
  const bought = tiersBought(event.boostMicros, config);
  const tier = Math.max(0, spec.priority - bought);
  const later = event.runAt > now;
  return {
    ...blank(LOOSE, number, spec, event),
    id: event.id,
    publicId: event.id,
    seq,
    tier,
    startClass: classOf(tier, event.requestState === "io_wait"),
    deadline: event.deadline,
    uncounted: event.attempts,
    reservedMicros: config.credits ? bought * config.boostTierMicros : 0,
    submission: event,
    holdsUpMs: spec.estimateMs,
    status: later ? "delayed" : "ready",
    attempt: event.attempts,
    readyAt: later ? event.runAt : now,
    since: later ? event.runAt : now,
  };
}

/** One way to do what a node should do. It has waited for as long. */
export function modelAlternative(
  number: number,
  of: ModelTask,
  at: number,
  publicId: string,
  seq: number,
  now: number,
): ModelTask {
  const { spec, readyAt } = of;
  return {
    ...blank(LOOSE, number, spec, of),
    id: publicId,
    publicId,
    seq,
    tier: spec.priority,
    startClass: classOf(spec.priority, false),
    alternativeOf: { of, at },
    holdsUpMs: spec.estimateMs,
    status: "ready",
    readyAt,
    since: now,
  };
}

function blank(
  run: ModelRun,
  node: number,
  spec: TaskSpec,
  { agent, zone }: { readonly agent: string; readonly zone: string },
): Omit<ModelTask, "id" | "publicId" | "seq" | "tier" | "startClass" | "status" | "readyAt" | "since"> {
  const { executor, cpuMillicores, memoryBytes, capabilities, limits, amounts, io } = spec;
  const needsKey = JSON.stringify([executor, zone, cpuMillicores, memoryBytes, capabilities, io === true]);
  const groupKey = JSON.stringify([needsKey, agent, limits, amounts]);
  const isAlone = run === LOOSE;
  return {
    run,
    node,
    agent,
    zone,
    spec,
    needs: [],
    neededBy: [],
    inputs: [],
    readers: [],
    isKept: false,
    request: "",
    weight: 0,
    needsKey,
    groupKey,
    laneKey: isAlone ? `alone ${node}` : JSON.stringify([run.number, groupKey]),
    place: JSON.stringify([executor, zone]),
    deadline: -1,
    uncounted: 0,
    reservedMicros: 0,
    isAlone,
    submission: undefined,
    alternativeOf: undefined,
    standsFor: undefined,
    borrows: false,
    links: [],
    speculation: undefined,
    added: undefined,
    charge: noCharge(),
    holdsUpMs: -1,
    attempt: 0,
    worker: undefined,
    expectedEndMs: 0,
    placedAt: 0,
    expectedMicros: 0,
    assignedAt: 0,
    recall: undefined,
    returnedBy: undefined,
    cancelAsked: false,
    ending: "failed",
    reported: new Set(),
    completedSeq: 0,
    resultBytes: 0,
    resultHash: undefined,
    isStored: false,
    holders: [],
    origin: undefined,
    isFound: false,
    given: [],
    timesMade: 0,
    isAhead: false,
    deaths: 0,
    breaches: 0,
  };
}

function link(need: ModelTask, task: ModelTask): void {
  task.needs.push(need);
  need.neededBy.push(task);
}

function hand(input: ModelTask, task: ModelTask): void {
  task.inputs.push(input);
  input.readers.push(task);
}

function holdsUpMs(task: ModelTask): number {
  if (task.holdsUpMs < 0) {
    task.holdsUpMs = task.spec.estimateMs + Math.max(0, ...task.neededBy.map(holdsUpMs));
  }
  return task.holdsUpMs;
}

export function isWaiting({ status }: ModelTask): boolean {
  return status === "waiting" || status === "held" || status === "ready" || status === "delayed";
}

export function isPlaced({ status }: ModelTask): boolean {
  return status === "assigned" || status === "running" || status === "cancelling";
}

export function isEnded({ status }: ModelTask): boolean {
  return status === "completed" || status === "failed" || status === "cancelled" || status === "skipped";
}

/** Whether there is cause to stop all of a run. */
export function isToStopAll(run: ModelRun): boolean {
  const hasFailed = run.onFailure === "cancel" && run.tasks.some(({ status }) => status === "failed");
  return run.cancelAsked || hasFailed || isOrphan(run);
}

/** The node that it was added by has ended without it. */
export function isOrphan({ addedBy }: ModelRun): boolean {
  return addedBy !== undefined && addedBy.task.status !== "expanded";
}

/** Whether it could be given to a worker now, if there were one. */
export function isDue(task: ModelTask, now: number): boolean {
  return task.status === "ready" || (task.status === "delayed" && task.since <= now);
}

export function aboutTask(task: ModelTask): { run: number; node: number } {
  return { run: task.run.number, node: task.node };
}

export function describeTask(task: ModelTask): string {
  return `task ${task.run.number}/${task.node} (${JSON.stringify(task.id)}, ${task.status}, attempt ${task.attempt})`;
}
