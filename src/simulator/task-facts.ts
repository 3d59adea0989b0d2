import type { Report, TaskAssigned, TaskRetried, TasksSkipped } from "../ledger/index.ts";
import {
  aboutTask,
  describeTask,
  isDue,
  isPlaced,
  isWaiting,
  type Model,
  type ModelRun,
  type ModelTask,
  type ModelWorker,
  openDependents,
} from "./model.ts";
import { checkAssignment, checkOrder } from "./oracle.ts";
import { demand } from "./violation.ts";

/** What a turn has done so far that later events of it may depend on. */
export interface TurnSoFar {
  /** A task was given to a worker that was kept free: what was passed over before may now have a place. */
  reservationUsed: boolean;
}

export function isCurrent(task: ModelTask | undefined, kind: Report["kind"], attempt: number): boolean {
  if (!task || task.attempt !== attempt) return false;
  return kind === "AttemptStarted" ? task.status === "assigned" : isPlaced(task);
}

/** Whether the scheduler has cause to stop all of a run. */
export function isToStopAll(run: ModelRun): boolean {
  return (
    run.cancelAsked || (run.onFailure === "cancel" && run.tasks.some(({ status }) => status === "failed"))
  );
}

function isToStop(task: ModelTask): boolean {
  return task.cancelAsked || isToStopAll(task.run);
}

/** All that it needs has completed. */
export function offerIfReady(model: Model, task: ModelTask, now: number): void {
  if (task.status !== "waiting" || !task.needs.every(({ status }) => status === "completed")) return;
  task.status = "ready";
  task.since = now;
  model.offered.add(task);
}

/** The worker has back what the attempt took. */
export function endAttempt(task: ModelTask, lost: boolean): void {
  const { worker } = task;
  if (worker?.held.delete(task)) {
    worker.freeCpu += task.spec.cpuMillicores;
    worker.freeMemory += task.spec.memoryBytes;
  }
  task.lost = lost;
  task.status = task.status === "cancelling" ? "settlingCancel" : "settling";
}

export function takeReport(model: Model, event: Report, now: number): void {
  const task = model.taskAt(event);
  const about = aboutTask(task);
  const said = () => `${event.kind} of attempt ${event.attempt} was accepted for ${describeTask(task)}`;
  if (event.kind === "AttemptFinished") demand(task.status !== "completed", "one-completion", said, about);
  if (event.kind === "AttemptStarted") demand(task.status !== "running", "one-start", said, about);
  demand(isCurrent(task, event.kind, event.attempt), "current-attempt", said, about);
  if (event.kind === "AttemptStarted") {
    task.status = "running";
    return;
  }
  if (event.kind !== "AttemptLost" && event.kind !== "AttemptTimedOut") task.reported.add(event.attempt);
  endAttempt(task, event.kind === "AttemptLost");
  if (event.kind !== "AttemptFinished") return;
  task.status = "completed";
  task.completedSeq = model.seq;
  task.resultBytes = event.resultBytes;
  task.worker?.executed.add(task.spec.type);
  for (const dependent of task.neededBy) offerIfReady(model, dependent, now);
}

export function assignTask(model: Model, event: TaskAssigned, now: number, turn: TurnSoFar): void {
  const task = model.taskAt(event);
  const about = aboutTask(task);
  const open = task.needs.filter(({ status }) => status !== "completed");
  demand(
    open.length === 0,
    "dependencies-first",
    () => `${describeTask(task)} was assigned, but it needs ${open.map(describeTask).join(", ")}`,
    about,
  );
  demand(
    !isPlaced(task),
    "one-live-attempt",
    () => `${describeTask(task)} was assigned while an attempt is live`,
    about,
  );
  demand(
    task.status !== "delayed" || task.since <= now,
    "retry-not-before-due",
    () => `${describeTask(task)} was assigned at ${now}, but is due at ${task.since}`,
    about,
  );
  demand(
    isDue(task, now),
    "assigned-when-ready",
    () => `${describeTask(task)} was assigned, but is not ready`,
    about,
  );
  demand(
    event.attempt === task.attempt + 1 && event.attempt <= task.spec.maxAttempts,
    "attempts-count-up",
    () => `${describeTask(task)} of at most ${task.spec.maxAttempts} got attempt ${event.attempt}`,
    about,
  );
  checkAssignment(model, task, event);
  const reserved = model.workers.find(({ reservedFor }) => reservedFor === task);
  if (reserved) {
    reserved.reservedFor = undefined;
    turn.reservationUsed = true;
  } else if (!turn.reservationUsed) checkOrder(model, task, now);
  const worker = model.workerAt(event.worker);
  model.offered.delete(task);
  model.cursor = worker;
  task.status = "assigned";
  task.attempt = event.attempt;
  task.worker = worker;
  task.expectedEndMs = now + task.spec.estimateMs;
  worker.held.add(task);
  worker.freeCpu -= task.spec.cpuMillicores;
  worker.freeMemory -= task.spec.memoryBytes;
  checkLimits(model, worker);
}

function checkLimits(model: Model, worker: ModelWorker): void {
  const about = { worker: worker.number };
  demand(worker.freeCpu >= 0, "cpu-limit", () => `worker ${worker.number} has ${worker.freeCpu} free`, about);
  demand(worker.freeMemory >= 0, "memory-limit", () => `worker ${worker.number} is short of memory`, about);
  demand(
    worker.held.size <= worker.spec.slots + (model.config?.maxQueuePerWorker ?? 0),
    "queue-limit",
    () => `worker ${worker.number} holds ${worker.held.size}`,
    about,
  );
}

export function retryTask(model: Model, event: TaskRetried, now: number): void {
  const task = model.taskAt(event);
  const { backoffMs, maxAttempts } = task.spec;
  demand(
    task.status === "settling" && task.attempt < maxAttempts && !isToStop(task),
    "retry-with-cause",
    () => `${describeTask(task)} of at most ${maxAttempts} attempts was retried`,
    aboutTask(task),
  );
  let waitMs = task.lost ? 0 : backoffMs;
  for (let past = 1; past < task.attempt; past++) waitMs *= 2;
  const dueAt = now + Math.min(waitMs, model.config?.maxBackoffMs ?? 0);
  demand(
    event.dueAt === dueAt,
    "retry-due",
    () => `${describeTask(task)} is due at ${event.dueAt} on record, at ${dueAt} in truth`,
    aboutTask(task),
  );
  task.status = "delayed";
  task.since = dueAt;
  model.offered.add(task);
}

export function failTask(task: ModelTask): void {
  demand(
    task.status === "settling" && task.attempt === task.spec.maxAttempts,
    "failed-with-cause",
    () => `${describeTask(task)} of at most ${task.spec.maxAttempts} attempts was given up`,
    aboutTask(task),
  );
  task.status = "failed";
}

export function cancelTask(model: Model, task: ModelTask): void {
  demand(
    task.status === "settlingCancel" || ((isWaiting(task) || task.status === "settling") && isToStop(task)),
    "cancelled-with-cause",
    () => `${describeTask(task)} was cancelled`,
    aboutTask(task),
  );
  withdraw(model, task);
  task.status = "cancelled";
}

export function skipTasks(model: Model, event: TasksSkipped): void {
  const cause = model.taskAt(event);
  const expected = [...openDependents(cause)].map(({ node }) => node).sort((a, b) => a - b);
  demand(
    (cause.status === "failed" || cause.status === "cancelled") && expected.join() === event.nodes.join(),
    "skipped-with-cause",
    () => `after ${describeTask(cause)}, ${event.nodes.join()} were skipped, ${expected.join()} hang on it`,
    aboutTask(cause),
  );
  for (const node of event.nodes) {
    const task = model.taskAt({ run: event.run, node });
    demand(
      isWaiting(task),
      "skipped-when-waiting",
      () => `${describeTask(task)} was skipped`,
      aboutTask(task),
    );
    withdraw(model, task);
    task.status = "skipped";
  }
}

function withdraw(model: Model, task: ModelTask): void {
  model.offered.delete(task);
  for (const worker of model.workers) if (worker.reservedFor === task) worker.reservedFor = undefined;
}

export function signalTask(task: ModelTask, attempt: number): void {
  demand(
    isPlaced(task) && task.status !== "cancelling" && task.attempt === attempt && isToStop(task),
    "signalled-with-cause",
    () => `attempt ${attempt} of ${describeTask(task)} was told to stop`,
    aboutTask(task),
  );
  task.status = "cancelling";
}
