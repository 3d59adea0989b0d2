import type { RunOutcome } from "../ledger/index.ts";
import { NEAR_QUEUE } from "./data-oracle.ts";
import { type Model, ofZone } from "./model.ts";
import { noteStart } from "./model-admission.ts";
import { type ModelTask, type ModelWorker, noCharge } from "./model-tasks.ts";
import { inSlots, isBeside } from "./places.ts";
import { noteGiven } from "./recalls.ts";
import { demand } from "./violation.ts";

/** All that it needs has completed. */
export function offerIfReady(model: Model, task: ModelTask, now: number): void {
  if (
    task.status !== "waiting" ||
    task.standsFor ||
    !task.needs.every(({ status }) => status === "completed")
  )
    return;
  task.status = "ready";
  task.since = now;
  task.readyAt = now;
  model.offered.add(task);
}

/** The worker has back what the attempt took. */
export function endAttempt(task: ModelTask, ending: ModelTask["ending"]): void {
  const { worker } = task;
  worker?.ahead.delete(task);
  task.isAhead = false;
  if (worker?.held.delete(task)) {
    worker.freeCpu += task.spec.cpuMillicores;
    worker.freeMemory += task.spec.memoryBytes;
  }
  task.ending = ending;
  task.charge = noCharge();
  task.recall = undefined;
  task.status = task.status === "cancelling" ? "settlingCancel" : "settling";
}

/** From here on it counts: for its agent, its limits, and the room on its worker. */
export function beginTask(model: Model, task: ModelTask, now: number): void {
  const worker = task.worker as ModelWorker;
  noteStart(model, task, now);
  model.cursor = worker;
  if (!isBeside(worker, task)) noteGiven(worker, now);
  task.expectedEndMs = now + task.spec.estimateMs;
  task.placedAt = now;
  task.expectedMicros = task.run.times.get(task.spec.type) ?? 100_000;
  worker.held.add(task);
  worker.freeCpu -= task.spec.cpuMillicores;
  worker.freeMemory -= task.spec.memoryBytes;
  checkLimits(model, worker);
}

function checkLimits(model: Model, worker: ModelWorker): void {
  const about = { worker: worker.number };
  demand(worker.freeCpu >= 0, "cpu-limit", () => `worker ${worker.number} has ${worker.freeCpu} free`, about);
  demand(worker.freeMemory >= 0, "memory-limit", () => `worker ${worker.number} is short of memory`, about);
  const { length } = inSlots(worker);
  demand(
    length <= worker.spec.slots + queueOf(model),
    "queue-limit",
    () => `worker ${worker.number} holds ${length}`,
    about,
  );
  const beside = worker.held.size - length;
  demand(
    beside <= (worker.spec.ioSlots ?? 0),
    "io-limit",
    () => `worker ${worker.number} has ${beside} beside its slots`,
    about,
  );
}

/** What is near its inputs may stand in a longer queue. */
function queueOf({ settings: { maxQueuePerWorker }, runs }: Model): number {
  const hasData = [...runs.values()].some((run) => run.hasData);
  return hasData ? maxQueuePerWorker + NEAR_QUEUE : maxQueuePerWorker;
}

/** It has a result: what waited for it goes on. */
export function countCompleted(model: Model, task: ModelTask, now: number): void {
  leave(model, task, "completed");
  // Should it be made again, that is for others.
  task.cancelAsked = false;
  task.completedSeq = model.seq;
  for (const dependent of task.neededBy) offerIfReady(model, dependent, now);
  beginFollowers(model, task, now);
}

/** What waited on a worker for its last input takes the place of what made it. */
function beginFollowers(model: Model, task: ModelTask, now: number): void {
  for (const next of task.neededBy) {
    if (!next.isAhead || !next.needs.every(({ status }) => status === "completed")) continue;
    next.isAhead = false;
    next.worker?.ahead.delete(next);
    beginTask(model, next, now);
  }
}

/** It has ended for good: counted once, its boost paid for if it completed, and no longer in the state if alone. */
export function leave(model: Model, task: ModelTask, how: RunOutcome): void {
  model.countEnd(task.zone, how);
  if (how !== "completed") task.borrows = false;
  if (!task.isAlone) return;
  model.singles.delete(task.node);
  if (task.submission) model.past.set(task.publicId, task);
  if (how === "completed") pay(model, ofZone(task.zone, task.agent), -task.reservedMicros);
}

export function pay(model: Model, key: string, micros: number): void {
  const balance = (model.credits.get(key) ?? 0) + micros;
  demand(balance >= 0, "credits-never-negative", () => `${JSON.stringify(key)} owns ${balance}`);
  model.credits.set(key, balance);
}
