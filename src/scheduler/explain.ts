import {
  type CandidateRow,
  candidateTable,
  couldEverRun,
  type Needs,
  type Rejection,
  rejectionOf,
  taskKey,
  type Worker,
} from "../placement/index.ts";
import { subjectOf } from "./dispatch.ts";
import { goesFirst, type Lane } from "./group.ts";
import type { Run } from "./run.ts";
import { needsOf, type State } from "./state.ts";
import { STATUS_NAMES, Status, type StatusName } from "./status.ts";

/**
 * Why a task does not run yet: a closed set of codes with their parameters; text is rendered from them. The
 * first that applies is the primary one.
 */
export type WaitReason =
  | { readonly code: "Unsatisfiable"; readonly workers: number; readonly rejected: Counts }
  | { readonly code: "Held"; readonly by: "person" | "draining" }
  | { readonly code: "NotDue"; readonly dueAt: number; readonly attempt: number }
  | { readonly code: "Dependencies"; readonly open: readonly OpenDependency[]; readonly total: number }
  | { readonly code: "Admission"; readonly limit: string }
  | { readonly code: "Capacity"; readonly rejected: Counts; readonly reservedWorker: string | undefined }
  | { readonly code: "Outranked"; readonly ahead: number; readonly next: string }
  | { readonly code: "Pending" };

export type Counts = Readonly<Partial<Record<Rejection, number>>>;

export interface OpenDependency {
  readonly node: string;
  readonly status: StatusName;
}

/** Dependencies that are listed by name; beyond it they are only counted. */
const LISTED = 20;

/** All reasons that apply, the primary one first; empty for a task that does not wait. */
export function whyNotYet(state: State, run: Run, node: number): WaitReason[] {
  const status = run.statusOf(node);
  if (status > Status.delayed) return [];
  const reasons: WaitReason[] = [];
  const needs = needsOf(run.graph.taskOf(node), run.zone);
  const able = ableWorkers(state, needs);
  const rejected = countRejections(state, run, node);
  if (able.length === 0) {
    reasons.push({ code: "Unsatisfiable", workers: state.fleet.workers.length, rejected });
  }
  if (status === Status.held) reasons.push({ code: "Held", by: "person" });
  if (able.length > 0 && able.every((worker) => worker.status === "Draining")) {
    reasons.push({ code: "Held", by: "draining" });
  }
  const dueAt = run.since[node] as number;
  if (status === Status.delayed && dueAt > state.now) {
    reasons.push({ code: "NotDue", dueAt, attempt: (run.attempt[node] as number) + 1 });
  }
  const open = openDependencies(run, node);
  if (open.length > 0)
    reasons.push({ code: "Dependencies", open: open.slice(0, LISTED), total: open.length });
  const rejections = Object.values(rejected).reduce((sum, count) => sum + count, 0);
  if (rejections === state.fleet.workers.length && able.length > 0) {
    const reservedWorker = state.fleet.reservations.get(taskKey(run.number, node))?.id;
    reasons.push({ code: "Capacity", rejected, reservedWorker });
  }
  if (status === Status.ready || (status === Status.delayed && dueAt <= state.now)) {
    reasons.push(...outranking(state, run, node));
    if (reasons.length === 0) reasons.push({ code: "Pending" });
  }
  return reasons;
}

/** The full table of candidates for a task, in the state before it was assigned. */
export function whyHere(state: State, run: Run, node: number): CandidateRow[] {
  const needs = needsOf(run.graph.taskOf(node), run.zone);
  return candidateTable(state.fleet, needs, taskKey(run.number, node), subjectOf(state, run, node));
}

/** The workers that could run it if they were empty. */
function ableWorkers(state: State, needs: Needs): Worker[] {
  return state.fleet.workers.filter(
    (worker) => worker.status !== "Unreachable" && couldEverRun(worker, needs),
  );
}

function countRejections(state: State, run: Run, node: number): Counts {
  const needs = needsOf(run.graph.taskOf(node), run.zone);
  const counts: Partial<Record<Rejection, number>> = {};
  for (const worker of state.fleet.workers) {
    const rejection = rejectionOf(state.fleet, worker, needs, taskKey(run.number, node));
    if (rejection) counts[rejection] = (counts[rejection] ?? 0) + 1;
  }
  return counts;
}

function openDependencies(run: Run, node: number): OpenDependency[] {
  const { start, targets } = run.graph.dependencies;
  return Array.from(targets.subarray(start[node], start[node + 1]))
    .filter((need) => run.status[need] !== Status.completed)
    .map((need) => ({ node: run.graph.idOf(need), status: STATUS_NAMES[run.statusOf(need)] as StatusName }));
}

/** What is ready, could run, and goes before this task. */
function outranking(state: State, run: Run, node: number): WaitReason[] {
  let ahead = 0;
  let first: Lane | undefined;
  for (const group of state.groups.values()) {
    if (ableWorkers(state, group.demand.needs).length === 0) continue;
    for (const lane of group.lanes.values()) {
      const count = countAhead(lane, run, node);
      if (count > 0 && (first === undefined || goesFirst(lane, first))) first = lane;
      ahead += count;
    }
  }
  return first ? [{ code: "Outranked", ahead, next: first.run.graph.idOf(first.firstNode) }] : [];
}

function countAhead(lane: Lane, run: Run, node: number): number {
  const own = run.laneOf(node).group.priority;
  if (lane.group.priority !== own) return lane.group.priority < own ? lane.ready.size : 0;
  if (lane.run !== run) return lane.run.number < run.number ? lane.ready.size : 0;
  const { holdsUpMs } = run.graph;
  return lane.countWhile((other) => {
    const lead = (holdsUpMs[other] as number) - (holdsUpMs[node] as number);
    return lead !== 0 ? lead > 0 : other < node;
  });
}
