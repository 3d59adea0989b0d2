import type { AttemptFinished } from "../ledger/index.ts";
import { type AttemptName, nameOf } from "./messages.ts";
import type { Model } from "./model.ts";
import {
  isDue,
  isEnded,
  isToStopAll,
  type ModelRun,
  type ModelTask,
  type ModelWorker,
} from "./model-tasks.ts";
import { inSlots, isBeside } from "./places.ts";

/** After so many losses a task is taken for their cause. */
export const MOST_LOSSES = 3;

/** Beyond so many, attempts of a task that are lost count again. */
export const MOST_EXCUSED = 100;

/** Somebody will still ask for the result. */
export function isWanted(task: ModelTask): boolean {
  return (
    task.readers.some((reader) => !isEnded(reader)) ||
    (task.isKept && !task.run.isReleased) ||
    task.links.some(({ borrows }) => borrows)
  );
}

/** Who has its result: itself, or the node that it stands for. */
export function sourceOf(task: ModelTask): ModelTask {
  return task.borrows && task.standsFor ? task.standsFor : task;
}

export function hasResult(task: ModelTask): boolean {
  const { isStored, holders } = sourceOf(task);
  return isStored || holders.length > 0;
}

export function isHeldBy(task: ModelTask, worker: ModelWorker): boolean {
  return sourceOf(task).holders.includes(worker);
}

/** It completed, and what it made is nowhere any more; what it stands for is the matter of another run. */
function isGone(task: ModelTask): boolean {
  return task.status === "completed" && !task.borrows && !hasResult(task);
}

/** It keeps a result on workers: its own, or that of the node that it stands for. */
export function isKeeping({ holders, borrows, status }: ModelTask): boolean {
  return holders.length > 0 || (borrows && status === "completed");
}

/** What is kept on workers and nobody will ask for. */
export function idleResults(run: ModelRun): ModelTask[] {
  return run.tasks.filter((task) => isKeeping(task) && !isWanted(task));
}

/** What has to be made again: results that are gone and wanted, and what is gone of all that these are made from. */
export function toMakeAgain(run: ModelRun): ModelTask[] {
  if (!run.hasData || run.outcome !== undefined || isToStopAll(run)) return [];
  const again = new Set<ModelTask>();
  const visit = (task: ModelTask) => {
    if (!isGone(task) || again.has(task)) return;
    again.add(task);
    for (const input of task.inputs) visit(input);
  };
  for (const task of run.tasks) if (isWanted(task)) visit(task);
  return run.tasks.filter((task) => again.has(task));
}

export function dropCopy(task: ModelTask, worker: ModelWorker): void {
  task.holders = task.holders.filter((holder) => holder !== worker);
}

/** A worker is gone: with all results that it had, and perhaps because of one of those that it ran. */
export function loseCopies(model: Model, worker: ModelWorker, inOrder: boolean): void {
  const beside = [...worker.held].filter((task) => isBeside(worker, task));
  const running = inOrder ? [] : [...beside, ...inSlots(worker).slice(0, worker.spec.slots)];
  for (const task of running) if (task.run.hasData) task.deaths++;
  for (const run of model.runs.values()) for (const task of run.tasks) dropCopy(task, worker);
  for (const { held } of model.made.values()) if (held) dropKept(model, held.chunk, worker);
}

/** A worker does not have what it kept for whoever may use it again. */
export function dropKept(model: Model, chunk: AttemptName, worker: ModelWorker): void {
  for (const [recipe, known] of model.made) {
    if (!known.held || nameOf(known.held.chunk) !== nameOf(chunk)) continue;
    const holders = known.held.holders.filter((holder) => holder !== worker);
    if (holders.length === 0) model.made.delete(recipe);
    else model.made.set(recipe, { ...known, held: { ...known.held, holders } });
  }
}

/** What workers know the result of a task by. */
export function chunkOf({ origin, run, node, attempt }: ModelTask): AttemptName {
  return origin ?? { run: run.number, node, attempt };
}

/** Whether a worker is to keep a result: for a run, or for whoever may use it again. */
export function isToKeep(model: Model, worker: ModelWorker, chunk: AttemptName): boolean {
  const has = ({ holders }: { readonly holders: readonly ModelWorker[] }) => holders.includes(worker);
  for (const { held } of model.made.values())
    if (held && has(held) && nameOf(held.chunk) === nameOf(chunk)) return true;
  for (const task of model.tasks()) if (has(task) && nameOf(chunkOf(task)) === nameOf(chunk)) return true;
  return false;
}

/** What a worker is told of the inputs of a task. */
export function givenOf(task: ModelTask): ModelTask["given"] {
  return task.inputs.map((input) => ({
    made: input.status === "completed" ? input.timesMade : input.timesMade + 1,
    chunk: chunkOf(sourceOf(input)),
    isStored: sourceOf(input).isStored,
    at: sourceOf(input).holders.map(({ spec }) => spec.id),
  }));
}

/** Of the inputs that a task was given, those that are still the last that were made. */
function unchangedInputs({ inputs, given }: ModelTask): ModelTask[] {
  return inputs.filter((input, at) => given[at]?.made === input.timesMade);
}

/** What was given to a worker because it makes this, directly or not. */
export function followersOf(task: ModelTask): ModelTask[] {
  const found = new Set<ModelTask>();
  const visit = (from: ModelTask) => {
    for (const reader of from.neededBy) {
      if (!reader.isAhead || found.has(reader)) continue;
      found.add(reader);
      visit(reader);
    }
  };
  visit(task);
  return task.run.tasks.filter((one) => found.has(one));
}

/** What results of a zone are known by: the function, its version, the arguments, and what it was made of. */
export function recipeOf(task: ModelTask): string | undefined {
  const { spec, zone, request, inputs } = task;
  if (!spec.cache || !task.run.hasData) return undefined;
  const of = inputs.map(({ resultHash }) => resultHash ?? null);
  return JSON.stringify([zone, spec.type, spec.cache, request, of]);
}

const REMEMBERED_MS = 20 * 3_600_000;

/** What the model remembers to have been made in the same way. */
export function madeBefore(model: Model, task: ModelTask, now: number): ModelResult | undefined {
  const known = model.made.get(recipeOf(task) ?? "");
  return known && now - known.at <= REMEMBERED_MS ? known : undefined;
}

export interface ModelResult {
  readonly taskId: string;
  readonly resultHash: string;
  readonly resultBytes: number;
  /** When it was made, or last used. */
  readonly at: number;
  /** The workers that keep it for whoever may use it again; undefined: it is stored with its task. */
  readonly held: { readonly chunk: AttemptName; readonly holders: readonly ModelWorker[] } | undefined;
}

/** What workers keep is not replaced. The latest comes last. */
export function remember(model: Model, recipe: string, result: ModelResult): void {
  if (model.made.get(recipe)?.held) return;
  model.made.delete(recipe);
  model.made.set(recipe, result);
}

/** Of what workers keep for whoever may use it again, what is to go next. */
export function nextToEvict({ made, settings, now }: Model): string | undefined {
  const kept = [...made].filter(([, { held }]) => held);
  const bytes = kept.reduce((sum, [, { resultBytes }]) => sum + resultBytes, 0);
  const [oldest] = kept;
  if (!oldest) return undefined;
  const [recipe, { at }] = oldest;
  return bytes > (settings.cacheBytes ?? 0) || now - at > REMEMBERED_MS ? recipe : undefined;
}

function noteTime({ times }: ModelRun, type: string, micros: number): void {
  const before = times.get(type);
  times.set(type, before === undefined ? micros : Math.floor((7 * before + micros) / 8));
}

/** A worker that has run a task has what it was given, but for a meta node. */
export function shareInputs(task: ModelTask, worker: ModelWorker): void {
  for (const input of task.spec.meta ? [] : unchangedInputs(task)) {
    const source = sourceOf(input);
    if (source.holders.length > 0 && !source.holders.includes(worker))
      source.holders = [...source.holders, worker];
  }
}

/** Where the result of an attempt is, and of what it was made. */
export function takeResult(model: Model, task: ModelTask, event: AttemptFinished, now: number): void {
  const { run, worker } = task;
  task.resultHash = event.resultHash;
  task.timesMade++;
  if (!run.hasData || !worker) return;
  task.isStored = !event.held;
  task.origin = undefined;
  task.isFound = false;
  task.holders = event.held ? [worker] : [];
  const unchanged = unchangedInputs(task);
  shareInputs(task, worker);
  const recipe = recipeOf(task);
  const { publicId: taskId } = task;
  const { resultHash, resultBytes, startedAt } = event;
  const held = event.held ? { chunk: chunkOf(task), holders: [worker] } : undefined;
  const isSmallEnough = !held || resultBytes <= (model.settings.cacheBytes ?? 0);
  if (recipe && isSmallEnough && unchanged.length === task.inputs.length)
    remember(model, recipe, { taskId, resultHash, resultBytes, at: now, held });
  if (startedAt >= 0) noteTime(run, task.spec.type, event.tookMicros ?? 1000 * Math.max(0, now - startedAt));
  if (!isBeside(worker, task)) worker.finishedAt = now;
}

/** Roots that take longer, in microseconds, are not left to the worker that they would go to. */
const WAIT_MICROS = 50_000;

/** Lanes of short roots in which the last are left to the workers that made those beside them, if nobody is held up. */
export function lanesThatMayWait(model: Model, now: number): Set<string> {
  const due = [...model.offered].filter((task) => isDue(task, now));
  const lanes = new Map<string, Set<string>>();
  for (const { groupKey, laneKey } of due)
    lanes.set(groupKey, (lanes.get(groupKey) ?? new Set()).add(laneKey));
  const mayWait = due.filter((task) => {
    const isShort = (task.run.times.get(task.spec.type) ?? 0) <= WAIT_MICROS;
    return isFreshRoot(task) && isShort && lanes.get(task.groupKey)?.size === 1;
  });
  return new Set(mayWait.map(({ laneKey }) => laneKey));
}

/** A node without inputs of a run with data, that was never tried: which of these goes first is a matter of its worker. */
export function isFreshRoot(task: ModelTask): boolean {
  return task.run.hasData && task.inputs.length === 0 && task.attempt === 0;
}
