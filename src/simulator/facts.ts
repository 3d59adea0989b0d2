import type {
  EventOf,
  LedgerEvent,
  Report,
  RunSubmitted,
  TaskAssigned,
  TaskRetried,
  TasksSkipped,
} from "../ledger/index.ts";
import type { WorkerSpec } from "../placement/index.ts";
import {
  aboutTask,
  describeTask,
  isDue,
  isEnded,
  isPlaced,
  isWaiting,
  type Model,
  type ModelRun,
  type ModelTask,
  type ModelWorker,
  modelRun,
  openDependents,
} from "./model.ts";
import { checkAssignment, checkOrder } from "./oracle.ts";
import { checkReservation } from "./reservations.ts";
import { demand } from "./violation.ts";

/** What a turn has done so far that later events of it may depend on. */
export interface TurnSoFar {
  /** A task was given to a worker that was kept free: what was passed over before may now have a place. */
  reservationUsed: boolean;
}

/** Takes an event into the model, if it may happen at all. */
export function takeFact(model: Model, event: LedgerEvent, now: number, turn: TurnSoFar): void {
  model.seq++;
  model.now = now;
  switch (event.kind) {
    case "SchedulerConfigured":
      model.config = event.config;
      break;
    case "RunSubmitted":
      submit(model, event, now);
      break;
    case "SubmissionsRefused":
      model.refused += event.count;
      break;
    case "WorkerRegistered":
      register(model, event.worker);
      break;
    case "WorkerLoadReported":
      reportLoad(model, workerOf(model, event.worker), event);
      break;
    case "DrainRequested":
      workerOf(model, event.worker).standing = "draining";
      workerOf(model, event.worker).reservedFor = undefined;
      break;
    case "WorkerLost":
      lose(workerOf(model, event.worker));
      break;
    case "AttemptStarted":
    case "AttemptFinished":
    case "AttemptFailed":
    case "AttemptTimedOut":
    case "AttemptLost":
    case "AttemptCancelled":
      report(model, event, now);
      break;
    case "ReportRefused":
      break;
    case "CancelRequested":
      if (event.node === -1) runOf(model, event.run).cancelAsked = true;
      else taskOf(model, event).cancelAsked = true;
      break;
    case "TaskAssigned":
      assign(model, event, now, turn);
      break;
    case "TaskRetried":
      retry(model, event, now);
      break;
    case "TaskFailed":
      fail(taskOf(model, event));
      break;
    case "TaskCancelled":
      cancel(model, taskOf(model, event));
      break;
    case "TasksSkipped":
      skip(model, event);
      break;
    case "CancelSignalled":
      signal(taskOf(model, event), event.attempt);
      break;
    case "ReservationMade":
      checkReservation(model, taskOf(model, event), event, now);
      workerOf(model, event.worker).reservedFor = taskOf(model, event);
      break;
    case "RunEnded":
      end(model, runOf(model, event.run), event);
      break;
  }
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

function runOf(model: Model, number: number): ModelRun {
  const run = model.runs.get(number);
  demand(run !== undefined, "known-run", () => `run ${number} is not known`, { run: number });
  return run;
}

function taskOf(model: Model, { run, node }: { readonly run: number; readonly node: number }): ModelTask {
  const task = runOf(model, run).tasks[node];
  demand(task !== undefined, "known-task", () => `run ${run} has no node ${node}`, { run });
  return task;
}

function workerOf(model: Model, number: number): ModelWorker {
  const worker = model.workers[number];
  demand(worker !== undefined, "known-worker", () => `worker ${number} never registered`);
  return worker;
}

function submit(model: Model, event: RunSubmitted, now: number): void {
  const run = modelRun(model.nextRun++, event, now);
  model.runs.set(run.number, run);
  for (const task of run.tasks) offerIfReady(model, task, now);
}

function offerIfReady(model: Model, task: ModelTask, now: number): void {
  if (task.status !== "waiting" || !task.needs.every(({ status }) => status === "completed")) return;
  task.status = "ready";
  task.since = now;
  model.offered.add(task);
}

function register(model: Model, spec: WorkerSpec): void {
  let worker = model.workers.find((one) => one.spec.id === spec.id);
  if (worker) lose(worker);
  else {
    worker = {
      number: model.workers.length,
      spec,
      standing: "open",
      registeredSeq: 0,
      freeCpu: 0,
      freeMemory: 0,
      held: new Set(),
      executed: new Set(),
      reservedFor: undefined,
    };
    model.workers.push(worker);
  }
  worker.spec = spec;
  worker.standing = "open";
  worker.registeredSeq = model.seq;
  worker.freeCpu = spec.cpuMillicores;
  worker.freeMemory = spec.memoryBytes;
  worker.executed.clear();
}

function reportLoad(model: Model, worker: ModelWorker, event: EventOf<"WorkerLoadReported">): void {
  worker.standing = isOverloaded(model, worker, event) ? "overloaded" : "open";
}

export function isOverloaded(
  { config }: Model,
  worker: ModelWorker,
  { loadPermille, saysOverloaded }: EventOf<"WorkerLoadReported">,
): boolean {
  const limit =
    worker.standing === "overloaded" ? config?.relievedBelowPermille : config?.overloadedAtPermille;
  return saysOverloaded || loadPermille >= (limit ?? 0);
}

function lose(worker: ModelWorker): void {
  for (const task of worker.held) endAttempt(task, true);
  worker.standing = "unreachable";
  worker.reservedFor = undefined;
}

/** The worker has back what the attempt took. */
function endAttempt(task: ModelTask, lost: boolean): void {
  const { worker } = task;
  if (worker?.held.delete(task)) {
    worker.freeCpu += task.spec.cpuMillicores;
    worker.freeMemory += task.spec.memoryBytes;
  }
  task.lost = lost;
  task.status = task.status === "cancelling" ? "settlingCancel" : "settling";
}

function report(model: Model, event: Report, now: number): void {
  const task = taskOf(model, event);
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

function assign(model: Model, event: TaskAssigned, now: number, turn: TurnSoFar): void {
  const task = taskOf(model, event);
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
  const worker = workerOf(model, event.worker);
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

function retry(model: Model, event: TaskRetried, now: number): void {
  const task = taskOf(model, event);
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

function fail(task: ModelTask): void {
  demand(
    task.status === "settling" && task.attempt === task.spec.maxAttempts,
    "failed-with-cause",
    () => `${describeTask(task)} of at most ${task.spec.maxAttempts} attempts was given up`,
    aboutTask(task),
  );
  task.status = "failed";
}

function cancel(model: Model, task: ModelTask): void {
  demand(
    task.status === "settlingCancel" || ((isWaiting(task) || task.status === "settling") && isToStop(task)),
    "cancelled-with-cause",
    () => `${describeTask(task)} was cancelled`,
    aboutTask(task),
  );
  withdraw(model, task);
  task.status = "cancelled";
}

function skip(model: Model, event: TasksSkipped): void {
  const cause = taskOf(model, event);
  const expected = [...openDependents(cause)].map(({ node }) => node).sort((a, b) => a - b);
  demand(
    (cause.status === "failed" || cause.status === "cancelled") && expected.join() === event.nodes.join(),
    "skipped-with-cause",
    () => `after ${describeTask(cause)}, ${event.nodes.join()} were skipped, ${expected.join()} hang on it`,
    aboutTask(cause),
  );
  for (const node of event.nodes) {
    const task = taskOf(model, { run: event.run, node });
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

function signal(task: ModelTask, attempt: number): void {
  demand(
    isPlaced(task) && task.status !== "cancelling" && task.attempt === attempt && isToStop(task),
    "signalled-with-cause",
    () => `attempt ${attempt} of ${describeTask(task)} was told to stop`,
    aboutTask(task),
  );
  task.status = "cancelling";
}

function end(model: Model, run: ModelRun, { outcome }: EventOf<"RunEnded">): void {
  const open = run.tasks.filter((task) => !isEnded(task));
  demand(
    open.length === 0 && run.outcome === undefined,
    "run-ends-once-at-the-end",
    () => `run ${run.number} ended with ${open.length} open tasks, before: ${run.outcome}`,
    { run: run.number },
  );
  const completed = run.tasks.every(({ status }) => status === "completed");
  const truth = run.cancelAsked ? "cancelled" : completed ? "completed" : "failed";
  demand(truth === outcome, "run-outcome", () => `run ${run.number} ended ${outcome}, is ${truth}`, {
    run: run.number,
  });
  run.outcome = outcome;
  model.ended.push(run);
  if (model.ended.length > (model.config?.keepEndedRuns ?? 0)) {
    model.runs.delete((model.ended.shift() as ModelRun).number);
  }
}
