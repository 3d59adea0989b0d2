import { hash32 } from "../core/index.ts";
import type {
  Report,
  TaskAssigned,
  TaskFailed,
  TaskRetried,
  TasksSkipped,
  VoteTaken,
} from "../ledger/index.ts";
import { checkFollower } from "./data-oracle.ts";
import { type Model, ofZone } from "./model.ts";
import { barriersOf } from "./model-admission.ts";
import { givenOf, hasResult, isWanted, MOST_EXCUSED, MOST_LOSSES, takeResult } from "./model-data.ts";
import { beginTask, countCompleted, endAttempt, leave, offerIfReady } from "./model-moves.ts";
import {
  aboutTask,
  describeTask,
  isDue,
  isEnded,
  isPlaced,
  isToStopAll,
  isWaiting,
  type ModelRun,
  type ModelTask,
  type ModelWorker,
} from "./model-tasks.ts";
import { checkAssignment, checkOrder } from "./oracle.ts";
import { isBeside } from "./places.ts";
import { noteEnded } from "./recalls.ts";
import { endAlternative, isOfNoUse, speculationOf, takeVote } from "./speculation.ts";
import { demand } from "./violation.ts";

export function isCurrent(task: ModelTask | undefined, kind: Report["kind"], attempt: number): boolean {
  if (!task || task.attempt !== attempt) return false;
  return kind === "AttemptStarted" ? task.status === "assigned" : isPlaced(task);
}

function isToStop(task: ModelTask): boolean {
  return task.cancelAsked || isToStopAll(task.run) || isOfNoUse(task);
}

/** It was to be made for nodes that were cancelled, or skipped since, and for nobody else. */
function isUnneeded(task: ModelTask): boolean {
  const isGone = ({ status }: ModelTask) => status === "cancelled" || status === "skipped";
  return task.readers.some(isGone) && task.neededBy.every(isEnded) && !isWanted(task);
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
    task.recall = undefined;
    return;
  }
  if (event.kind !== "AttemptLost" && event.kind !== "AttemptTimedOut") task.reported.add(event.attempt);
  const { recall } = task;
  endAttempt(task, endingOf(event));
  const worker = task.worker as ModelWorker;
  if ((event.kind === "AttemptFinished" || event.startedAt !== -1) && !isBeside(worker, task))
    noteEnded(worker, now);
  if (event.kind === "AttemptLost" && event.startedAt === -1) {
    if (task.uncounted < MOST_EXCUSED) task.uncounted++;
    if (recall) task.returnedBy = task.worker;
  }
  if ("costMicros" in event && event.costMicros) noteCost(model, task, now, event.costMicros);
  if (event.kind !== "AttemptFinished") return;
  task.status = "completed";
  endAlternative(model, task, now, event);
  task.resultBytes = event.resultBytes;
  task.worker?.executed.add(task.spec.type);
  takeResult(model, task, event, now);
  countCompleted(model, task, now);
}

export function assignTask(model: Model, event: TaskAssigned, now: number): void {
  const task = model.taskAt(event);
  const about = aboutTask(task);
  demand(
    event.attempt === task.attempt + 1 && made(task) < task.spec.maxAttempts,
    "attempts-count-up",
    () => `${describeTask(task)} of at most ${task.spec.maxAttempts} got attempt ${event.attempt}`,
    about,
  );
  if (event.reason.type === "Affinity" && event.reason.because === "Follows") {
    checkFollower(model, task, event, now);
    task.isAhead = true;
    giveTask(model, task, event, now);
    task.worker?.ahead.add(task);
    return;
  }
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
    task.deadline < 0 || now < task.deadline,
    "expired-never-starts",
    () => `${describeTask(task)} was assigned at ${now}, its deadline was ${task.deadline}`,
    about,
  );
  const barriers = barriersOf(model, task, now);
  demand(
    barriers.size === 0,
    "admitted",
    () => `${describeTask(task)} was assigned despite: ${[...barriers].join(", ")}`,
    about,
  );
  checkAssignment(model, task, event);
  const reserved = model.workers.find(({ reservedFor }) => reservedFor === task);
  const hasRoomKept = model.roomFor.get(task.zone) === task;
  if (model.unplaced.length > 0) {
    demand(
      model.unplaced.shift() === task,
      "alternatives-together",
      () => `${describeTask(task)} was assigned before all alternatives of a node`,
      about,
    );
  } else if (!reserved && !hasRoomKept) {
    checkOrder(model, task, now);
    demand(
      speculationOf(model, task, now) === undefined,
      "speculated-when-called-for",
      () => `${describeTask(task)} should be tried in several ways`,
      about,
    );
  }
  if (reserved) reserved.reservedFor = undefined;
  if (hasRoomKept) {
    model.roomFor.delete(task.zone);
    model.roomAgainAt.set(task.zone, now + 8 * task.spec.estimateMs);
  }
  const lacking = task.inputs.filter((input) => !hasResult(input));
  demand(
    !task.run.hasData || lacking.length === 0,
    "inputs-are-somewhere",
    () => `${describeTask(task)} was assigned, the results of ${lacking.map(describeTask).join()} are gone`,
    about,
  );
  giveTask(model, task, event, now);
  beginTask(model, task, now);
}

function giveTask(model: Model, task: ModelTask, { worker, attempt }: TaskAssigned, now: number): void {
  model.offered.delete(task);
  task.given = givenOf(task);
  task.status = "assigned";
  task.attempt = attempt;
  task.worker = model.workerAt(worker);
  task.assignedAt = now;
  task.returnedBy = undefined;
}

export function retryTask(model: Model, event: TaskRetried, now: number): void {
  const task = model.taskAt(event);
  const { backoffMs, maxAttempts } = task.spec;
  demand(
    task.status === "settling" && task.ending !== "fatal" && made(task) < maxAttempts && !isToStop(task),
    "retry-with-cause",
    () => `${describeTask(task)} of at most ${maxAttempts} attempts was retried`,
    aboutTask(task),
  );
  demand(
    !isPoison(task),
    "poison-is-given-up",
    () => `${describeTask(task)} is tried again after ${task.deaths} workers were lost with it`,
    aboutTask(task),
  );
  let waitMs = task.ending === "lost" ? 0 : backoffMs;
  for (let past = 1; past < made(task); past++) waitMs *= 2;
  waitMs = Math.min(waitMs, model.settings.maxBackoffMs);
  const share = hash32(task.publicId, task.attempt) % (model.settings.jitterPermille + 1);
  const dueAt = now + waitMs + Math.floor((waitMs * share) / 1000);
  demand(
    event.dueAt === dueAt,
    "retry-due",
    () => `${describeTask(task)} is due at ${event.dueAt} on record, at ${dueAt} in truth`,
    aboutTask(task),
  );
  demand(
    !hasDeadNeed(task),
    "retry-with-hope",
    () => `${describeTask(task)} is tried again, what it needs will not be made`,
    aboutTask(task),
  );
  // What it gets is being made again.
  if (!task.needs.every(({ status }) => status === "completed")) {
    task.status = "waiting";
    task.since = now;
    return;
  }
  task.status = "delayed";
  task.since = dueAt;
  model.offered.add(task);
}

export function failTask(model: Model, event: TaskFailed, now: number): void {
  const task = model.taskAt(event);
  demand(
    event.code === causeOfFailure(task, now),
    "failed-with-cause",
    () =>
      `${describeTask(task)} of at most ${task.spec.maxAttempts} attempts, deadline ${task.deadline}, was given up at ${now}: ${event.code}`,
    aboutTask(task),
  );
  model.withdraw(task);
  task.status = "failed";
  endAlternative(model, task, now);
  leave(model, task, "failed");
}

function causeOfFailure(task: ModelTask, now: number): TaskFailed["code"] | undefined {
  if (task.status === "speculating" && task.speculation?.escalated) return "escalated";
  if (task.standsFor && isWaiting(task)) return isDead(task.standsFor) ? "link" : undefined;
  if (isWaiting(task) && task.run.hasData) return task.breaches >= MOST_LOSSES ? "corrupt" : undefined;
  if (isWaiting(task)) return task.deadline >= 0 && task.deadline <= now ? "expired" : undefined;
  if (task.status === "expanded") return isLost(task.added) ? "expansion" : undefined;
  if (task.status !== "settling") return undefined;
  if (isPoison(task)) return "poison";
  if (task.ending === "fatal") return "fatal";
  return made(task) === task.spec.maxAttempts ? "attempts" : undefined;
}

function isLost(run: ModelRun | undefined): boolean {
  return run?.outcome === "failed" || run?.outcome === "cancelled";
}

/** So many workers were lost with it that it is the likely cause. */
function isPoison({ ending, deaths }: ModelTask): boolean {
  return ending === "lost" && deaths >= MOST_LOSSES;
}

export function cancelTask(model: Model, task: ModelTask, now: number): void {
  const { status } = task;
  const isOnNoWorker =
    isWaiting(task) || status === "settling" || status === "speculating" || status === "expanded";
  demand(
    task.status === "settlingCancel" || (isOnNoWorker && (isToStop(task) || isUnneeded(task))),
    "cancelled-with-cause",
    () => `${describeTask(task)} was cancelled`,
    aboutTask(task),
  );
  model.withdraw(task);
  task.status = "cancelled";
  endAlternative(model, task, now);
  leave(model, task, "cancelled");
}

export function voteOnTask(model: Model, event: VoteTaken, now: number): void {
  const task = takeVote(model, event, now);
  if (!task) return;
  leave(model, task, "completed");
  for (const dependent of task.neededBy) offerIfReady(model, dependent, now);
}

export function skipTasks(model: Model, event: TasksSkipped): void {
  const cause = model.taskAt(event);
  const expected = [...openDependents(cause)].map(({ node }) => node).sort((a, b) => a - b);
  demand(
    isDead(cause) && expected.join() === event.nodes.join(),
    "skipped-with-cause",
    () => `after ${describeTask(cause)}, ${event.nodes.join()} were skipped, ${expected.join()} hang on it`,
    aboutTask(cause),
  );
  for (const node of event.nodes) {
    const task = model.taskAt({ run: event.run, node });
    demand(
      isWaiting(task) || task.status === "settling" || task.status === "settlingCancel",
      "skipped-when-waiting",
      () => `${describeTask(task)} was skipped`,
      aboutTask(task),
    );
    model.withdraw(task);
    task.status = "skipped";
    leave(model, task, "cancelled");
  }
}

/** What it needs was there when it was given to a worker. */
export function hasBegun(task: ModelTask): boolean {
  return isPlaced(task) || task.status === "expanded";
}

/** Everything that hangs on a task, has neither ended nor begun: what is on a worker may have got what it needs. */
function openDependents(task: ModelTask): Set<ModelTask> {
  const found = new Set<ModelTask>();
  const visit = (from: ModelTask) => {
    for (const dependent of from.neededBy) {
      if (found.has(dependent) || isEnded(dependent) || hasBegun(dependent)) continue;
      found.add(dependent);
      visit(dependent);
    }
  };
  visit(task);
  return found;
}

export function signalTask(task: ModelTask, attempt: number): void {
  demand(
    isPlaced(task) &&
      task.status !== "cancelling" &&
      task.attempt === attempt &&
      (isToStop(task) || isUnneeded(task)),
    "signalled-with-cause",
    () => `attempt ${attempt} of ${describeTask(task)} was told to stop`,
    aboutTask(task),
  );
  task.status = "cancelling";
}

/** It will never complete. */
function isDead(task: ModelTask): boolean {
  return isEnded(task) && task.status !== "completed";
}

function hasDeadNeed({ needs }: ModelTask): boolean {
  return needs.some(isDead);
}

/** Attempts since it was submitted, or put back. */
function made(task: ModelTask): number {
  return task.attempt - task.uncounted;
}

function endingOf(event: Report): ModelTask["ending"] {
  if (event.kind === "AttemptLost") return "lost";
  return event.kind === "AttemptFailed" && event.retry === false ? "fatal" : "failed";
}

function noteCost(model: Model, { zone, agent }: ModelTask, at: number, micros: number): void {
  const key = ofZone(zone, agent);
  const costs = model.costs.get(key) ?? [];
  costs.push({ at: Math.max(at, costs.at(-1)?.at ?? 0), micros });
  model.costs.set(key, costs);
}
