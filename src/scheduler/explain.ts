import {
  type CandidateRow,
  candidateTable,
  couldEverRun,
  type Needs,
  type Rejection,
  rejectionOf,
  servesZone,
  taskKey,
  type Worker,
} from "../placement/index.ts";
import { type Entry, goesBefore } from "../queue/index.ts";
import { type Barrier, barriers, exceededOf, isDemoted, type RoomBarrier } from "./admission.ts";
import { subjectOf, tasksOf } from "./dispatch.ts";
import type { Group } from "./group.ts";
import { Lane } from "./lane.ts";
import type { Run } from "./run.ts";
import type { Precedence } from "./standing.ts";
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
  | { readonly code: "Admission"; readonly barriers: readonly Barrier[] }
  | { readonly code: "Capacity"; readonly rejected: Counts; readonly reservedWorker: string | undefined }
  | { readonly code: "Outranked"; readonly ahead: number; readonly next: NextTask }
  | { readonly code: "Pending" };

export type Counts = Readonly<Partial<Record<Rejection, number>>>;

/** The task that goes before all others: whose it is decides who may be told its id. */
export interface NextTask {
  readonly id: string;
  readonly zone: string;
  readonly agent: string;
  /** Undefined for a task of no run. */
  readonly node: string | undefined;
  /** Of the same run: what puts it before the task that was asked about. */
  readonly because?: Precedence;
}

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
  const open = openDependencies(state.runs.get(tasks.number), node);
  if (open.length > 0)
    reasons.push({ code: "Dependencies", open: open.slice(0, LISTED), total: open.length });
  const limiting = stopped.filter(({ by }) => by !== "pause");
  if (limiting.length > 0) reasons.push({ code: "Admission", barriers: limiting });
  const rejections = Object.values(rejected).reduce((sum, count) => sum + count, 0);
  if (rejections === serving.length && able.length > 0) {
    const reservedWorker = state.fleet.reservations.get(taskKey(tasks.number, node))?.id;
    reasons.push({ code: "Capacity", rejected, reservedWorker });
  }
  if (status === Status.ready || (status === Status.delayed && dueAt <= now)) {
    reasons.push(...outranking(state, tasks, node, now));
    if (reasons.length === 0) reasons.push({ code: "Pending" });
  }
  return reasons;
}

/** The full table of candidates for a task, in the state before it was assigned. */
export function whyHere(state: State, tasks: Tasks, node: number): CandidateRow[] {
  const needs = needsOf(tasks.taskOf(node), tasks.zoneOf(node));
  return candidateTable(state.fleet, needs, taskKey(tasks.number, node), subjectOf(state, tasks, node));
}

/** Others say nothing about it, and a zone is told nothing about others. */
function servingWorkers(state: State, needs: Needs): Worker[] {
  return state.fleet.present().filter((worker) => servesZone(worker, needs));
}

/** The workers that could run it if they were empty. */
function ableWorkers(state: State, needs: Needs): Worker[] {
  return state.fleet
    .known()
    .filter((worker) => worker.status !== "Unreachable" && couldEverRun(worker, needs));
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
    .map((need) => ({ node: run.graph.idOf(need), status: STATUS_NAMES[run.statusOf(need)] as StatusName }));
}

/** What is ready, could run, and goes before this task. */
function outranking(state: State, tasks: Tasks, node: number, now: number): WaitReason[] {
  state.arrangeRuns(now);
  const { config } = state;
  const own = state.runs.get(tasks.number)?.entryOf(node) ?? state.singles.get(node);
  const ownDemoted = isDemoted(state, tasks.groupOf(node), now);
  let ahead = 0;
  let first: Ahead | undefined;
  for (const pool of state.pools.values()) {
    if (ableWorkers(state, pool.demand.needs).length === 0) continue;
    for (const group of pool.groups.values()) {
      const demoted = isDemoted(state, group, now);
      for (const entry of group.line.entries()) {
        if (!goesBefore(entry, demoted, own, ownDemoted, now, config) && !isSameLane(entry, tasks, node))
          continue;
        const count = countAhead(entry, tasks, node);
        if (count === 0) continue;
        ahead += count;
        if (!first || goesBefore(entry, demoted, first.entry, first.demoted, now, config))
          first = { entry, group, demoted };
      }
    }
  }
  return first ? [{ code: "Outranked", ahead, next: nextOf(state, first, tasks, node) }] : [];
}

interface Ahead {
  readonly entry: Entry;
  readonly group: Group;
  readonly demoted: boolean;
}

function isSameLane(entry: Entry, tasks: Tasks, node: number): boolean {
  return entry instanceof Lane && entry.run === tasks && entry.run.laneOf(node) === entry;
}

/** How many tasks an entry that goes first stands for: one, or those of a run that go before the task. */
function countAhead(entry: Entry, tasks: Tasks, node: number): number {
  if (!(entry instanceof Lane)) return 1;
  const { run } = entry;
  if (run !== tasks) return entry.size;
  return entry.nodes.reduce((ahead, other) => (run.goesBefore(other, node) ? ahead + 1 : ahead), 0);
}

function nextOf(state: State, { entry, group }: Ahead, tasks: Tasks, than: number): NextTask {
  const { zone, agent } = group;
  const id = tasksOf(state, entry).taskIdOf(entry.node);
  if (!(entry instanceof Lane)) return { id, zone, agent, node: undefined };
  const node = entry.run.graph.idOf(entry.node);
  const isBefore = entry.run === tasks && entry.run.goesBefore(entry.node, than);
  return { id, zone, agent, node, ...(isBefore && { because: entry.run.whatParts(entry.node, than) }) };
}
