import { invariant } from "../core/index.ts";
import { type TaskSpec, taskSpecOf } from "../graph/index.ts";
import type { RunSubmitted } from "../ledger/index.ts";
import { forgottenSpec, Worker } from "../placement/index.ts";
import { CostWindow, Credits, FairShare } from "../queue/index.ts";
import { borrow, seekResult } from "./data-events.ts";
import type { Run } from "./run.ts";
import { Result } from "./run-data.ts";
import type {
  RunSnapshot,
  SingleSnapshot,
  Snapshot,
  SpeculatedSnapshot,
  WorkerSnapshot,
} from "./snapshot.ts";
import { Speculated } from "./speculated.ts";
import { State } from "./state.ts";
import { isEnded, Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";

export function restore(snapshot: Snapshot): State {
  const state = new State();
  state.seq = snapshot.seq;
  state.now = snapshot.now;
  state.clockOffsetMs = snapshot.clockOffsetMs ?? 0;
  state.configure(snapshot.config);
  state.nextRun = snapshot.nextRun;
  state.nextTask = snapshot.nextTask;
  state.refused = snapshot.refused;
  state.endedRuns.push(...snapshot.endedRuns);
  for (const [number, saved] of snapshot.workers.entries()) state.fleet.adopt(restoreWorker(number, saved));
  state.fleet.cursor = state.fleet.workers[snapshot.cursor];
  for (const [key, idle, at] of snapshot.recalls ?? []) state.fleet.recalls.set(key, { idle, at });
  for (const [key, worker] of snapshot.returned ?? []) state.fleet.returned.set(key, state.worker(worker));
  state.shares = FairShare.restore(snapshot.shares);
  state.rates.restore(snapshot.rates);
  state.cache.restore(snapshot.cache ?? []);
  state.credits = Credits.restore(snapshot.credits);
  for (const [key, cost] of snapshot.costs) state.costs.set(key, CostWindow.restore(cost));
  for (const [key, limit] of snapshot.limits) state.restoreLimit(key, limit);
  for (const [zone, key] of snapshot.roomFor ?? []) state.roomFor.set(zone, key);
  for (const [zone, at] of snapshot.roomAgainAt ?? []) state.roomAgainAt.set(zone, at);
  for (const key of snapshot.paused) state.paused.add(key);
  for (const [zone, totals] of snapshot.totals) state.totals.set(zone, { ...totals });
  for (const [key, [recharges, amounts, lacks]] of snapshot.charges ?? [])
    state.charges.set(key, { recharges, amounts, lacks: lacks ?? undefined });
  for (const saved of snapshot.runs) restoreRun(state, saved);
  for (const run of state.dataRuns) for (const link of run.links.keys()) restoreLink(state, run, link);
  const specs = (snapshot.specs ?? []).map(taskSpecOf);
  for (const saved of snapshot.singles) restoreSingle(state, specs, saved);
  return state;
}

function restoreSingle(state: State, specs: readonly TaskSpec[], saved: SingleSnapshot): void {
  const [number, id, agent, zone, at, requestState, boostMicros, reservedMicros, ...more] = saved;
  const [deadline, requestHash, submittedAt, seq, readyAt, tier, ofClass, attemptsBefore, ...last] = more;
  const [status, attempt, excused, worker, since, lastSeq, alternativeOf] = last;
  const wanted = specs[at];
  invariant(wanted, "a task's specification is in the snapshot");
  const { spec, group } = state.specs.use(wanted, zone, agent);
  state.adoptSingle({
    number,
    id,
    agent: group.agent,
    zone: group.zone,
    spec,
    requestState,
    boostMicros,
    reservedMicros,
    deadline,
    requestHash,
    submittedAt,
    seq,
    readyAt,
    tier,
    class: ofClass,
    group,
    attemptsBefore,
    alternativeOf,
    estimateMs: Math.max(1, spec.estimateMs),
    standing: 0,
    weight: 0,
    node: number,
    status,
    attempt,
    excused,
    worker,
    since,
    lastSeq,
    offered: false,
    home: undefined,
  });
  reindexTask(state, state.singles, number);
}

function restoreWorker(number: number, saved: WorkerSnapshot | string): Worker {
  if (typeof saved === "string" || saved.isForgotten) {
    const worker = new Worker(number, forgottenSpec(typeof saved === "string" ? saved : saved.spec.id));
    worker.forget();
    return worker;
  }
  const worker = new Worker(number, saved.spec);
  worker.registeredSeq = saved.registeredSeq;
  worker.status = saved.status;
  worker.loadPermille = saved.loadPermille;
  worker.saysOverloaded = saved.saysOverloaded;
  worker.lostSeq = saved.lostSeq;
  worker.hasLeft = saved.hasLeft;
  for (const [key, held] of saved.held) {
    worker.held.set(key, held);
    if (held.io) worker.io++;
    worker.freeCpu -= held.cpuMillicores;
    worker.freeMemory -= held.memoryBytes;
  }
  for (const key of saved.ahead ?? []) worker.ahead.add(key);
  if (saved.pace) {
    const [since, ended, movedAt] = saved.pace;
    worker.pace = { since, ended, movedAt };
  }
  worker.finishedAt = saved.finishedAt ?? 0;
  for (const type of saved.executed) worker.executed.add(type);
  if (saved.reservedFor !== -1) worker.reservedFor = saved.reservedFor;
  return worker;
}

function restoreSpeculation(run: Run, saved: SpeculatedSnapshot): void {
  const speculated = new Speculated(saved.because, saved.first, saved.ends.length, saved.since);
  for (const [at, end] of saved.ends.entries()) speculated.ends[at] = end ?? undefined;
  speculated.outcome = saved.outcome ?? undefined;
  run.speculations.set(saved.node, speculated);
}

function restoreRun(state: State, saved: RunSnapshot): void {
  const { id, name, agent, zone, onFailure, graph } = saved;
  const { parent, rootId } = saved;
  const event: RunSubmitted = {
    kind: "RunSubmitted",
    runId: id,
    name,
    agent,
    zone,
    onFailure,
    graph,
    parent,
  };
  const run = state.addRun(event, saved.number, saved.submittedSeq, saved.submittedAt, rootId);
  run.lastEventSeq = saved.lastEventSeq;
  run.cancelRequested = saved.cancelRequested;
  run.outcome = saved.outcome ?? undefined;
  run.endedAt = saved.endedAt;
  run.status.set(saved.status);
  run.attempt.set(saved.attempt);
  run.pending.set(saved.pending);
  run.worker.set(saved.worker);
  run.since.set(saved.since);
  run.readyAt.set(saved.readyAt);
  run.lastSeq.set(saved.lastSeq);
  run.resultBytes.set(saved.resultBytes);
  for (const [node, attempts] of saved.excused) run.excused.set(node, attempts);
  for (const speculated of saved.speculations ?? []) restoreSpeculation(run, speculated);
  if (saved.data) run.data?.restore(saved.data, run.status, run.attempt);
  run.counts.fill(0);
  for (const status of run.status) (run.counts[status] as number)++;
  if (run.outcome !== undefined) {
    state.retire(run);
    return;
  }
  run.findFront();
  for (let node = 0; node < run.graph.size; node++) {
    reindexTask(state, run, node);
    if (run.statusOf(node) === Status.ready) seekResult(state, run, node);
  }
}

/** It has, or waits for, what it stands for, which may have been restored after it. */
function restoreLink(state: State, run: Run, link: number): void {
  const isBorrowed = run.data?.result[link] === Result.borrowed;
  if (isBorrowed || !isEnded(run.statusOf(link))) borrow(state, run, link);
}

function reindexTask(state: State, tasks: Tasks, node: number): void {
  const status = tasks.statusOf(node);
  invariant(
    status !== Status.settling && status !== Status.settlingCancel,
    "a snapshot is taken between turns",
  );
  if (status === Status.ready) tasks.offer(node);
  if (status === Status.delayed) state.delay(tasks, node, tasks.sinceOf(node));
  if (status <= Status.delayed) state.accounts.wait(tasks.groupOf(node).account, 1);
}
