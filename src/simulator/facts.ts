import type { EventOf, LedgerEvent, RunSubmitted, SchedulerConfig, TaskSubmitted } from "../ledger/index.ts";
import type { WorkerSpec } from "../placement/index.ts";
import { takeCharge } from "./charges.ts";
import {
  checkForgotten,
  evictCached,
  freeChunks,
  loseCopy,
  makeAgain,
  reuseResult,
  withdrawTasks,
} from "./data-facts.ts";
import { type Model, ofZone } from "./model.ts";
import { barriersOf, lastOfStep, setLimit } from "./model-admission.ts";
import { loseCopies, MOST_EXCUSED } from "./model-data.ts";
import { endGrowth, growBy } from "./model-growth.ts";
import { linkNodes } from "./model-links.ts";
import { endAttempt, offerIfReady, pay } from "./model-moves.ts";
import { adjustRate, noteSubmission, setAgentRate } from "./model-rates.ts";
import { isEnded, isOrphan, type ModelRun, type ModelWorker, modelRun, modelSingle } from "./model-tasks.ts";
import { takeRecall } from "./recalls.ts";
import { checkReservation } from "./reservations.ts";
import { checkRoomReserved } from "./rooms.ts";
import { speculateTask } from "./speculation.ts";
import {
  assignTask,
  cancelTask,
  failTask,
  retryTask,
  signalTask,
  skipTasks,
  takeReport,
  voteOnTask,
} from "./task-facts.ts";
import { demand } from "./violation.ts";

/** Takes an event into the model, if it may happen at all. */
export function takeFact(model: Model, event: LedgerEvent, now: number): void {
  model.seq++;
  model.now = now;
  demand(
    model.unplaced.length === 0 || event.kind === "TaskAssigned",
    "alternatives-together",
    () => `${event.kind} comes before all alternatives of a node are placed`,
  );
  switch (event.kind) {
    case "SchedulerConfigured":
      configure(model, event.config);
      break;
    case "ClockCorrected":
      // The simulated clock jumps under the driver instead; corrections have property tests of their own.
      throw new Error("nothing in a simulation corrects the clock");
    case "RunSubmitted":
      submit(model, event, now);
      break;
    case "TaskSubmitted":
      submitTask(model, event, now);
      break;
    case "SubmissionsRefused":
      model.refused += event.count;
      break;
    case "WorkerRegistered":
      register(model, event.worker);
      break;
    case "WorkerLoadReported":
      reportLoad(model, model.workerAt(event.worker), event);
      break;
    case "DrainRequested":
      model.workerAt(event.worker).standing = "draining";
      model.workerAt(event.worker).reservedFor = undefined;
      break;
    case "WorkerLost":
      lose(model, model.workerAt(event.worker), event.code);
      break;
    case "AttemptStarted":
    case "AttemptFinished":
    case "AttemptFailed":
    case "AttemptTimedOut":
    case "AttemptLost":
    case "AttemptCancelled":
      takeReport(model, event, now);
      break;
    case "ReportRefused":
    case "AuditRecorded":
      break;
    case "CancelRequested":
      if (event.node === -1) model.runAt(event.run).cancelAsked = true;
      else model.taskAt(event).cancelAsked = true;
      break;
    case "TaskBudgetExhausted":
    case "TaskRecharged":
      takeCharge(model, event);
      break;
    case "ChunkLost":
      loseCopy(model, event);
      break;
    case "RunReleased":
      model.runAt(event.run).isReleased = true;
      break;
    case "ChunksFreed":
      freeChunks(model, event);
      break;
    case "CacheEvicted":
      evictCached(model, event);
      break;
    case "TasksWithdrawn":
      withdrawTasks(model, event);
      break;
    case "TaskReused":
      reuseResult(model, event, now);
      break;
    case "TaskRecalled":
      takeRecall(model, event, now);
      break;
    case "ExpansionEnded":
      endGrowth(model, event, now);
      break;
    case "NodesRecomputed":
      makeAgain(model, event, now);
      break;
    case "AgentConfigured":
      set(model.agentMax, ofZone(event.zone, event.agent), event.max === -1 ? undefined : event.max);
      setAgentRate(model, event, now);
      break;
    case "ZoneConfigured":
      set(model.zoneMax, event.zone, event.max);
      break;
    case "LimitConfigured":
      setLimit(model, event, now);
      break;
    case "CreditsGranted":
      pay(model, ofZone(event.zone, event.agent), event.micros);
      break;
    case "QueuePaused":
      model.paused.add(ofZone(event.zone, event.executor));
      dropPaused(model);
      break;
    case "QueueResumed":
      model.paused.delete(ofZone(event.zone, event.executor));
      break;
    case "TaskAssigned":
      assignTask(model, event, now);
      break;
    case "TaskSpeculated":
      speculateTask(model, event, now);
      break;
    case "VoteTaken":
      voteOnTask(model, event, now);
      break;
    case "TaskRetried":
      retryTask(model, event, now);
      break;
    case "TaskFailed":
      failTask(model, event, now);
      break;
    case "TaskCancelled":
      cancelTask(model, model.taskAt(event), now);
      break;
    case "TasksSkipped":
      skipTasks(model, event);
      break;
    case "CancelSignalled":
      signalTask(model.taskAt(event), event.attempt);
      break;
    case "RoomReserved":
      checkRoomReserved(model, model.taskAt(event), now);
      model.roomFor.set(model.taskAt(event).zone, model.taskAt(event));
      break;
    case "ReservationMade":
      checkReservation(model, model.taskAt(event), event, now);
      model.workerAt(event.worker).reservedFor = model.taskAt(event);
      break;
    case "RunEnded":
      end(model, model.runAt(event.run), event);
      break;
  }
}

/**
 * Where the window of costs changes, what has left the old one stays out, and the rest counts from the last moment of
 * the step that it was kept in.
 */
function configure(model: Model, config: SchedulerConfig): void {
  const before = model.config;
  model.config = config;
  for (const key of [...model.submissions.keys()]) adjustRate(model, key, model.now);
  if (!before || before.costWindowMs === config.costWindowMs) return;
  for (const [key, costs] of model.costs) {
    const moved = costs.map(({ at, micros }) => ({ at: lastOfStep(at, before.costWindowMs), micros }));
    const kept = moved.filter(({ at }) => at > model.now - before.costWindowMs);
    model.costs.set(key, kept);
  }
}

function submit(model: Model, event: RunSubmitted, now: number): void {
  const addedBy = event.parent && growBy(model, event.parent, now);
  // What is added is part of what was submitted.
  if (!addedBy) noteSubmission(model, event, now);
  const run = modelRun(model.nextRun++, event, model.seq, now, addedBy);
  if (addedBy) addedBy.task.added = run;
  linkNodes(model, run, event.parent?.links ?? []);
  model.runs.set(run.number, run);
  for (const task of run.tasks) offerIfReady(model, task, now);
}

/** Nothing is kept for what is paused. */
function dropPaused(model: Model): void {
  for (const worker of model.workers) {
    const { reservedFor } = worker;
    if (reservedFor && barriersOf(model, reservedFor, model.now).has("pause")) worker.reservedFor = undefined;
  }
  for (const [zone, task] of [...model.roomFor]) {
    if (barriersOf(model, task, model.now).has("pause")) model.roomFor.delete(zone);
  }
}

function submitTask(model: Model, event: TaskSubmitted, now: number): void {
  noteSubmission(model, event, now);
  const task = modelSingle(model.nextTask++, event, model.seq, now, model.settings);
  const before = model.past.get(event.id);
  demand(
    (before !== undefined) === (event.requeued === true),
    "one-task-for-an-id",
    () => `${event.id} was submitted anew, before it was ${before?.status}`,
    { run: -1, node: task.node },
  );
  model.singles.set(task.node, task);
  model.offered.add(task);
}

function set(settings: Map<string, number | null>, key: string, max: number | null | undefined): void {
  if (max === undefined) settings.delete(key);
  else settings.set(key, max);
}

function register(model: Model, spec: WorkerSpec): void {
  let worker = model.workerById(spec.id);
  if (worker) lose(model, worker, "restart");
  else {
    worker = {
      number: model.workers.length,
      spec,
      standing: "open",
      registeredSeq: 0,
      lostSeq: 0,
      hasLeft: false,
      isForgotten: false,
      freeCpu: 0,
      freeMemory: 0,
      held: new Set(),
      ahead: new Set(),
      executed: new Set(),
      finishedAt: 0,
      pace: undefined,
      reservedFor: undefined,
    };
    model.workers.push(worker);
  }
  worker.spec = spec;
  worker.standing = "open";
  worker.hasLeft = false;
  worker.registeredSeq = model.seq;
  worker.freeCpu = spec.cpuMillicores;
  worker.freeMemory = spec.memoryBytes;
  worker.executed.clear();
  worker.pace = undefined;
  forgetLost(model);
}

/** Beyond so many lost workers the one that was lost first is forgotten, one whenever another comes. */
function forgetLost(model: Model): void {
  const lost = model.workers.filter(
    ({ standing, isForgotten }) => standing === "unreachable" && !isForgotten,
  );
  if (lost.length <= model.settings.keepLostWorkers) return;
  const first = lost.reduce((one, other) => (other.lostSeq < one.lostSeq ? other : one));
  first.isForgotten = true;
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

function lose(model: Model, worker: ModelWorker, code: EventOf<"WorkerLost">["code"]): void {
  loseCopies(model, worker, code === "left");
  for (const task of [...worker.held, ...worker.ahead]) {
    const isExcused = task.run.hasData && task.uncounted < MOST_EXCUSED;
    if (isExcused || (!task.run.hasData && code === "left" && task.status === "assigned")) task.uncounted++;
    endAttempt(task, "lost");
  }
  if (worker.standing !== "unreachable") worker.lostSeq = model.seq;
  worker.standing = "unreachable";
  if (code === "left") worker.hasLeft = true;
  worker.reservedFor = undefined;
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
  const truth = run.cancelAsked || isOrphan(run) ? "cancelled" : completed ? "completed" : "failed";
  demand(truth === outcome, "run-outcome", () => `run ${run.number} ended ${outcome}, is ${truth}`, {
    run: run.number,
  });
  run.outcome = outcome;
  model.ended.push(run);
  if (model.ended.length > model.mostEnded(run)) {
    const forgotten = model.ended.shift() as ModelRun;
    checkForgotten(forgotten);
    model.runs.delete(forgotten.number);
  }
}
