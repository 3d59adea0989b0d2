import type { AttemptFinished, Report, TaskAssigned, TasksWithdrawn } from "../ledger/index.ts";
import { NO_RUN, takesNoSlot, taskKey, type Worker } from "../placement/index.ts";
import { CostWindow, type Limit } from "../queue/index.ts";
import { expectedMicros, lacksInputs, makeReady, noteResult } from "./data-events.ts";
import { forgetFollower, noteFollower } from "./followers.ts";
import { ROOM_PAUSE } from "./room.ts";
import type { Run } from "./run.ts";
import type { State } from "./state.ts";
import { Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";

export function assign(state: State, event: TaskAssigned, now: number): void {
  const tasks = state.tasks(event.run);
  const { node } = event;
  const task = tasks.taskOf(node);
  const key = taskKey(event.run, node);
  const worker = state.worker(event.worker);
  const group = tasks.groupOf(node);
  tasks.withdraw(node);
  if (state.fleet.returned.size > 0) state.fleet.returned.delete(key);
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
  state.accounts.wait(group.account, -1);
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
  const isIo = takesNoSlot(worker, task);
  if (!isIo) worker.noteGiven(now);
  const micros = expectedMicros(state, tasks.number, task.type);
  // Written out, not spread: it is made for every attempt.
  state.fleet.take(worker, taskKey(tasks.number, node), {
    cpuMillicores: task.cpuMillicores,
    memoryBytes: task.memoryBytes,
    expectedEndMs: now + task.estimateMs,
    since: micros === undefined ? undefined : now,
    micros,
    io: isIo ? true : undefined,
  });
}

/** What becomes of an alternative is kept for the vote. */
function noteAlternative(state: State, number: number, now: number, finished?: AttemptFinished): void {
  const { alternativeOf: of, spec, worker } = state.singles.get(number);
  if (!of) return;
  const speculated = state.runs.get(of.run)?.speculations.get(of.node);
  speculated?.end(of.at, { risk: spec.risk, worker, seq: state.seq, now }, finished);
}

/** Whatever an attempt holds is given back when it ends, however it ends. */
export function release(state: State, tasks: Tasks, node: number): void {
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

export function finish(state: State, event: AttemptFinished, now: number): void {
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

export function completeNode(state: State, run: Run, node: number, resultBytes: number, now: number): void {
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

export function withdrawFollowers(state: State, { run: number, nodes }: TasksWithdrawn, now: number): void {
  const run = state.run(number);
  for (const node of nodes) {
    release(state, run, node);
    run.excuse(node);
    run.move(node, Status.waiting, state.seq, now);
    state.accounts.wait(run.account, 1);
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

export function endAttempt(state: State, event: Report, now: number): void {
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

export function noteEnded(state: State, tasks: Tasks, node: number, now: number): void {
  const worker = state.worker(tasks.workerOf(node));
  if (!takesNoSlot(worker, tasks.taskOf(node))) worker.noteEnded(now);
}

/** Beyond this many, attempts count again: a worker that drops all that it gets must not keep a task going for ever. */
const MAX_EXCUSED = 100;

export function excuse(tasks: Tasks, node: number): void {
  if (tasks.uncountedOf(node) < MAX_EXCUSED) tasks.excuse(node);
}

export function settle(state: State, tasks: Tasks, node: number, now: number): void {
  const cancelling = tasks.statusOf(node) === Status.cancelling;
  tasks.move(node, cancelling ? Status.settlingCancel : Status.settling, state.seq, now);
}

export function retry(state: State, run: number, node: number, dueAt: number): void {
  const tasks = state.tasks(run);
  state.accounts.wait(tasks.groupOf(node).account, 1);
  if (lacksInputs(state, run, node)) {
    tasks.move(node, Status.waiting, state.seq, state.now);
    return;
  }
  tasks.move(node, Status.delayed, state.seq, dueAt);
  state.delay(tasks, node, dueAt);
  if (run === NO_RUN) state.watchDeadline(state.singles.get(node));
}

/** A task that will not run any more. */
export function leave(state: State, tasks: Tasks, node: number, to: Status, now: number): void {
  const from = tasks.statusOf(node);
  const isCounted = from <= Status.delayed;
  if (isCounted) state.accounts.wait(tasks.groupOf(node).account, -1);
  if (from === Status.ready || from === Status.delayed) tasks.withdraw(node);
  state.fleet.returned.delete(taskKey(tasks.number, node));
  state.unreserve(tasks, node);
  tasks.move(node, to, state.seq, now);
  countEnded(state, tasks, node, to);
  if (tasks.number !== NO_RUN) return;
  noteAlternative(state, node, now);
  endSingle(state, node, false);
}

export function countEnded(state: State, tasks: Tasks, node: number, status: Status): void {
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
