import { nodeOfKey, runOfKey, type TaskKey, taskKey } from "../placement/index.ts";
import {
  type Change,
  type OneChange,
  type Trial,
  type Trials,
  type Tried,
  together,
  trialsFor,
} from "./changes.ts";
import { isWaiting } from "./dispatch.ts";
import { type Excerpt, excerptFor } from "./excerpt.ts";
import { type WaitReason, whyNotYet } from "./explain.ts";
import { asEstimated, Play } from "./fork.ts";
import type { Run } from "./run.ts";
import type { State } from "./state.ts";
import { isEnded, STATUS_NAMES, Status, type StatusName } from "./status.ts";
import type { Stimulus } from "./step.ts";
import type { Tasks } from "./tasks.ts";

/** When a waiting task should start, and what would make that sooner. */
export interface Prospect {
  /** Undefined: later than what was played. */
  readonly startsAt: number | undefined;
  /** As things stand it does not. */
  readonly isNever: boolean;
  /** Those that it hangs on, each on the next; the last waits, or runs, by itself. Empty: it hangs on none. */
  readonly chain: readonly Link[];
  /** Why the last of these waits; empty where it runs. */
  readonly because: readonly WaitReason[];
  readonly sooner: readonly Sooner[];
}

export interface Link {
  readonly node: string;
  readonly status: StatusName;
}

export interface Sooner {
  readonly change: Change;
  readonly startsAt: number;
}

/** Turns and attempts of all plays together, with what it takes to begin them: so much takes a few hundredths of a second. */
const MOST_PLAYED = 2_400;
/** Of the play in which nothing is changed. */
const MOST_UNCHANGED = 800;
const MOST_LINKS = 20;

/**
 * Of a task that waits for these reasons. What is is played on, and again with each change that could help: what is said was
 * tried. Only what makes it start sooner is told, and of several sizes of a change the smallest that does. Undefined: there is
 * too much to be played.
 */
export function prospectOf(
  state: State,
  tasks: Tasks,
  node: number,
  now: number,
  reasons: readonly WaitReason[] = whyNotYet(state, tasks, node, now),
): Prospect | undefined {
  const excerpt = excerptFor(state, tasks, node, now);
  if (!excerpt) return undefined;
  const key = taskKey(tasks.number, node);
  const unchanged = new Forecast(excerpt, key, now, MOST_UNCHANGED);
  const run = state.runs.get(tasks.number);
  const chain = run ? chainOf(run, node, unchanged.play) : [];
  const root = chain.at(-1) ?? node;
  const because = root === node ? reasons : whyNotYet(state, tasks, root, now);
  const trials = trialsFor(state, tasks, root, because, key);
  if (root !== node) trials.push(...trialsFor(state, tasks, node, reasons, key));
  return {
    startsAt: unchanged.startsAt,
    isNever: unchanged.startsAt === undefined && unchanged.isWhole,
    chain: run ? chain.map((link) => linkOf(run, link)) : [],
    because: chain.length > 0 ? because : [],
    sooner: tried(excerpt, now, unchanged, trials),
  };
}

function tried(excerpt: Excerpt, now: number, unchanged: Forecast, trials: readonly Trials[]): Sooner[] {
  let left = MOST_PLAYED - unchanged.work;
  // What has not started by the end of a play that was broken off starts later than that.
  const before = unchanged.startsAt ?? (unchanged.isWhole ? Number.POSITIVE_INFINITY : unchanged.play.now);
  const attempt = ({ change, stimuli, key }: Tried): Sooner | undefined => {
    // What one task less gives does not grow with the line.
    if (left <= 0 || (excerpt.stretch > 1 && isOfOne(change))) return undefined;
    const forecast = new Forecast(excerpt, key, now, left, stimuli, before);
    left -= forecast.work;
    const { startsAt } = forecast;
    return startsAt !== undefined && startsAt < before ? { change, startsAt } : undefined;
  };
  const found = trials.flatMap((sizes) => firstOf(sizes, attempt));
  if (found.length === 0) found.push(...firstOf(combined(trials), attempt));
  return found.sort((a, b) => a.startsAt - b.startsAt);
}

/** The smallest that helps, if one does. */
function firstOf(sizes: readonly Tried[], attempt: (trial: Tried) => Sooner | undefined): Sooner[] {
  for (const trial of sizes) {
    const helps = attempt(trial);
    if (helps) return [helps];
  }
  return [];
}

/** The smallest of each, and the largest. */
function combined(trials: readonly Trials[]): Tried[] {
  const blocking = trials.filter(([first]) => first && isUnblocking(first.change));
  if (blocking.length < 2) return [];
  return [0, -1].map((size) => together(blocking.map((sizes) => sizes.at(size) as Trial)));
}

/** Whether it takes away a reason, rather than what stands before the task. */
function isUnblocking(change: OneChange): boolean {
  return change.kind !== "priority" && !isOfOne(change);
}

function isOfOne({ kind }: Change): boolean {
  return kind === "cancel" || kind === "recharge";
}

/** A play until a task starts, or cannot any more, or the time has come by which it should have. */
class Forecast {
  readonly play: Play;
  readonly startsAt: number | undefined;
  readonly #key: TaskKey;
  readonly #began: number;

  constructor(
    { snapshot, work, stretch }: Excerpt,
    key: TaskKey,
    now: number,
    most: number,
    stimuli: readonly Stimulus[] = [],
    before = Number.POSITIVE_INFINITY,
  ) {
    this.#key = key;
    this.#began = work;
    const isEnough = (play: Play) =>
      play.now >= before || startIn(play, key) !== undefined || isGone(play, key);
    this.play = new Play(snapshot, now, {
      happenings: [{ at: now, stimuli }],
      endings: asEstimated,
      most,
      isEnough,
    });
    const at = startIn(this.play, key);
    this.startsAt =
      at === undefined
        ? undefined
        : Math.round(now + (at - now) * (1 + (stretch - 1) * this.#passed(snapshot.singles.length)));
  }

  /** All was played that can happen to the task. */
  get isWhole(): boolean {
    return this.play.isOver || isGone(this.play, this.#key);
  }

  get work(): number {
    return this.play.work + this.#began;
  }

  /** Which part of those that were taken has started before it. */
  #passed(taken: number): number {
    return Math.min(1, this.play.attempts.length / Math.max(1, taken));
  }
}

/** When a task, or the first of its alternatives, has begun on a worker. */
function startIn({ last, state, now }: Play, key: TaskKey): number | undefined {
  const started = last.get(key)?.startedAt;
  if (started !== undefined) return started;
  const run = state.runs.get(runOfKey(key));
  const status = run?.statusOf(nodeOfKey(key));
  // A node that is tried in several ways has begun when they have; one whose result is known need not.
  return status === Status.speculating || status === Status.completed ? now : undefined;
}

/** It has ended without having begun. */
function isGone({ state }: Play, key: TaskKey): boolean {
  const tasks = state.tasksAt(runOfKey(key));
  return !tasks?.has(nodeOfKey(key)) || isEnded(tasks.statusOf(nodeOfKey(key)));
}

/** From what a node needs, over what that needs, to what hangs on none: each time the one that is there last. */
function chainOf(run: Run, node: number, play: Play): number[] {
  const chain: number[] = [];
  for (let next = lastOpen(run, node, play); next !== undefined; next = lastOpen(run, next, play)) {
    if (chain.length === MOST_LINKS) break;
    chain.push(next);
    if (!isWaiting(run, next)) break;
  }
  return chain;
}

function lastOpen(run: Run, node: number, play: Play): number | undefined {
  const { start, targets } = run.graph.dependencies;
  let last: number | undefined;
  let lastEnd = -1;
  for (const need of targets.subarray(start[node], start[node + 1])) {
    if (isEnded(run.statusOf(need))) continue;
    const end = play.last.get(taskKey(run.number, need))?.endedAt ?? Number.POSITIVE_INFINITY;
    if (end > lastEnd) [last, lastEnd] = [need, end];
  }
  return last;
}

function linkOf(run: Run, node: number): Link {
  return { node: run.graph.idOf(node), status: STATUS_NAMES[run.statusOf(node)] as StatusName };
}
