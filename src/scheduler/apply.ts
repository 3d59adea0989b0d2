import { invariant } from "../core/index.ts";
import type {
  AgentConfigured,
  LedgerEvent,
  QueuePaused,
  RunParent,
  RunSubmitted,
  TaskSpeculated,
  TaskSubmitted,
  VoteTaken,
  WorkerLost,
  WorkerRegistered,
} from "../ledger/index.ts";
import { nodeOfKey, runOfKey, taskKey, type Worker } from "../placement/index.ts";
import {
  assign,
  completeNode,
  countEnded,
  endAttempt,
  excuse,
  finish,
  leave,
  noteEnded,
  release,
  retry,
  settle,
  withdrawFollowers,
} from "./attempt-events.ts";
import { exhaust, recharge } from "./charges.ts";
import {
  borrow,
  isExcused,
  loseChunk,
  loseData,
  makeReady,
  recompute,
  reuse,
  share,
  takeTail,
} from "./data-events.ts";
import { placeKey, zonedKey } from "./group.ts";
import { Speculated } from "./speculated.ts";
import { DEFAULT_PERIOD_MS, type State } from "./state.ts";
import { Status } from "./status.ts";

/** The only thing that changes a state. It decides nothing and refuses nothing: an event is a fact. */
export function apply(state: State, event: LedgerEvent, now: number): void {
  state.seq++;
  state.now = now;
  switch (event.kind) {
    case "SchedulerConfigured":
      state.configure(event.config);
      break;
    case "RunSubmitted":
      submitRun(state, event, now);
      break;
    case "TaskSubmitted":
      submitTask(state, event, now);
      break;
    case "ClockCorrected":
      state.correctClock(event.offsetMs);
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
      loseWorker(state, state.worker(event.worker), event.code, now);
      break;
    case "TaskRecalled":
      state.fleet.recalls.set(taskKey(event.run, event.node), { idle: event.idle, at: now });
      break;
    case "AttemptStarted":
      state.fleet.recalls.delete(taskKey(event.run, event.node));
      state.tasks(event.run).move(event.node, Status.running, state.seq, event.startedAt);
      break;
    case "AttemptFinished":
      finish(state, event, now);
      break;
    case "AttemptFailed":
    case "AttemptTimedOut":
    case "AttemptLost":
    case "AttemptCancelled":
      endAttempt(state, event, now);
      break;
    case "ReportRefused":
    case "AuditRecorded":
      break;
    case "CancelRequested":
      if (event.node === -1) state.run(event.run).cancelRequested = true;
      break;
    case "ChunkLost":
      loseChunk(state, event);
      break;
    case "RunReleased":
      state.run(event.run).data?.release();
      break;
    case "TaskBudgetExhausted":
      exhaust(state, event);
      break;
    case "TaskRecharged":
      recharge(state, event);
      break;
    case "AgentConfigured":
      configureAgent(state, event, now);
      break;
    case "ZoneConfigured":
      state.shares.setZoneMax(event.zone, event.max);
      break;
    case "LimitConfigured":
      state.configureLimit(event, now);
      break;
    case "CreditsGranted":
      state.credits.grant(zonedKey(event.zone, event.agent), event.micros);
      break;
    case "QueuePaused":
      pause(state, event);
      break;
    case "QueueResumed":
      state.paused.delete(placeKey(event.zone, event.executor));
      break;
    case "TaskAssigned":
      assign(state, event, now);
      break;
    case "TaskSpeculated":
      speculate(state, event, now);
      break;
    case "VoteTaken":
      takeVote(state, event, now);
      break;
    case "TaskRetried":
      retry(state, event.run, event.node, event.dueAt);
      break;
    case "TaskFailed":
      leave(state, state.tasks(event.run), event.node, Status.failed, now);
      break;
    case "TaskCancelled":
      leave(state, state.tasks(event.run), event.node, Status.cancelled, now);
      break;
    case "TasksSkipped":
      for (const node of event.nodes) leave(state, state.run(event.run), node, Status.skipped, now);
      break;
    case "TaskReused": {
      const run = state.run(event.run);
      reuse(state, event, now);
      countEnded(state, run, event.node, Status.completed);
      completeNode(state, run, event.node, event.resultBytes, now);
      break;
    }
    case "ExpansionEnded": {
      const run = state.run(event.run);
      const bytes = takeTail(state, run, event.node, state.run(event.child));
      run.move(event.node, Status.completed, state.seq, now);
      countEnded(state, run, event.node, Status.completed);
      completeNode(state, run, event.node, bytes, now);
      break;
    }
    case "TasksWithdrawn":
      withdrawFollowers(state, event, now);
      break;
    case "ChunksFreed":
      state.run(event.run).data?.free(event.nodes, state.run(event.run).resultBytes);
      break;
    case "CacheEvicted":
      state.cache.evict(event.key);
      break;
    case "NodesRecomputed":
      recompute(state, event, now);
      break;
    case "CancelSignalled":
      state.tasks(event.run).move(event.node, Status.cancelling, state.seq, now);
      break;
    case "RoomReserved":
      state.roomFor.set(state.tasks(event.run).zoneOf(event.node), taskKey(event.run, event.node));
      break;
    case "ReservationMade":
      state.fleet.reserve(state.worker(event.worker), taskKey(event.run, event.node));
      break;
    case "RunEnded": {
      const run = state.run(event.run);
      run.outcome = event.outcome;
      run.endedAt = now;
      const forgotten = state.forgottenBy(run);
      state.retire(run);
      state.endedRuns.push(run.number);
      for (const old of forgotten) {
        state.endedRuns.shift();
        state.forget(old);
      }
      break;
    }
  }
  if ("run" in event) {
    const run = state.runs.get(event.run);
    if (run) run.lastEventSeq = state.seq;
  }
}

function configureAgent(state: State, event: AgentConfigured, now: number): void {
  const { zone, agent, max, rateCount, ratePeriodMs = DEFAULT_PERIOD_MS } = event;
  const key = zonedKey(zone, agent);
  state.shares.setMax(key, max === -1 ? undefined : max);
  const rate = rateCount ? { count: rateCount, periodMs: ratePeriodMs } : null;
  state.rates.set(key, rateCount === undefined ? undefined : rate, now);
}

function submitRun(state: State, event: RunSubmitted, now: number): void {
  if (event.parent) expand(state, event.parent, now);
  else state.rates.take(zonedKey(event.zone, event.agent), now);
  const run = state.addRun(event, state.nextRun++, state.seq, now);
  state.accounts.wait(run.account, run.unfinished);
  for (const link of run.links.keys()) borrow(state, run, link);
  for (let node = 0; node < run.graph.size; node++) {
    if (run.pending[node] === 0 && !run.links.has(node) && run.status[node] === Status.waiting)
      makeReady(state, run, node, now);
  }
}

/** An attempt has ended by submitting a run. */
function expand(state: State, { run: number, node }: RunParent, now: number): void {
  const run = state.run(number);
  const worker = run.workerOf(node);
  release(state, run, node);
  noteEnded(state, run, node, now);
  state.fleet.noteExecuted(state.worker(worker), run.taskOf(node).type);
  share(run, node, worker);
  run.move(node, Status.expanded, state.seq, now);
}

function submitTask(state: State, event: TaskSubmitted, now: number): void {
  state.rates.take(zonedKey(event.zone, event.agent), now);
  const single = state.addSingle(event, state.nextTask++, state.seq, now);
  state.accounts.wait(single.group.account, 1);
  if (single.reservedMicros > 0) state.credits.reserve(single.group.shareKey, single.reservedMicros);
  if (single.status === Status.ready) state.singles.offer(single.number);
  else state.delay(state.singles, single.number, single.since);
}

/** A worker or room that was kept for what is paused would stand idle for as long as that lasts. */
function pause(state: State, { zone, executor }: QueuePaused): void {
  state.paused.add(placeKey(zone, executor));
  for (const key of [...state.fleet.reservations.keys(), ...state.roomFor.values()]) {
    const tasks = state.tasks(runOfKey(key));
    const { needs } = tasks.groupOf(nodeOfKey(key)).pool.demand;
    if (needs.zone === zone && (executor === "" || needs.executor === executor))
      state.unreserve(tasks, nodeOfKey(key));
  }
}

function registerWorker(state: State, event: WorkerRegistered, now: number): void {
  const known = state.fleet.continuedBy(event.worker);
  if (known) loseWorker(state, known, "restart", now);
  state.fleet.register(event.worker, state.seq);
}

function loseWorker(state: State, worker: Worker, code: WorkerLost["code"], now: number): void {
  loseData(state, worker, code);
  for (const key of [...worker.held.keys(), ...worker.ahead]) {
    const tasks = state.tasks(runOfKey(key));
    release(state, tasks, nodeOfKey(key));
    // Who leaves in order has ended what it began.
    const hadNotBegun = code === "left" && tasks.statusOf(nodeOfKey(key)) === Status.assigned;
    if (hadNotBegun || isExcused(state, tasks.number)) excuse(tasks, nodeOfKey(key));
    settle(state, tasks, nodeOfKey(key), now);
  }
  state.fleet.lose(worker, state.seq);
  if (code === "left") worker.hasLeft = true;
}

function speculate(
  state: State,
  { run: number, node, first, count, because }: TaskSpeculated,
  now: number,
): void {
  invariant(first === state.nextTask, "alternatives are numbered like other tasks of no run");
  const run = state.run(number);
  run.withdraw(node);
  state.fleet.returned.delete(taskKey(number, node));
  state.unreserve(run, node);
  run.move(node, Status.speculating, state.seq, now);
  state.accounts.wait(run.account, count - 1);
  run.speculations.set(node, new Speculated(because, first, count, now));
  for (let at = 0; at < count; at++) {
    const { number: task } = state.addAlternative(
      { run: number, node, at },
      state.nextTask++,
      state.seq,
      now,
    );
    state.singles.offer(task);
  }
}

/** The node has the result of the winner. Without one it fails by the event that follows. */
function takeVote(state: State, { run: number, node, winner, by, scores }: VoteTaken, now: number): void {
  const run = state.run(number);
  const speculated = run.speculations.get(node);
  invariant(speculated, "a vote is on alternatives");
  speculated.outcome = { winner, by, scores };
  run.lastSeq[node] = state.seq;
  if (winner === -1) return;
  run.move(node, Status.completed, state.seq, now);
  countEnded(state, run, node, Status.completed);
  const won = speculated.ends[winner];
  invariant(won, "an alternative that wins has ended");
  // A worker that began anew since no longer has the result.
  const isThere = won.worker >= 0 && state.worker(won.worker).registeredSeq < won.seq;
  run.worker[node] = isThere ? won.worker : -1;
  completeNode(state, run, node, won.resultBytes, now);
}
