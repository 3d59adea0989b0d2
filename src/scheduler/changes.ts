import { BUDGET_PARTS, type BudgetPart, wireSpec } from "../graph/index.ts";
import type { LimitConfigured, TaskSubmitted } from "../ledger/index.ts";
import {
  couldEverRun,
  type Needs,
  NO_RUN,
  nodeOfKey,
  runOfKey,
  servesZone,
  type TaskKey,
  taskKey,
  type Worker,
  type WorkerSpec,
} from "../placement/index.ts";
import { TIER_NAMES, type Tier } from "../queue/index.ts";
import type { RoomBarrier } from "./admission.ts";
import type { NextTask } from "./ahead.ts";
import { chargeOf } from "./charges.ts";
import type { WaitReason } from "./explain.ts";
import { type Group, placeKey, zonedKey } from "./group.ts";
import type { State } from "./state.ts";
import { Status } from "./status.ts";
import type { Stimulus } from "./step.ts";
import type { Tasks } from "./tasks.ts";

/** What somebody could change so that a task starts sooner: one thing, or several where only all of them help. */
export type Change = OneChange | { readonly kind: "together"; readonly changes: readonly OneChange[] };

export type OneChange =
  | { readonly kind: "resume"; readonly executors: readonly string[] }
  | { readonly kind: "agent-limit"; readonly agent: string; readonly from: number; readonly to: number }
  | { readonly kind: "limit"; readonly limit: string; readonly from: number; readonly to: number }
  | {
      readonly kind: "rate";
      readonly limit: string;
      readonly from: number;
      readonly to: number;
      readonly periodMs: number;
    }
  | {
      readonly kind: "worker";
      readonly count: number;
      /** The one that it would be like; undefined: there is none to be like. */
      readonly like: string | undefined;
      readonly adds: Lack;
    }
  /** Of the same task, cancelled and submitted again: what waits cannot be changed. */
  | { readonly kind: "priority"; readonly from: TierName; readonly to: TierName }
  | { readonly kind: "at-once"; readonly dueAt: number }
  | { readonly kind: "cancel"; readonly task: NextTask }
  | {
      readonly kind: "recharge";
      readonly task: NextTask;
      readonly part: BudgetPart;
      readonly amount: number;
    };

type TierName = (typeof TIER_NAMES)[number];

/** What a worker has too little of. */
export interface Lack {
  readonly executor?: string;
  readonly capabilities?: readonly string[];
  readonly cpuMillicores?: number;
  readonly memoryBytes?: number;
}

/** A change, and what makes it. */
export interface Trial {
  readonly change: OneChange;
  readonly stimuli: readonly Stimulus[];
  /** The task that then stands for the one that waits. */
  readonly key: TaskKey;
}

/** One trial, or several at once. */
export interface Tried extends Omit<Trial, "change"> {
  readonly change: Change;
}

/** Of each, the smallest change that helps is wanted: they stand in the order of their sizes. */
export type Trials = readonly Trial[];

/** What could be changed about the reasons for which a task waits. `key` is the task that should start sooner. */
export function trialsFor(
  state: State,
  tasks: Tasks,
  node: number,
  reasons: readonly WaitReason[],
  key: TaskKey,
): Trials[] {
  const group = tasks.groupOf(node);
  const { zone } = group;
  const { needs } = group.pool.demand;
  const isOwn = tasks.number === NO_RUN && key === taskKey(NO_RUN, node);
  const trials = new Map<string, Trial[]>();
  const add = (...sizes: readonly (Made | Trial)[]) => {
    for (const made of sizes) {
      const subject = subjectOf(made.change);
      trials.set(subject, [...(trials.get(subject) ?? []), { key, ...made }]);
    }
  };
  for (const reason of reasons) {
    switch (reason.code) {
      case "Unsatisfiable":
        if (reason.exceeds) add(roomTrial(state, zone, reason.exceeds, reason.exceeds.needed));
        else add(workerTrial(nearestWorker(state, needs), needs));
        break;
      case "Held":
        if (reason.by === "paused") add(resumeTrial(state, zone, needs.executor));
        if (reason.by === "draining") add(...moreWorkers(state, needs));
        break;
      case "Admission":
        for (const barrier of reason.barriers) {
          if (barrier.by === "concurrency") add(...roomTrials(state, zone, barrier));
          if (barrier.by === "rate") add(...rateTrials(state, zone, barrier.limit));
          if (barrier.by === "fair-share") add(...shareTrials(state, zone, group.agent, barrier.max));
        }
        break;
      case "Capacity":
        add(...moreWorkers(state, needs));
        break;
      case "NotDue":
        if (isOwn)
          add(...againTrials(state, node, { kind: "at-once", dueAt: state.timeOfDay(reason.dueAt) }));
        break;
      case "Outranked":
      case "Dependencies":
      case "Pending":
    }
  }
  const isInLine = reasons.every(
    ({ code }) => code === "Capacity" || code === "Outranked" || code === "Admission",
  );
  if (isInLine && isOwn) add(...priorityTrials(state, node));
  if (isInLine) {
    for (const task of inTheWay(state, group, reasons))
      add(...rechargeTrials(state, task), cancelTrial(state, task));
  }
  return [...trials.values()].map((sizes) => sizes.sort((a, b) => sizeOf(a.change) - sizeOf(b.change)));
}

/** What a change is about: several reasons may call for the same. */
function subjectOf(change: OneChange): string {
  switch (change.kind) {
    case "limit":
    case "rate":
      return `${change.kind} ${change.limit}`;
    case "cancel":
    case "recharge":
      return `${change.kind} ${change.task.id}`;
    default:
      return change.kind;
  }
}

function sizeOf(change: OneChange): number {
  if (change.kind === "worker") return change.count;
  if (change.kind === "priority") return TIER_NAMES.length - TIER_NAMES.indexOf(change.to);
  return "to" in change ? change.to : 0;
}

/** All of these at once: where several things stand in the way, none of them helps alone. */
export function together(trials: readonly Trial[]): Tried {
  return {
    change: { kind: "together", changes: trials.map(({ change }) => change) },
    stimuli: trials.flatMap(({ stimuli }) => stimuli),
    key: (trials[0] as Trial).key,
  };
}

type Made = Omit<Trial, "key">;

function resumeTrial(state: State, zone: string, executor: string): Made {
  const executors = ["", executor].filter((name) => state.paused.has(placeKey(zone, name)));
  return {
    change: { kind: "resume", executors },
    stimuli: executors.map((name) => ({ kind: "QueueResumed", zone, executor: name })),
  };
}

function shareTrials(state: State, zone: string, agent: string, from: number): Made[] {
  const rate = [...state.rates.own()].includes(zonedKey(zone, agent))
    ? state.rates.rateOf(zonedKey(zone, agent))
    : undefined;
  const own = rate === undefined ? {} : { rateCount: rate?.count ?? null, ratePeriodMs: rate?.periodMs ?? 1 };
  return sizesAbove(from, [from + 1, 2 * from]).map((to) => ({
    change: { kind: "agent-limit", agent, from, to },
    stimuli: [{ kind: "AgentConfigured", zone, agent, max: to, ...own }],
  }));
}

/** Room for one more, and as much as it takes to start at once. */
function roomTrials(state: State, zone: string, barrier: RoomBarrier): Made[] {
  const { max, needed, running, kept } = barrier;
  const sizes = sizesAbove(max, [max + needed, running + needed + kept]);
  return sizes.map((to) => roomTrial(state, zone, barrier, to));
}

function roomTrial(state: State, zone: string, { limit, max: from }: RoomBarrier, to: number): Made {
  return {
    change: { kind: "limit", limit, from, to },
    stimuli: [{ ...configured(state, zone, limit), concurrency: to }],
  };
}

function rateTrials(state: State, zone: string, limit: string): Made[] {
  const now = configured(state, zone, limit);
  const from = now.rateCount ?? 0;
  return sizesAbove(from, [from + 1, 2 * from, 10 * from]).map((to) => ({
    change: { kind: "rate", limit, from, to, periodMs: now.ratePeriodMs },
    stimuli: [{ ...now, rateCount: to }],
  }));
}

function sizesAbove(from: number, sizes: readonly number[]): number[] {
  return [...new Set(sizes)].filter((to) => to > from).sort((a, b) => a - b);
}

/** A limit as it is set. */
function configured(state: State, zone: string, name: string): LimitConfigured {
  const { concurrency, rateCount, ratePeriodMs } = state.limit(zone, name).toSnapshot();
  return { kind: "LimitConfigured", zone, name, concurrency, rateCount, ratePeriodMs };
}

/** How many more workers there might be. */
const COUNTS = [1, 2, 4, 8];

/** Like the smallest that could run it. */
function moreWorkers(state: State, needs: Needs): Made[] {
  const able = state.fleet
    .known()
    .filter((worker) => worker.status !== "Unreachable" && couldEverRun(worker, needs))
    .sort(
      (a, b) => a.spec.slots - b.spec.slots || a.spec.cpuMillicores - b.spec.cpuMillicores || before(a, b),
    );
  return able.slice(0, 1).flatMap((worker) => COUNTS.map((count) => workerTrial(worker, needs, count)));
}

/** Of those that are for its zone, the one that lacks least. */
function nearestWorker(state: State, needs: Needs): Worker | undefined {
  const size = (worker: Worker) => {
    const { executor, capabilities = [], cpuMillicores, memoryBytes } = lackOf(worker.spec, needs);
    return (
      [executor, cpuMillicores, memoryBytes].filter((lack) => lack !== undefined).length + capabilities.length
    );
  };
  return state.fleet
    .present()
    .filter((worker) => worker.status !== "Unreachable" && servesZone(worker, needs))
    .sort((a, b) => size(a) - size(b) || before(a, b))[0];
}

function before(a: Worker, b: Worker): number {
  return a.id < b.id ? -1 : 1;
}

function lackOf(spec: WorkerSpec, needs: Needs): Lack {
  const capabilities = needs.capabilities.filter((one) => !spec.capabilities.includes(one));
  const { executor, cpuMillicores, memoryBytes } = needs;
  return {
    ...(!spec.executors.includes(executor) && { executor }),
    ...(capabilities.length > 0 && { capabilities }),
    ...(spec.cpuMillicores < cpuMillicores && { cpuMillicores: cpuMillicores - spec.cpuMillicores }),
    ...(spec.memoryBytes < memoryBytes && { memoryBytes: memoryBytes - spec.memoryBytes }),
  };
}

/** Names that no worker has: how they are called decides nothing but ties. */
const NEW_WORKER = "one more worker";

function workerTrial(like: Worker | undefined, needs: Needs, count = 1): Made {
  const spec = like?.spec ?? { ...NO_WORKER, zone: needs.zone };
  const adds = lackOf(spec, needs);
  const { executor, capabilities = [], cpuMillicores = 0, memoryBytes = 0 } = adds;
  const worker = {
    ...spec,
    executors: executor === undefined ? spec.executors : [...spec.executors, executor],
    capabilities: [...new Set([...spec.capabilities, ...capabilities])].sort(),
    cpuMillicores: spec.cpuMillicores + cpuMillicores,
    memoryBytes: spec.memoryBytes + memoryBytes,
  };
  return {
    change: { kind: "worker", count, like: like?.id, adds },
    stimuli: Array.from({ length: count }, (_, at) => {
      return { kind: "WorkerRegistered", worker: { ...worker, id: `${NEW_WORKER} ${at}` } };
    }),
  };
}

const NO_WORKER: WorkerSpec = {
  id: NEW_WORKER,
  endpoint: "",
  zone: "",
  zones: [],
  executors: [],
  capabilities: [],
  cpuMillicores: 0,
  memoryBytes: 0,
  slots: 1,
};

function priorityTrials(state: State, number: number): Trial[] {
  const { priority } = state.singles.get(number).spec;
  const from = TIER_NAMES[priority];
  return TIER_NAMES.slice(0, priority).flatMap((to) =>
    againTrials(state, number, { kind: "priority", from, to }),
  );
}

function againTrials(
  state: State,
  number: number,
  change: Extract<OneChange, { kind: "priority" | "at-once" }>,
): Trial[] {
  const single = state.singles.get(number);
  if (single.alternativeOf) return [];
  const { id, agent, zone, spec, requestState, boostMicros, deadline, requestHash } = single;
  const again: TaskSubmitted = {
    kind: "TaskSubmitted",
    id: `${id} again`,
    agent,
    zone,
    spec: wireSpec(change.kind === "priority" ? { ...spec, priority: tierOf(change.to) } : spec),
    requestState,
    boostMicros,
    deadline: state.timeOfDay(deadline),
    runAt: -1,
    requestHash,
    attempts: 0,
  };
  const stimuli = [{ kind: "CancelRequested", run: NO_RUN, node: number } as const, again];
  return [{ change, stimuli, key: taskKey(NO_RUN, state.nextTask) }];
}

function tierOf(name: TierName): Tier {
  return TIER_NAMES.indexOf(name) as Tier;
}

/** How many of those that hold its workers are named. */
const MOST_NAMED = 3;

/**
 * What is on workers and takes what it waits for: room under a limit, the share of its agent, or room on a worker. Those of
 * its own agent first, and what should run longest.
 */
function inTheWay(state: State, group: Group, reasons: readonly WaitReason[]): TaskKey[] {
  const barriers = reasons.flatMap((reason) => (reason.code === "Admission" ? reason.barriers : []));
  const limits = barriers.flatMap((barrier) => (barrier.by === "concurrency" ? barrier.limit : []));
  const isOfShare = barriers.some(({ by }) => by === "fair-share");
  const { needs } = group.pool.demand;
  const takes = (worker: Worker, other: Group) => {
    if (barriers.length === 0) return couldEverRun(worker, needs);
    const isUnder = other.zone === group.zone && other.limitNames.some((name) => limits.includes(name));
    return isUnder || (isOfShare && other.shareKey === group.shareKey);
  };
  const found: { readonly key: TaskKey; readonly isOwn: number; readonly endMs: number }[] = [];
  for (const worker of state.fleet.known()) {
    for (const [key, { expectedEndMs: endMs }] of worker.held) {
      const tasks = tasksAt(state, key);
      const other = tasks.groupOf(nodeOfKey(key));
      if (tasks.statusOf(nodeOfKey(key)) === Status.cancelling || !takes(worker, other)) continue;
      found.push({ key, isOwn: other.shareKey === group.shareKey ? 0 : 1, endMs });
    }
  }
  return found
    .sort((a, b) => a.isOwn - b.isOwn || b.endMs - a.endMs || a.key - b.key)
    .slice(0, MOST_NAMED)
    .map(({ key }) => key);
}

function cancelTrial(state: State, key: TaskKey): Made {
  return {
    change: { kind: "cancel", task: namedTask(state, key) },
    stimuli: [{ kind: "CancelRequested", run: runOfKey(key), node: nodeOfKey(key) }],
  };
}

/** As much again as it had, of what it has used up and waits for. */
function rechargeTrials(state: State, key: TaskKey): Made[] {
  const { lacks: part } = chargeOf(state, key);
  if (part === undefined) return [];
  const [run, node] = [runOfKey(key), nodeOfKey(key)];
  const tasks = tasksAt(state, key);
  const amount = Math.max(1, tasks.taskOf(node).budget[BUDGET_PARTS.indexOf(part)] as number);
  const amounts = BUDGET_PARTS.map((one) => (one === part ? amount : 0));
  const change = { kind: "recharge", task: namedTask(state, key), part, amount } as const;
  return [
    { change, stimuli: [{ kind: "TaskRecharged", run, node, attempt: tasks.attemptOf(node), amounts }] },
  ];
}

function namedTask(state: State, key: TaskKey): NextTask {
  const tasks = tasksAt(state, key);
  const at = nodeOfKey(key);
  const node = state.runs.get(tasks.number)?.graph.idOf(at);
  return { id: tasks.taskIdOf(at), zone: tasks.zoneOf(at), agent: tasks.agentOf(at), node };
}

function tasksAt(state: State, key: TaskKey): Tasks {
  return state.tasks(runOfKey(key));
}
