import { invariant } from "../core/index.ts";
import type {
  AgentConfigured,
  AttemptFinished,
  LedgerEvent,
  QueuePaused,
  Report,
  RunParent,
  RunSubmitted,
  TaskAssigned,
  TaskSpeculated,
  TaskSubmitted,
  TasksWithdrawn,
  VoteTaken,
  WorkerLost,
  WorkerRegistered,
} from "../ledger/index.ts";
import { NO_RUN, nodeOfKey, runOfKey, taskKey, type Worker } from "../placement/index.ts";
import { CostWindow, type Limit } from "../queue/index.ts";
import { exhaust, recharge } from "./charges.ts";
import {
  borrow,
  expectedTime,
  isExcused,
  lacksInputs,
  loseChunk,
  loseData,
  makeReady,
  noteResult,
  recompute,
  reuse,
  share,
  takeTail,
} from "./data-events.ts";
import { forgetFollower, noteFollower } from "./followers.ts";
import { placeKey, zonedKey } from "./group.ts";
import { ROOM_PAUSE } from "./room.ts";
import type { Run } from "./run.ts";
import { Speculated } from "./speculated.ts";
import { DEFAULT_PERIOD_MS, type State } from "./state.ts";
import { Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";

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
      state.limit(event.zone, event.name).configure(event, now);
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
      const bytes = takeTail(run, event.node, state.run(event.child));
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
  state.backlog += run.unfinished;
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
  state.backlog++;
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
  const known = state.fleet.byId(event.worker.id);
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

function assign(state: State, event: TaskAssigned, now: number): void {
  const tasks = state.tasks(event.run);
  const { node } = event;
  const task = tasks.taskOf(node);
  const key = taskKey(event.run, node);
  const worker = state.worker(event.worker);
  const group = tasks.groupOf(node);
  tasks.withdraw(node);
  state.fleet.returned.delete(key);
  if (state.roomFor.get(group.zone) === key)
    state.roomAgainAt.set(group.zone, now + ROOM_PAUSE * task.estimateMs);
  state.unreserve(tasks, node);
  tasks.move(node, Status.assigned, state.seq, now);
  tasks.assignTo(node, event.attempt, event.worker);
  if (event.run !== NO_RUN) {
    const { data } = state.run(event.run);
    data?.territories.take(node, event.worker);
    data?.outdated.delete(node);
  }
  state.backlog--;
  if (lacksInputs(state, event.run, node)) {
    noteFollower(state.run(event.run), node);
    worker.ahead.add(key);
    return;
  }
  begin(state, tasks, node, worker, now);
}

/** From here on it counts: for its agent, its limits, and the room on its worker. */
function begin(state: State, tasks: Tasks, node: number, worker: Worker, now: number): void {
  const task = tasks.taskOf(node);
  const group = tasks.groupOf(node);
  state.shares.recordStart(group.shareKey);
  for (let at = 0; at < group.limits.length; at++) {
    const limit = group.limits[at] as Limit;
    limit.start(now, group.amounts[at] as number);
  }
  state.fleet.cursor = worker;
  worker.noteGiven(now);
  state.fleet.take(worker, taskKey(tasks.number, node), {
    cpuMillicores: task.cpuMillicores,
    memoryBytes: task.memoryBytes,
    expectedEndMs: now + task.estimateMs,
    ...expectedTime(state, tasks.number, task.type, now),
  });
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
  state.backlog--;
  run.speculations.set(node, new Speculated(because, first, count, now));
  for (let at = 0; at < count; at++) {
    const { number: task } = state.addAlternative(
      { run: number, node, at },
      state.nextTask++,
      state.seq,
      now,
    );
    state.backlog++;
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

/** What becomes of an alternative is kept for the vote. */
function noteAlternative(state: State, number: number, now: number, finished?: AttemptFinished): void {
  const { alternativeOf: of, spec, worker } = state.singles.get(number);
  if (!of) return;
  const speculated = state.runs.get(of.run)?.speculations.get(of.node);
  speculated?.end(of.at, { risk: spec.risk, worker, seq: state.seq, now }, finished);
}

/** Whatever an attempt holds is given back when it ends, however it ends. */
function release(state: State, tasks: Tasks, node: number): void {
  const key = taskKey(tasks.number, node);
  if (state.charges.size > 0) state.charges.delete(key);
  if (state.fleet.recalls.size > 0) state.fleet.recalls.delete(key);
  const worker = state.worker(tasks.workerOf(node));
  const run = state.runs.get(tasks.number);
  if (run?.data) run.data.followers.delete(node);
  if (worker.ahead.delete(key)) {
    forgetFollower(run as Run, node);
    return;
  }
  const group = tasks.groupOf(node);
  state.fleet.release(worker, key);
  state.shares.recordComplete(group.shareKey);
  for (let at = 0; at < group.limits.length; at++) {
    (group.limits[at] as Limit).end(group.amounts[at] as number);
  }
}

function finish(state: State, event: AttemptFinished, now: number): void {
  const tasks = state.tasks(event.run);
  const { node } = event;
  release(state, tasks, node);
  noteEnded(state, tasks, node, now);
  state.fleet.noteExecuted(state.worker(tasks.workerOf(node)), tasks.taskOf(node).type);
  noteCost(state, tasks, node, event.costMicros, now);
  tasks.move(node, Status.completed, state.seq, now);
  countEnded(state, tasks, node, Status.completed);
  if (event.run === NO_RUN) {
    noteAlternative(state, node, now, event);
    endSingle(state, node, true);
  } else {
    noteResult(state, state.run(event.run), event, now);
    completeNode(state, state.run(event.run), node, event.resultBytes, now);
  }
}

function completeNode(state: State, run: Run, node: number, resultBytes: number, now: number): void {
  run.resultBytes[node] = resultBytes;
  const { start, targets } = run.graph.dependents;
  const end = start[node + 1] as number;
  for (let edge = start[node] as number; edge < end; edge++) {
    const dependent = targets[edge] as number;
    if (!run.unblock(dependent)) continue;
    if (run.status[dependent] === Status.waiting) makeReady(state, run, dependent, now);
    else if (run.data) takePlace(state, run, dependent, now);
  }
}

/** The last input of a node that its worker was given ahead is there. */
function takePlace(state: State, run: Run, node: number, now: number): void {
  const worker = state.fleet.workers[run.workerOf(node)];
  if (!worker?.ahead.delete(taskKey(run.number, node))) return;
  begin(state, run, node, worker, now);
}

function withdrawFollowers(state: State, { run: number, nodes }: TasksWithdrawn, now: number): void {
  const run = state.run(number);
  for (const node of nodes) {
    release(state, run, node);
    run.excuse(node);
    run.move(node, Status.waiting, state.seq, now);
    state.backlog++;
  }
}

function noteCost(state: State, tasks: Tasks, node: number, micros: number | undefined, now: number): void {
  if (!micros) return;
  const { shareKey } = tasks.groupOf(node);
  let window = state.costs.get(shareKey);
  if (!window) {
    if (state.costs.size >= MAX_COSTS) forgetCosts(state, now);
    window = new CostWindow(state.config.costWindowMs);
    state.costs.set(shareKey, window);
  }
  window.add(now, micros);
}

/** Agents whose costs are remembered before those without any in the window are let go. */
const MAX_COSTS = 10_000;

function forgetCosts(state: State, now: number): void {
  for (const [key, window] of state.costs) if (window.sum(now) === 0) state.costs.delete(key);
}

function endAttempt(state: State, event: Report, now: number): void {
  const tasks = state.tasks(event.run);
  const key = taskKey(event.run, event.node);
  const wasRecalled = state.fleet.recalls.has(key);
  release(state, tasks, event.node);
  if (event.startedAt !== -1) noteEnded(state, tasks, event.node, now);
  if (event.kind === "AttemptLost" && event.startedAt === -1) {
    excuse(tasks, event.node);
    if (wasRecalled) state.fleet.returned.set(key, state.worker(tasks.workerOf(event.node)));
  }
  if (event.kind === "AttemptFailed") noteCost(state, tasks, event.node, event.costMicros, now);
  settle(state, tasks, event.node, now);
}

function noteEnded(state: State, tasks: Tasks, node: number, now: number): void {
  state.worker(tasks.workerOf(node)).noteEnded(now);
}

/** Beyond this many, attempts count again: a worker that drops all that it gets must not keep a task going for ever. */
const MAX_EXCUSED = 100;

function excuse(tasks: Tasks, node: number): void {
  if (tasks.uncountedOf(node) < MAX_EXCUSED) tasks.excuse(node);
}

function settle(state: State, tasks: Tasks, node: number, now: number): void {
  const cancelling = tasks.statusOf(node) === Status.cancelling;
  tasks.move(node, cancelling ? Status.settlingCancel : Status.settling, state.seq, now);
}

function retry(state: State, run: number, node: number, dueAt: number): void {
  const tasks = state.tasks(run);
  state.backlog++;
  if (lacksInputs(state, run, node)) {
    tasks.move(node, Status.waiting, state.seq, state.now);
    return;
  }
  tasks.move(node, Status.delayed, state.seq, dueAt);
  state.delay(tasks, node, dueAt);
  if (run === NO_RUN) state.watchDeadline(state.singles.get(node));
}

/** A task that will not run any more. */
function leave(state: State, tasks: Tasks, node: number, to: Status, now: number): void {
  const from = tasks.statusOf(node);
  const isCounted = from <= Status.delayed;
  if (isCounted) state.backlog--;
  if (from === Status.ready || from === Status.delayed) tasks.withdraw(node);
  state.fleet.returned.delete(taskKey(tasks.number, node));
  state.unreserve(tasks, node);
  tasks.move(node, to, state.seq, now);
  countEnded(state, tasks, node, to);
  if (tasks.number !== NO_RUN) return;
  noteAlternative(state, node, now);
  endSingle(state, node, false);
}

function countEnded(state: State, tasks: Tasks, node: number, status: Status): void {
  const totals = state.totalsOf(tasks.zoneOf(node));
  if (status === Status.completed) totals.completed++;
  else if (status === Status.failed) totals.failed++;
  else totals.cancelled++;
}

/** Its boost is paid for if it completed; then it is no longer part of the state. */
function endSingle(state: State, number: number, charge: boolean): void {
  const single = state.singles.get(number);
  const { reservedMicros, group } = single;
  if (reservedMicros > 0) {
    if (charge) state.credits.charge(group.shareKey, reservedMicros);
    else state.credits.release(group.shareKey, reservedMicros);
  }
  state.forgetSingle(single);
}
