import type { TaskAssigned } from "../ledger/index.ts";
import type { Reason } from "../placement/index.ts";
import type { Model } from "./model.ts";
import { barriersOf } from "./model-admission.ts";
import { isHeldBy, sourceOf } from "./model-data.ts";
import { aboutTask, describeTask, type ModelTask, type ModelWorker } from "./model-tasks.ts";
import { hasPlace, inSlots, isBeside } from "./places.ts";
import { demand } from "./violation.ts";

/** A worker that has inputs may queue so many beyond those that others may. */
export const NEAR_QUEUE = 16;
/** What may be given ahead, in microseconds together, and in number. */
const AHEAD_MICROS = 50_000;
const MOST_AHEAD = 64;

/** Inputs that are on workers decide where a task goes; for a meta node none of them is brought. */
export function heldInputs(task: ModelTask): ModelTask[] {
  return task.spec.meta ? [] : task.inputs.filter((input) => sourceOf(input).holders.length > 0);
}

export function isNearQueue({ settings }: Model, worker: ModelWorker, task: ModelTask): boolean {
  const { freeCpu, freeMemory, reservedFor } = worker;
  return (
    heldInputs(task).some((input) => isHeldBy(input, worker)) &&
    !isBeside(worker, task) &&
    hasPlace(worker, task, settings.maxQueuePerWorker + NEAR_QUEUE) &&
    reservedFor === undefined &&
    task.spec.cpuMillicores <= freeCpu &&
    task.spec.memoryBytes <= freeMemory
  );
}

/** D-05: what is there, less what has to be brought, less the wait, all in microseconds. */
export function nearnessOf(model: Model, worker: ModelWorker, task: ModelTask): number {
  const { perInput, perKib } = model.settings.transferRates ?? { perInput: 1_000, perKib: 10 };
  const worth = (inputs: readonly ModelTask[]) =>
    inputs.length * perInput + Math.floor((bytesOf(inputs) * perKib) / 1024);
  const held = heldInputs(task);
  const has = held.filter((input) => isHeldBy(input, worker));
  const lacks = held.filter((input) => !isHeldBy(input, worker));
  const wait = waitOf(worker, task, model.now);
  const unsure = (task.run.times.get(task.spec.type) ?? 0) + Math.floor(wait / 8);
  return worth(has) - worth(lacks) - (lacks.length === 0 ? 0 : unsure) - wait;
}

/**
 * Until all that it holds has ended, divided among its slots. The first have run since they were placed and the last one ended;
 * of these, what is late takes as long again, at most an hour.
 */
function waitOf(worker: ModelWorker, of: ModelTask, now: number): number {
  const { spec, finishedAt } = worker;
  const held = inSlots(worker);
  if (held.length < spec.slots || isBeside(worker, of)) return 0;
  const remaining = held.map((task, at) => {
    if (!task.run.hasData) return 1_000 * Math.max(0, task.expectedEndMs - now);
    if (at >= spec.slots) return task.expectedMicros;
    const elapsed = 1_000 * (now - Math.max(task.placedAt, finishedAt));
    return Math.max(task.expectedMicros - elapsed, Math.min(elapsed, 3_600_000_000));
  });
  return Math.floor(remaining.reduce((sum, one) => sum + one, 0) / spec.slots);
}

function bytesOf(tasks: readonly ModelTask[]): number {
  return tasks.reduce((sum, { resultBytes }) => sum + resultBytes, 0);
}

export function nearnessReason(
  model: Model,
  task: ModelTask,
  best: ModelWorker,
  second: ModelWorker,
): Reason {
  const held = heldInputs(task);
  const heldBytes = bytesOf(held.filter((input) => isHeldBy(input, best)));
  return {
    type: "DataAffinity",
    heldBytes,
    movedBytes: bytesOf(held) - heldBytes,
    waitMicros: waitOf(best, task, model.now),
    leadMicros: nearnessOf(model, best, task) - nearnessOf(model, second, task),
  };
}

/**
 * A task was given to a worker that is still making what it needs: all of that is there, and nothing else waits for it;
 * the task is short, may start, and fits into the place that any of these leaves.
 */
export function checkFollower(model: Model, task: ModelTask, event: TaskAssigned, now: number): void {
  const about = { ...aboutTask(task), worker: event.worker };
  const worker = model.workerAt(event.worker);
  const broken = (what: string) => () =>
    `${describeTask(task)} was given ahead to worker ${event.worker}: ${what}`;
  const open = task.needs.filter(({ status }) => status !== "completed");
  demand(open.length > 0, "follows-open-inputs", broken("nothing is to come"), about);
  demand(!task.spec.meta, "meta-after-inputs", broken("it needs to know what its inputs are"), about);
  demand(task.status === "waiting", "follows-when-waiting", broken("it does not wait"), about);
  for (const need of open) {
    const isThere = need.worker === worker && (need.status === "assigned" || need.status === "running");
    demand(isThere, "follows-what-is-made-there", broken(`${describeTask(need)} is not made there`), about);
    demand(task.inputs.includes(need), "follows-inputs", broken(`${need.node} is no input`), about);
    const taken = need.readers.some(({ isAhead }) => isAhead);
    demand(!taken, "follows-alone", broken(`another takes the place of ${need.node}`), about);
    const fits =
      task.spec.cpuMillicores <= need.spec.cpuMillicores && task.spec.memoryBytes <= need.spec.memoryBytes;
    const isAlike = isBeside(worker, task) === isBeside(worker, need);
    demand(
      fits && isAlike,
      "follows-into-its-place",
      broken(`${describeTask(need)} leaves too little room`),
      about,
    );
  }
  const serves = couldServe(worker, task) && worker.standing === "open" && worker.reservedFor === undefined;
  demand(serves, "follows-where-it-may-run", broken("the worker does not take it"), about);
  const micros = task.run.times.get(task.spec.type) ?? Number.POSITIVE_INFINITY;
  const isShort = (worker.ahead.size + 1) * micros <= AHEAD_MICROS && worker.ahead.size < MOST_AHEAD;
  demand(isShort, "follows-if-short", broken("it takes too long to be given ahead"), about);
  const barriers = barriersOf(model, task, now);
  const isBarred = barriers.has("pause") || task.spec.limits.length > 0 || task.run.cancelAsked;
  demand(!isBarred, "follows-if-admitted", broken(`despite ${[...barriers].join()}`), about);
}

function couldServe({ spec }: ModelWorker, task: ModelTask): boolean {
  return (
    spec.executors.includes(task.spec.executor) &&
    (spec.zone === task.zone || spec.zones.includes(task.zone)) &&
    task.spec.capabilities.every((capability) => spec.capabilities.includes(capability))
  );
}
