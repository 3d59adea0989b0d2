import {
  type CandidateRow,
  candidateTable,
  DEFAULT_RATES,
  type Needs,
  NO_RUN,
  nodeOfKey,
  type Rejection,
  rejectionOf,
  runOfKey,
  servesZone,
  type TaskKey,
  taskKey,
  type Worker,
} from "../placement/index.ts";
import { type Barrier, barriers, exceededOf, type RoomBarrier } from "./admission.ts";
import { ableWorkers, lineBefore, type NextTask } from "./ahead.ts";
import { subjectOf } from "./choice.ts";
import type { Group } from "./group.ts";
import { inputsOnWorkers } from "./locality.ts";
import type { Run } from "./run.ts";
import { Result } from "./run-data.ts";
import { needsOf, type State } from "./state.ts";
import { STATUS_NAMES, Status, type StatusName } from "./status.ts";
import type { Tasks } from "./tasks.ts";

/**
 * Why a task does not run yet: a closed set of codes with their parameters; text is rendered from them. The
 * first that applies is the primary one.
 */
export type WaitReason =
  | {
      readonly code: "Unsatisfiable";
      readonly workers: number;
      readonly rejected: Counts;
      /** A limit that is smaller than what the task counts towards it. */
      readonly exceeds?: RoomBarrier;
    }
  | { readonly code: "Held"; readonly by: "person" | "draining" | "paused" }
  | { readonly code: "NotDue"; readonly dueAt: number; readonly attempt: number }
  | { readonly code: "Dependencies"; readonly open: readonly OpenDependency[]; readonly total: number }
  | { readonly code: "Admission"; readonly barriers: readonly LimitingBarrier[] }
  | { readonly code: "Capacity"; readonly rejected: Counts; readonly reservedWorker: string | undefined }
  | {
      readonly code: "Outranked";
      readonly ahead: number;
      readonly next: NextTask;
      /** So many wait that only some of them were looked at. */
      readonly isAbout?: true;
    }
  | { readonly code: "Pending" };

/** One that lasts until others end, or time passes. */
export type LimitingBarrier = Exclude<Barrier, { readonly by: "pause" }>;

export type Counts = Readonly<Partial<Record<Rejection, number>>>;

export interface OpenDependency {
  readonly node: string;
  readonly status: StatusName;
}

/** Dependencies that are listed by name; beyond it they are only counted. */
const LISTED = 20;

/** All reasons that apply, the primary one first; empty for a task that does not wait. */
export function whyNotYet(state: State, tasks: Tasks, node: number, now: number = state.now): WaitReason[] {
  const status = tasks.statusOf(node);
  if (status > Status.delayed) return [];
  const run = state.runs.get(tasks.number);
  const awaited = run?.data?.awaited.has(node) ? run.data.loans.get(node) : undefined;
  if (awaited) return [{ code: "Dependencies", open: [dependencyOf(awaited.run, awaited.node)], total: 1 }];
  const reasons: WaitReason[] = [];
  const group = tasks.groupOf(node);
  const serving = servingWorkers(state, group.pool.demand.needs);
  const able = ableWorkers(state, group.pool.demand.needs);
  const rejected = countRejections(state, tasks, node);
  const stopped = barriers(state, group, now, taskKey(tasks.number, node));
  const exceeds = exceededOf(stopped);
  if (able.length === 0 || exceeds) {
    reasons.push({ code: "Unsatisfiable", workers: serving.length, rejected, ...(exceeds && { exceeds }) });
  }
  if (status === Status.held) reasons.push({ code: "Held", by: "person" });
  if (stopped.some(({ by }) => by === "pause")) reasons.push({ code: "Held", by: "paused" });
  if (able.length > 0 && able.every((worker) => worker.status === "Draining")) {
    reasons.push({ code: "Held", by: "draining" });
  }
  const dueAt = tasks.sinceOf(node);
  if (status === Status.delayed && dueAt > now) {
    reasons.push({ code: "NotDue", dueAt, attempt: tasks.attemptOf(node) + 1 });
  }
  const open = openDependencies(run, node);
  if (open.length > 0)
    reasons.push({ code: "Dependencies", open: open.slice(0, LISTED), total: open.length });
  const limiting = stopped.filter((barrier): barrier is LimitingBarrier => barrier.by !== "pause");
  if (limiting.length > 0) reasons.push({ code: "Admission", barriers: limiting });
  const rejections = Object.values(rejected).reduce((sum, count) => sum + count, 0);
  if (rejections === serving.length && able.length > 0) {
    const reservedWorker = state.fleet.reservations.get(taskKey(tasks.number, node))?.id;
    reasons.push({ code: "Capacity", rejected, reservedWorker });
  }
  if (status === Status.ready || (status === Status.delayed && dueAt <= now)) {
    const { first, count, isAbout } = lineBefore(state, tasks, node, now, 1);
    const [next] = first;
    if (next) reasons.push({ code: "Outranked", ahead: count, next, ...(isAbout && { isAbout }) });
    if (reasons.length === 0) reasons.push({ code: "Pending" });
  }
  return reasons;
}

/** Whether no worker that is known could ever run what stands in a group. */
export function isUnsatisfiable(state: State, { pool }: Group): boolean {
  return ableWorkers(state, pool.demand.needs).length === 0;
}

/** The full table of candidates for a task, in the state before it was assigned. */
export function whyHere(state: State, tasks: Tasks, node: number, now: number = state.now): CandidateRow[] {
  const needs = needsOf(tasks.taskOf(node), tasks.zoneOf(node));
  const key = taskKey(tasks.number, node);
  const subject = subjectOf(state, tasks, node);
  const run = state.runs.get(tasks.number);
  const inputs = run && inputsOnWorkers(run, node, now);
  const near = inputs && { inputs, rates: state.config.transferRates ?? DEFAULT_RATES };
  return candidateTable(state.fleet, needs, key, subject, beginsAtOnce(state, key), near);
}

/** A result that a node gets, and where it is: with its task, on workers, or nowhere now. */
export interface InputPlace {
  readonly node: string;
  readonly bytes: number;
  readonly at: "task" | "workers" | "nowhere";
  readonly workers: readonly string[];
}

/** Where what a node gets from others is; undefined where nodes of its run hand nothing to each other. */
export function whereInputsAre(state: State, tasks: Tasks, node: number): InputPlace[] | undefined {
  const run = state.runs.get(tasks.number);
  const { data } = run ?? {};
  if (!run || !data) return undefined;
  return Array.from(run.graph.inputsOf(node), (input) => {
    const { data: holding, node: at } = data.at(input);
    const result = holding.result[at];
    const workers = (holding.holders.get(at) ?? []).map((worker) => state.worker(worker).id);
    return {
      node: run.graph.idOf(input),
      bytes: run.resultBytes[input] as number,
      at: result === Result.stored ? "task" : result === Result.held ? "workers" : "nowhere",
      workers,
    };
  });
}

/** What is tried in several ways begins at once, or not in several; when it is tried again it is as any other. */
function beginsAtOnce({ singles }: State, key: TaskKey): boolean {
  const single = runOfKey(key) === NO_RUN ? singles.get(nodeOfKey(key)) : undefined;
  return single?.alternativeOf !== undefined && single.attempt === 0;
}

/** Whether a worker serves the zone of the task, whatever else speaks against it. */
export function isServing(state: State, worker: number, zone: string): boolean {
  const { spec } = state.worker(worker);
  return spec.zone === zone || spec.zones.includes(zone);
}

/** How much of the workers that could run it is taken: slots, and what is left to do on them. */
export function roomFor(
  state: State,
  tasks: Tasks,
  node: number,
  now: number,
): { slots: number; leftMs: number } {
  const able = ableWorkers(state, tasks.groupOf(node).pool.demand.needs);
  let leftMs = 0;
  for (const worker of able) {
    for (const key of worker.held.keys()) {
      const held: Tasks = state.runs.get(runOfKey(key)) ?? state.singles;
      const at = nodeOfKey(key);
      leftMs += Math.max(0, held.taskOf(at).estimateMs - Math.max(0, now - held.sinceOf(at)));
    }
  }
  return { slots: able.reduce((sum, { spec }) => sum + spec.slots, 0), leftMs };
}

/** Others say nothing about it, and a zone is told nothing about others. */
function servingWorkers(state: State, needs: Needs): Worker[] {
  return state.fleet.present().filter((worker) => servesZone(worker, needs));
}

function countRejections(state: State, tasks: Tasks, node: number): Counts {
  const { needs } = tasks.groupOf(node).pool.demand;
  const counts: Partial<Record<Rejection, number>> = {};
  for (const worker of servingWorkers(state, needs)) {
    const rejection = rejectionOf(state.fleet, worker, needs, taskKey(tasks.number, node));
    if (rejection) counts[rejection] = (counts[rejection] ?? 0) + 1;
  }
  return counts;
}

function openDependencies(run: Run | undefined, node: number): OpenDependency[] {
  if (!run) return [];
  const { start, targets } = run.graph.dependencies;
  return Array.from(targets.subarray(start[node], start[node + 1]))
    .filter((need) => run.status[need] !== Status.completed)
    .map((need) => dependencyOf(run, need));
}

function dependencyOf(run: Run, node: number): OpenDependency {
  return { node: run.graph.idOf(node), status: STATUS_NAMES[run.statusOf(node)] as StatusName };
}
