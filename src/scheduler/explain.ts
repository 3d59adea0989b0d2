import { Heap } from "../core/index.ts";
import {
  type CandidateRow,
  candidateTable,
  couldEverRun,
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
import { type Entry, goesBefore } from "../queue/index.ts";
import { type Barrier, barriers, exceededOf, isDemoted, type RoomBarrier } from "./admission.ts";
import { RunStanding } from "./bundle.ts";
import { subjectOf } from "./choice.ts";
import type { Group } from "./group.ts";
import { Lane } from "./lane.ts";
import { inputsOnWorkers } from "./locality.ts";
import { tasksOf } from "./offer.ts";
import type { Run } from "./run.ts";
import { Result } from "./run-data.ts";
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
  | { readonly code: "Admission"; readonly barriers: readonly LimitingBarrier[] }
  | { readonly code: "Capacity"; readonly rejected: Counts; readonly reservedWorker: string | undefined }
  | { readonly code: "Outranked"; readonly ahead: number; readonly next: NextTask }
  | { readonly code: "Pending" };

/** One that lasts until others end, or time passes. */
export type LimitingBarrier = Exclude<Barrier, { readonly by: "pause" }>;

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
    reasons.push(...outranking(state, tasks, node, now));
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
export function isServing(state: State, worker: string, zone: string): boolean {
  const found = state.fleet.byId(worker);
  return found !== undefined && (found.spec.zone === zone || found.spec.zones.includes(zone));
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
    .map((need) => dependencyOf(run, need));
}

function dependencyOf(run: Run, node: number): OpenDependency {
  return { node: run.graph.idOf(node), status: STATUS_NAMES[run.statusOf(node)] as StatusName };
}

/** What is ready, could run, and goes before this task: what goes before its run, and of its run what goes before it. */
function outranking(state: State, tasks: Tasks, node: number, now: number): WaitReason[] {
  let ahead = 0;
  let first: InLine | undefined;
  for (const { other, count } of allAhead(state, tasks, node, now)) {
    ahead += count;
    if (!first || isAhead(state, other, first, now)) first = other;
  }
  return first ? [{ code: "Outranked", ahead, next: nextOf(state, first, tasks, node) }] : [];
}

/** The line in front of a task that is ready. */
export interface LineBefore {
  /** The first of it, in order. Of a run there is the one that goes first of each of its groups. */
  readonly first: readonly NextTask[];
  readonly count: number;
  /** What all of them should take together. */
  readonly workMs: number;
}

export function lineBefore(state: State, tasks: Tasks, node: number, now: number, most: number): LineBefore {
  const { first, count, workMs } = firstAhead(state, tasks, node, now, most);
  return { first: first.map((one) => nextOf(state, one, tasks, node)), count, workMs };
}

/** Those tasks of no run that go before it: the first of them, in order, and how many there are. */
export function singlesBefore(
  state: State,
  tasks: Tasks,
  node: number,
  now: number,
  most: number,
): { readonly first: readonly number[]; readonly singles: number } {
  const isSingle = ({ run }: InLine) => run === undefined;
  const { first, counted } = firstAhead(state, tasks, node, now, most, isSingle);
  return { first: first.map((one) => one.node), singles: counted };
}

/** The worst of the best so far stands on top of a heap: most of a long line needs only be compared with that one. */
function firstAhead(
  state: State,
  tasks: Tasks,
  node: number,
  now: number,
  most: number,
  isMeant: (one: InLine) => boolean = () => true,
): { first: InLine[]; counted: number; count: number; workMs: number } {
  const isBehind = (a: InLine, b: InLine) => isAhead(state, b, a, now);
  const best = new Heap<InLine>(isBehind);
  let counted = 0;
  let count = 0;
  let workMs = 0;
  for (const { other, count: of } of allAhead(state, tasks, node, now)) {
    count += of;
    workMs += of * other.entry.estimateMs;
    if (!isMeant(other)) continue;
    counted++;
    if (best.size < most) best.push(other);
    else if (isAhead(state, other, best.peek() as InLine, now)) {
      best.pop();
      best.push(other);
    }
  }
  const first: InLine[] = [];
  for (let one = best.pop(); one; one = best.pop()) first.push(one);
  return { first: first.reverse(), counted, count, workMs };
}

interface Ahead {
  readonly other: InLine;
  /** How many tasks it stands for. */
  readonly count: number;
}

function* allAhead(state: State, tasks: Tasks, node: number, now: number): Generator<Ahead> {
  state.arrangeRuns(now);
  const groups = groupsThatCouldRun(state);
  const lane = state.runs.get(tasks.number)?.laneOf(node);
  const standings = standingsOf(groups, lane);
  const inLine = (group: Group, demoted: boolean, entry: Entry, at: number): InLine => {
    const run = entry instanceof Lane ? entry.run : undefined;
    return { group, demoted, entry, run, node: at, as: (run && standings.get(run)) ?? entry };
  };
  const own = tasks.groupOf(node);
  const task = inLine(own, isDemoted(state, own, now), lane ?? state.singles.get(node), node);
  for (const group of groups) {
    const demoted = isDemoted(state, group, now);
    for (const entry of group.line.entries()) {
      const other = inLine(group, demoted, entry, entry.node);
      const count = countAhead(state, other, task, now);
      if (count > 0) yield { other, count };
    }
  }
}

interface InLine {
  readonly group: Group;
  readonly demoted: boolean;
  readonly entry: Entry;
  readonly run: Run | undefined;
  readonly node: number;
  /** What it stands as among what is not of its run. */
  readonly as: Entry;
}

function groupsThatCouldRun(state: State): Group[] {
  return [...state.pools.values()]
    .filter(({ demand }) => ableWorkers(state, demand.needs).length > 0)
    .flatMap(({ groups }) => [...groups.values()]);
}

/** What each run stands as by what of it could run, and by the lane of the task in any case. */
function standingsOf(groups: readonly Group[], always: Lane | undefined): Map<Run, RunStanding> {
  const standings = new Map<Run, RunStanding>();
  const include = ({ run, node, tier }: Lane) => {
    const known = standings.get(run);
    const first = known && run.goesBefore(known.node, node) ? known.node : node;
    standings.set(run, new RunStanding(run, first, known && known.tier < tier ? known.tier : tier));
  };
  if (always && always.size > 0) include(always);
  for (const { line } of groups) {
    for (const entry of line.entries()) if (entry instanceof Lane) include(entry);
  }
  return standings;
}

function isAhead({ config }: State, a: InLine, b: InLine, now: number): boolean {
  if (a.run && a.run === b.run) return a.run.goesBefore(a.node, b.node);
  return goesBefore(a.as, a.demoted, b.as, b.demoted, now, config);
}

/** How many tasks of an entry go first: of another run all do or none. */
function countAhead(state: State, other: InLine, task: InLine, now: number): number {
  const { entry, run } = other;
  if (!(entry instanceof Lane)) return isAhead(state, other, task, now) ? 1 : 0;
  if (run !== task.run) return isAhead(state, other, task, now) ? entry.size : 0;
  return entry.nodes.reduce((ahead, one) => (run?.goesBefore(one, task.node) ? ahead + 1 : ahead), 0);
}

function nextOf(state: State, { entry, group }: InLine, tasks: Tasks, than: number): NextTask {
  const { zone, agent } = group;
  const id = tasksOf(state, entry).taskIdOf(entry.node);
  if (!(entry instanceof Lane)) return { id, zone, agent, node: undefined };
  const node = entry.run.graph.idOf(entry.node);
  const isBefore = entry.run === tasks && entry.run.goesBefore(entry.node, than);
  return { id, zone, agent, node, ...(isBefore && { because: entry.run.whatParts(entry.node, than) }) };
}
