import type { LedgerEvent, Report, RunSubmitted, TaskAssigned, WorkerRegistered } from "../ledger/index.ts";
import { nodeOfKey, runOfKey, taskKey, type Worker } from "../placement/index.ts";
import type { Run } from "./run.ts";
import type { State } from "./state.ts";
import { Status } from "./status.ts";

/** The only thing that changes a state. It decides nothing and refuses nothing: an event is a fact. */
export function apply(state: State, event: LedgerEvent, now: number): void {
  state.seq++;
  state.now = now;
  switch (event.kind) {
    case "SchedulerConfigured":
      state.config = event.config;
      state.fleet.configure(event.config);
      break;
    case "RunSubmitted":
      submitRun(state, event, now);
      break;
    case "SubmissionsRefused":
      state.refused += event.count;
      break;
    case "WorkerRegistered":
      registerWorker(state, event, now);
      break;
    case "WorkerLoadReported":
      state.fleet.reportLoad(state.worker(event.worker), event.loadPermille, event.saysOverloaded);
      break;
    case "DrainRequested":
      state.fleet.drain(state.worker(event.worker));
      break;
    case "WorkerLost":
      loseWorker(state, state.worker(event.worker), now);
      break;
    case "AttemptStarted":
      state.run(event.run).move(event.node, Status.running, state.seq, event.startedAt);
      break;
    case "AttemptFinished":
      finish(state, event.run, event.node, event.resultBytes, now);
      break;
    case "AttemptFailed":
    case "AttemptTimedOut":
    case "AttemptLost":
    case "AttemptCancelled":
      endAttempt(state, event, now);
      break;
    case "ReportRefused":
      break;
    case "CancelRequested":
      if (event.node === -1) state.run(event.run).cancelRequested = true;
      break;
    case "TaskAssigned":
      assign(state, event, now);
      break;
    case "TaskRetried":
      state.backlog++;
      state.run(event.run).move(event.node, Status.delayed, state.seq, event.dueAt);
      state.delay(state.run(event.run), event.node, event.dueAt);
      break;
    case "TaskFailed":
      state.run(event.run).move(event.node, Status.failed, state.seq, now);
      break;
    case "TaskCancelled":
      leave(state, state.run(event.run), event.node, Status.cancelled, now);
      break;
    case "TasksSkipped":
      for (const node of event.nodes) leave(state, state.run(event.run), node, Status.skipped, now);
      break;
    case "CancelSignalled":
      state.run(event.run).move(event.node, Status.cancelling, state.seq, now);
      break;
    case "ReservationMade":
      state.fleet.reserve(state.worker(event.worker), taskKey(event.run, event.node));
      break;
    case "RunEnded": {
      const run = state.run(event.run);
      run.outcome = event.outcome;
      run.endedAt = now;
      state.closeLanes(run);
      state.endedRuns.push(run.number);
      if (state.endedRuns.length > state.config.keepEndedRuns) {
        state.forget(state.run(state.endedRuns.shift() as number));
      }
      break;
    }
  }
  if ("run" in event) {
    const run = state.runs.get(event.run);
    if (run) run.lastEventSeq = state.seq;
  }
}

function submitRun(state: State, event: RunSubmitted, now: number): void {
  const run = state.addRun(event, state.nextRun++, state.seq, now);
  state.backlog += run.unfinished;
  for (let node = 0; node < run.graph.size; node++) {
    if (run.pending[node] === 0 && run.status[node] === Status.waiting) makeReady(state, run, node, now);
  }
}

function makeReady(state: State, run: Run, node: number, now: number): void {
  run.move(node, Status.ready, state.seq, now);
  state.offer(run, node);
}

function registerWorker(state: State, event: WorkerRegistered, now: number): void {
  const known = state.fleet.byId(event.worker.id);
  if (known) loseWorker(state, known, now);
  state.fleet.register(event.worker, state.seq);
}

function loseWorker(state: State, worker: Worker, now: number): void {
  for (const key of worker.held.keys()) {
    state.fleet.release(worker, key);
    settle(state, state.run(runOfKey(key)), nodeOfKey(key), now);
  }
  state.fleet.lose(worker);
}

function assign(state: State, event: TaskAssigned, now: number): void {
  const run = state.run(event.run);
  const { node } = event;
  const task = run.graph.taskOf(node);
  const key = taskKey(run.number, node);
  const worker = state.worker(event.worker);
  state.withdraw(run, node);
  state.fleet.unreserve(key);
  run.move(node, Status.assigned, state.seq, now);
  run.attempt[node] = event.attempt;
  run.worker[node] = event.worker;
  state.backlog--;
  state.fleet.cursor = worker;
  state.fleet.take(worker, key, {
    cpuMillicores: task.cpuMillicores,
    memoryBytes: task.memoryBytes,
    expectedEndMs: now + task.estimateMs,
  });
}

function finish(state: State, runNumber: number, node: number, resultBytes: number, now: number): void {
  const run = state.run(runNumber);
  const worker = state.worker(run.worker[node] as number);
  state.fleet.release(worker, taskKey(runNumber, node));
  state.fleet.noteExecuted(worker, run.graph.taskOf(node).type);
  run.move(node, Status.completed, state.seq, now);
  run.resultBytes[node] = resultBytes;
  const { start, targets } = run.graph.dependents;
  const end = start[node + 1] as number;
  for (let edge = start[node] as number; edge < end; edge++) {
    const dependent = targets[edge] as number;
    const left = --(run.pending[dependent] as number);
    if (left === 0 && run.status[dependent] === Status.waiting) makeReady(state, run, dependent, now);
  }
}

function endAttempt(state: State, event: Report, now: number): void {
  const run = state.run(event.run);
  state.fleet.release(state.worker(run.worker[event.node] as number), taskKey(event.run, event.node));
  settle(state, run, event.node, now);
}

function settle(state: State, run: Run, node: number, now: number): void {
  const cancelling = run.statusOf(node) === Status.cancelling;
  run.move(node, cancelling ? Status.settlingCancel : Status.settling, state.seq, now);
}

/** A task that will not run any more. */
function leave(state: State, run: Run, node: number, to: Status, now: number): void {
  const from = run.statusOf(node);
  if (from !== Status.settling && from !== Status.settlingCancel) state.backlog--;
  if (from === Status.ready || from === Status.delayed) state.withdraw(run, node);
  state.fleet.unreserve(taskKey(run.number, node));
  run.move(node, to, state.seq, now);
}
