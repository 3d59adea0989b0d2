import { sha256Hex } from "../core/index.ts";
import type {
  CacheEvicted,
  ChunkLost,
  ChunksFreed,
  NodesRecomputed,
  TaskReused,
  TasksWithdrawn,
} from "../ledger/index.ts";
import type { Model } from "./model.ts";
import {
  chunkOf,
  dropCopy,
  dropKept,
  followersOf,
  idleResults,
  isKeeping,
  madeBefore,
  nextToEvict,
  recipeOf,
  remember,
  toMakeAgain,
} from "./model-data.ts";
import { checkLink, linksToWait, takeLinked } from "./model-links.ts";
import { countCompleted, offerIfReady } from "./model-moves.ts";
import {
  aboutTask,
  describeTask,
  isEnded,
  isPlaced,
  isToStopAll,
  type ModelRun,
  type ModelTask,
} from "./model-tasks.ts";
import { demand } from "./violation.ts";

export function loseCopy(model: Model, event: ChunkLost): void {
  const task = model.taskAt(event);
  const worker = model.workerAt(event.worker);
  task.breaches++;
  dropKept(model, chunkOf(task), worker);
  dropCopy(task, worker);
}

/** Exactly what nobody needs any more; and all of a run that is forgotten. */
export function freeChunks(model: Model, event: ChunksFreed): void {
  const run = model.runAt(event.run);
  const idle = idleResults(run);
  const held = run.tasks.filter(isKeeping);
  const isAll = namesOf(idle) !== event.nodes.join() && isForgottenNext(model, run);
  const expected = isAll ? held : idle;
  demand(
    namesOf(expected) === event.nodes.join(),
    "freed-when-unneeded",
    () => `of run ${run.number} ${event.nodes.join()} were freed, ${namesOf(expected)} are not needed`,
    { run: run.number },
  );
  for (const task of expected) {
    task.holders = [];
    task.borrows = false;
  }
}

/** Exactly what was used longest ago, as long as workers keep too much. */
export function evictCached(model: Model, { zone, key }: CacheEvicted): void {
  const recipe = nextToEvict(model);
  const [ofZone] = JSON.parse(recipe ?? "[]") as readonly string[];
  demand(
    recipe !== undefined && sha256Hex(recipe) === key && ofZone === zone,
    "evicted-when-too-much",
    () => `${key} of ${zone} was evicted, ${recipe} should be`,
  );
  const { held } = model.made.get(recipe as string) ?? {};
  if (held) model.evicted.push(held.chunk);
  model.made.delete(recipe as string);
}

/** It ends, or ended first of all, and one run more than are remembered ends now. */
function isForgottenNext(model: Model, run: ModelRun): boolean {
  const [oldest] = model.ended;
  const most = oldest ? model.settings.keepEndedRuns : model.mostEnded(run);
  return model.ended.length >= most && (oldest ?? run) === run && run.tasks.every(isEnded);
}

/** Those first that stand for what is made again already. */
function nextToMakeAgain(run: ModelRun): ModelTask[] {
  const links = linksToWait(run);
  return links.length > 0 ? links : toMakeAgain(run);
}

export function makeAgain(model: Model, event: NodesRecomputed, now: number): void {
  const run = model.runAt(event.run);
  const expected = nextToMakeAgain(run);
  demand(
    namesOf(expected) === event.nodes.join(),
    "made-again-if-lost",
    () => `of run ${run.number} ${event.nodes.join()} are made again, ${namesOf(expected)} must be`,
    { run: run.number },
  );
  for (const task of expected) {
    task.status = "waiting";
    task.borrows = task.standsFor !== undefined;
    task.origin = undefined;
    task.since = now;
    if (!task.isFound) task.uncounted++;
    task.isFound = false;
  }
  for (const task of run.tasks) {
    const isIdle = task.status === "ready" || task.status === "delayed";
    if (!isIdle || task.needs.every(({ status }) => status === "completed")) continue;
    model.withdraw(task);
    task.status = "waiting";
  }
  for (const task of expected) offerIfReady(model, task, now);
}

/** What a worker was given ahead of an input that it does not make. */
export function withdrawTasks(model: Model, event: TasksWithdrawn): void {
  const run = model.runAt(event.run);
  const causes = [...model.withdrawing, ...nextToMakeAgain(run)];
  const found = new Set(causes.flatMap(followersOf));
  const expected = run.tasks.filter((task) => found.has(task));
  demand(
    namesOf(expected) === [...event.nodes].sort((a, b) => a - b).join(),
    "withdrawn-with-cause",
    () => `${event.nodes.join()} of run ${event.run} were withdrawn, ${namesOf(expected)} should be`,
    { run: event.run },
  );
  for (const task of expected) takeBack(task);
}

function takeBack(task: ModelTask): void {
  task.worker?.ahead.delete(task);
  task.isAhead = false;
  task.status = "waiting";
  task.uncounted++;
}

export function reuseResult(model: Model, event: TaskReused, now: number): void {
  const task = model.taskAt(event);
  if (task.standsFor) {
    takeLinked(model, task, task.standsFor, event, now);
    return;
  }
  const known = madeBefore(model, task, now);
  const { taskId, resultHash, resultBytes } = event;
  demand(
    task.status === "ready" &&
      known?.taskId === taskId &&
      known.resultHash === resultHash &&
      known.resultBytes === resultBytes,
    "reused-from-the-same",
    () => `${describeTask(task)} has the result of ${taskId}, known is ${JSON.stringify(known)}`,
    aboutTask(task),
  );
  const held = known?.held;
  model.made.delete(recipeOf(task) ?? "");
  remember(model, recipeOf(task) ?? "", { taskId, resultHash, resultBytes, at: now, held });
  model.withdraw(task);
  task.status = "completed";
  task.resultHash = resultHash;
  task.resultBytes = resultBytes;
  task.isStored = !held;
  task.holders = held?.holders ?? [];
  task.origin = held?.chunk;
  task.isFound = held !== undefined;
  task.timesMade++;
  countCompleted(model, task, now);
}

function namesOf(tasks: readonly ModelTask[]): string {
  return tasks.map(({ node }) => node).join();
}

/** By the end of a turn. */
export function checkKept(model: Model): void {
  const excess = nextToEvict(model);
  demand(excess === undefined, "evicted-in-time", () => `workers keep ${excess} beyond what they may`);
}

/** By the end of a turn. */
export function checkData(model: Model, run: ModelRun, now: number): void {
  const about = { run: run.number };
  const idle = idleResults(run);
  demand(
    idle.length === 0,
    "freed-in-time",
    () => `${namesOf(idle)} of run ${run.number} are held for nobody`,
    about,
  );
  const lost = toMakeAgain(run);
  demand(
    lost.length === 0,
    "nothing-needed-is-lost",
    () => `${namesOf(lost)} of run ${run.number} are needed and gone`,
    about,
  );
  const known = run.tasks.find((task) => task.status === "ready" && madeBefore(model, task, now));
  demand(
    known === undefined,
    "reused-if-known",
    () => `${known && describeTask(known)} waits, though its result is known`,
    about,
  );
  for (const task of run.tasks) {
    if (task.isAhead) checkAhead(task);
    if (task.standsFor && run.outcome === undefined && !isToStopAll(run)) checkLink(task, task.standsFor);
  }
}

/** What waits on a worker for an input waits for something that this worker is making. */
function checkAhead(task: ModelTask): void {
  const open = task.needs.filter(({ status }) => status !== "completed");
  const isMade = (need: ModelTask) =>
    need.worker === task.worker && task.inputs.includes(need) && isPlaced(need);
  demand(
    open.length > 0 && open.every(isMade),
    "ahead-of-what-is-made",
    () => `${describeTask(task)} waits on its worker for ${open.map(describeTask).join(", ")}`,
    aboutTask(task),
  );
}

/** The results of a run that is forgotten are nowhere any more. */
export function checkForgotten(run: ModelRun): void {
  const held = run.tasks.filter(isKeeping);
  demand(
    held.length === 0,
    "freed-before-forgotten",
    () => `${namesOf(held)} of run ${run.number} stay on their workers for ever`,
    { run: run.number },
  );
}
