import { compareText } from "../core/index.ts";
import {
  nodeOfKey,
  runOfKey,
  type TaskKey,
  taskKey,
  type WorkerSpec,
  workerKey,
} from "../placement/index.ts";
import { type Beginning, type Endings, type Happening, Play, type PlayedAttempt } from "./fork.ts";
import { Run } from "./run.ts";
import { type AlternativeOf, Singles } from "./singles.ts";
import { isRemembered, type Snapshot } from "./snapshot.ts";
import type { State } from "./state.ts";
import { isEnded, type Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";
import type { Course } from "./what-if.ts";

/** Who a task is. */
export interface TaskName {
  readonly id: string;
  readonly zone: string;
  readonly agent: string;
  readonly type: string;
  readonly runId: string | undefined;
  readonly node: string | undefined;
}

/** What became of a task in a play: since when it was ready for its first attempt there, and how the last went. */
export interface PlayedTask extends TaskName {
  readonly worker: string;
  readonly readyAt: number;
  readonly startedAt: number;
  /** Undefined: it has not ended. */
  readonly endedAt: number | undefined;
}

/** What became of everything. */
export interface Outcome {
  readonly from: number;
  /** When the last that began in it had ended. */
  readonly to: number;
  /** By id. */
  readonly tasks: ReadonlyMap<string, PlayedTask>;
  readonly state: State;
  /** When workers were there. */
  readonly shifts: readonly Shift[];
  /** Everything was played to its end; otherwise there were too many turns. */
  readonly isWhole: boolean;
}

interface Shift {
  readonly slots: number;
  readonly zones: readonly string[];
  readonly from: number;
  to: number;
}

/** Plays a course to its end, or so far. */
export function outcomeOf({ snapshot, happenings }: Course, endings: Endings, most: number): Outcome {
  const began = new Map<TaskKey, TaskName | AlternativeOf>();
  const noting: Endings = (beginning) => {
    const key = taskKey(beginning.tasks.number, beginning.node);
    if (!began.has(key)) began.set(key, nameOf(beginning));
    return endings(beginning);
  };
  const play = new Play(snapshot, snapshot.now, { happenings, endings: noting, most });
  const tasks = new Map<string, PlayedTask>();
  let to = snapshot.now;
  for (const attempt of play.attempts) {
    const { key, startedAt } = attempt;
    const name = known(play.state, began.get(key));
    if (!name || startedAt === undefined) continue;
    // An attempt may end with its worker, and its task wait for another.
    const endedAt = hasEnded(play.state, key) ? attempt.endedAt : undefined;
    tasks.set(name.id, played(play.state, name, { ...attempt, endedAt }, startedAt, tasks.get(name.id)));
    to = Math.max(to, endedAt ?? startedAt);
  }
  const shifts = shiftsOf(snapshot, happenings, to);
  return { from: snapshot.now, to, tasks, state: play.state, shifts, isWhole: play.isOver };
}

function hasEnded({ singles, runs }: State, key: TaskKey): boolean {
  const node = nodeOfKey(key);
  if (runOfKey(key) === singles.number) return !singles.all.has(node);
  const run = runs.get(runOfKey(key));
  return run === undefined || isEnded(run.statusOf(node));
}

function nameOf({ tasks, node }: Beginning): TaskName | AlternativeOf {
  const alternativeOf = tasks instanceof Singles ? tasks.get(node).alternativeOf : undefined;
  return alternativeOf ?? ofNode(tasks, node);
}

function ofNode(tasks: Tasks, node: number): TaskName {
  return {
    id: tasks.taskIdOf(node),
    zone: tasks.zoneOf(node),
    agent: tasks.agentOf(node),
    type: tasks.taskOf(node).type,
    runId: tasks instanceof Run ? tasks.id : undefined,
    node: tasks instanceof Run ? tasks.graph.idOf(node) : undefined,
  };
}

/** What is tried in several ways is one task: undefined where its run was forgotten. */
function known(state: State, name: TaskName | AlternativeOf | undefined): TaskName | undefined {
  if (!name || "id" in name) return name;
  const run = state.runs.get(name.run);
  return run && ofNode(run, name.node);
}

function played(
  state: State,
  name: TaskName,
  { readyAt, endedAt, worker }: PlayedAttempt,
  startedAt: number,
  before: PlayedTask | undefined,
): PlayedTask {
  const first = before ?? { readyAt, startedAt };
  return {
    ...name,
    worker: state.worker(worker).id,
    readyAt: first.readyAt,
    startedAt: first.startedAt,
    endedAt,
  };
}

function shiftsOf({ workers, now }: Snapshot, happenings: readonly Happening[], to: number): Shift[] {
  const shifts: Shift[] = [];
  const open = new Map<number, Shift>();
  const numbers = new Map<string, number>();
  const begin = (number: number, { id, slots, zone, zones }: WorkerSpec, from: number) => {
    const shift = { slots, zones: [zone, ...zones], from, to };
    end(number, from);
    numbers.set(workerKey(zone, id), number);
    open.set(number, shift);
    shifts.push(shift);
  };
  const end = (number: number, at: number) => {
    const shift = open.get(number);
    if (shift) shift.to = Math.min(to, at);
    open.delete(number);
  };
  for (const [number, worker] of workers.entries()) {
    if (!isRemembered(worker)) continue;
    const { spec, status } = worker;
    if (status !== "Unreachable") begin(number, spec, now);
    else numbers.set(workerKey(spec.zone, spec.id), number);
  }
  let next = workers.length;
  for (const { at, stimuli } of happenings) {
    for (const one of at > to ? [] : stimuli) {
      if (one.kind === "WorkerRegistered") {
        const { zone, id } = one.worker;
        begin(numbers.get(workerKey(zone, id)) ?? next++, one.worker, at);
      }
      if (one.kind === "WorkerLost") end(one.worker, at);
    }
  }
  return shifts;
}

/** How well a zone fared. Times in milliseconds. */
export interface Score {
  readonly ended: number;
  /** Began and did not end, or did not begin. */
  readonly unfinished: number;
  /** From the fork to the end of its last task. */
  readonly makespanMs: number;
  /** Of those that began after the fork, from when they were ready. */
  readonly waits: {
    readonly meanMs: number;
    readonly p50Ms: number;
    readonly p95Ms: number;
    readonly maxMs: number;
  };
  /** Of the time of all slots that serve it, until its last task ended: how much was used. 0 to 1. */
  readonly utilisation: number;
  /** Whether all agents waited alike in proportion to what they ran: 1 if so, 1/n if one of n waited for all. */
  readonly fairness: number;
  readonly agents: readonly { readonly agent: string; readonly tasks: number; readonly meanWaitMs: number }[];
}

export function scoreOf(outcome: Outcome, zone: string): Score {
  const { from, state } = outcome;
  const own = [...outcome.tasks.values()].filter((task) => task.zone === zone);
  const ended = own.filter(({ endedAt }) => endedAt !== undefined);
  const to = own.reduce((latest, { endedAt, startedAt }) => Math.max(latest, endedAt ?? startedAt), from);
  const began = own.filter(({ startedAt }) => startedAt >= from);
  const waits = began.map(waitOf).sort((a, b) => a - b);
  return {
    ended: ended.length,
    unfinished: openIn(state, zone),
    makespanMs: to - from,
    waits: {
      meanMs: mean(waits),
      p50Ms: quantile(waits, 0.5),
      p95Ms: quantile(waits, 0.95),
      maxMs: waits.at(-1) ?? 0,
    },
    utilisation: utilisationOf(outcome, zone, to),
    ...fairnessOf(began),
  };
}

function waitOf({ startedAt, readyAt }: PlayedTask): number {
  return Math.max(0, startedAt - readyAt);
}

function openIn(state: State, zone: string): number {
  let open = 0;
  for (const single of state.singles.all.values()) if (single.zone === zone && !single.alternativeOf) open++;
  for (const run of state.runs.values()) {
    if (run.zone !== zone) continue;
    for (const status of run.status) if (!isEnded(status as Status)) open++;
  }
  return open;
}

function utilisationOf({ from, shifts, tasks }: Outcome, zone: string, to: number): number {
  const length = (start: number, end: number) => Math.max(0, Math.min(end, to) - Math.max(start, from));
  const there = shifts
    .filter(({ zones }) => zones.includes(zone))
    .reduce((sum, shift) => sum + shift.slots * length(shift.from, shift.to), 0);
  let used = 0;
  for (const task of tasks.values())
    if (task.zone === zone) used += length(task.startedAt, task.endedAt ?? to);
  return there === 0 ? 0 : Math.min(1, used / there);
}

/** Jain's index of the agents' mean slowdowns: how many times as long as it ran a task took. */
function fairnessOf(tasks: readonly PlayedTask[]): Pick<Score, "fairness" | "agents"> {
  const byAgent = new Map<string, PlayedTask[]>();
  for (const task of tasks) {
    const own = byAgent.get(task.agent);
    if (own) own.push(task);
    else byAgent.set(task.agent, [task]);
  }
  const slowdowns = [...byAgent.values()].map((own) => mean(own.map(slowdownOf)));
  const sum = slowdowns.reduce((total, one) => total + one, 0);
  const squares = slowdowns.reduce((total, one) => total + one * one, 0);
  return {
    fairness: squares === 0 ? 1 : (sum * sum) / (slowdowns.length * squares),
    agents: [...byAgent]
      .map(([agent, own]) => ({ agent, tasks: own.length, meanWaitMs: mean(own.map(waitOf)) }))
      .sort((a, b) => compareText(a.agent, b.agent)),
  };
}

function slowdownOf(task: PlayedTask): number {
  const ranMs = Math.max(1, (task.endedAt ?? task.startedAt) - task.startedAt);
  return (waitOf(task) + ranMs) / ranMs;
}

function mean(numbers: readonly number[]): number {
  return numbers.length === 0 ? 0 : numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

/** A task that went otherwise. */
export interface Moved {
  readonly name: TaskName;
  /** Undefined: it did not begin. */
  readonly before: PlayedTask | undefined;
  readonly after: PlayedTask | undefined;
}

/** Tasks of a zone that began or ended at another time, or on another worker: by how much, most first. */
export function movedTasks(before: Outcome, after: Outcome, zone: string): Moved[] {
  const ids = new Set([...before.tasks.keys(), ...after.tasks.keys()]);
  const moved: Moved[] = [];
  for (const id of ids) {
    const [was, is] = [before.tasks.get(id), after.tasks.get(id)];
    const name = was ?? is;
    if (name?.zone !== zone) continue;
    const isSame =
      was?.startedAt === is?.startedAt && was?.endedAt === is?.endedAt && was?.worker === is?.worker;
    if (!isSame) moved.push({ name, before: was, after: is });
  }
  return moved.sort((a, b) => shiftOf(b) - shiftOf(a) || compareText(a.name.id, b.name.id));
}

function shiftOf({ before, after }: Moved): number {
  return before && after ? Math.abs(after.startedAt - before.startedAt) : Number.POSITIVE_INFINITY;
}
