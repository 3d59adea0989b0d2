import { canonicalJson, compareText, invariant, sha256Hex } from "../core/index.ts";
import type { WireGraph } from "../graph/index.ts";
import type { RunOutcome, RunSubmitted, SchedulerConfig } from "../ledger/index.ts";
import { type Held, type TaskKey, Worker, type WorkerSpec, type WorkerStatus } from "../placement/index.ts";
import type { Run } from "./run.ts";
import { State } from "./state.ts";
import { Status } from "./status.ts";

/** A whole state as plain data: what replay may start from, and what the state hash is taken of. */
export interface Snapshot {
  readonly seq: number;
  readonly now: number;
  readonly config: SchedulerConfig;
  readonly nextRun: number;
  readonly refused: number;
  /** The number of the worker that round robin stands at; -1 before the first assignment. */
  readonly cursor: number;
  readonly endedRuns: readonly number[];
  readonly workers: readonly WorkerSnapshot[];
  readonly runs: readonly RunSnapshot[];
}

interface WorkerSnapshot {
  readonly spec: WorkerSpec;
  readonly registeredSeq: number;
  readonly status: WorkerStatus;
  readonly loadPermille: number;
  readonly saysOverloaded: boolean;
  readonly held: readonly (readonly [TaskKey, Held])[];
  readonly executed: readonly string[];
  readonly reservedFor: TaskKey;
}

interface RunSnapshot {
  readonly number: number;
  readonly id: string;
  readonly name: string;
  readonly agent: string;
  readonly zone: string;
  readonly onFailure: RunSubmitted["onFailure"];
  readonly graph: WireGraph;
  readonly submittedAt: number;
  readonly lastEventSeq: number;
  readonly cancelRequested: boolean;
  readonly outcome: RunOutcome | null;
  readonly endedAt: number;
  readonly status: readonly number[];
  readonly attempt: readonly number[];
  readonly pending: readonly number[];
  readonly worker: readonly number[];
  readonly since: readonly number[];
  readonly lastSeq: readonly number[];
  readonly resultBytes: readonly number[];
}

export function takeSnapshot(state: State): Snapshot {
  return {
    seq: state.seq,
    now: state.now,
    config: state.config,
    nextRun: state.nextRun,
    refused: state.refused,
    cursor: state.fleet.cursor?.number ?? -1,
    endedRuns: [...state.endedRuns],
    workers: state.fleet.workers.map(ofWorker),
    runs: [...state.runs.values()].map(ofRun),
  };
}

export function stateHash(state: State): string {
  return sha256Hex(canonicalJson(takeSnapshot(state)));
}

export function restore(snapshot: Snapshot): State {
  const state = new State();
  state.seq = snapshot.seq;
  state.now = snapshot.now;
  state.config = snapshot.config;
  state.fleet.configure(snapshot.config);
  state.nextRun = snapshot.nextRun;
  state.refused = snapshot.refused;
  state.endedRuns.push(...snapshot.endedRuns);
  for (const [number, saved] of snapshot.workers.entries()) state.fleet.adopt(restoreWorker(number, saved));
  state.fleet.cursor = state.fleet.workers[snapshot.cursor];
  for (const saved of snapshot.runs) restoreRun(state, saved);
  return state;
}

function ofWorker(worker: Worker): WorkerSnapshot {
  return {
    spec: worker.spec,
    registeredSeq: worker.registeredSeq,
    status: worker.status,
    loadPermille: worker.loadPermille,
    saysOverloaded: worker.saysOverloaded,
    held: [...worker.held],
    executed: [...worker.executed].sort(compareText),
    reservedFor: worker.reservedFor ?? -1,
  };
}

function restoreWorker(number: number, saved: WorkerSnapshot): Worker {
  const worker = new Worker(number, saved.spec);
  worker.registeredSeq = saved.registeredSeq;
  worker.status = saved.status;
  worker.loadPermille = saved.loadPermille;
  worker.saysOverloaded = saved.saysOverloaded;
  for (const [key, held] of saved.held) {
    worker.held.set(key, held);
    worker.freeCpu -= held.cpuMillicores;
    worker.freeMemory -= held.memoryBytes;
  }
  for (const type of saved.executed) worker.executed.add(type);
  if (saved.reservedFor !== -1) worker.reservedFor = saved.reservedFor;
  return worker;
}

function ofRun(run: Run): RunSnapshot {
  return {
    number: run.number,
    id: run.id,
    name: run.name,
    agent: run.agent,
    zone: run.zone,
    onFailure: run.onFailure,
    graph: run.graph.toWire(run.carried),
    submittedAt: run.submittedAt,
    lastEventSeq: run.lastEventSeq,
    cancelRequested: run.cancelRequested,
    outcome: run.outcome ?? null,
    endedAt: run.endedAt,
    status: [...run.status],
    attempt: [...run.attempt],
    pending: [...run.pending],
    worker: [...run.worker],
    since: [...run.since],
    lastSeq: [...run.lastSeq],
    resultBytes: [...run.resultBytes],
  };
}

function restoreRun(state: State, saved: RunSnapshot): void {
  const { id, name, agent, zone, onFailure, graph } = saved;
  const event: RunSubmitted = { kind: "RunSubmitted", runId: id, name, agent, zone, onFailure, graph };
  const run = state.addRun(event, saved.number, saved.lastEventSeq, saved.submittedAt);
  run.cancelRequested = saved.cancelRequested;
  run.outcome = saved.outcome ?? undefined;
  run.endedAt = saved.endedAt;
  run.status.set(saved.status);
  run.attempt.set(saved.attempt);
  run.pending.set(saved.pending);
  run.worker.set(saved.worker);
  run.since.set(saved.since);
  run.lastSeq.set(saved.lastSeq);
  run.resultBytes.set(saved.resultBytes);
  run.counts.fill(0);
  for (const status of run.status) (run.counts[status] as number)++;
  if (run.outcome !== undefined) {
    state.closeLanes(run);
    return;
  }
  reindex(state, run);
}

function reindex(state: State, run: Run): void {
  for (let node = 0; node < run.graph.size; node++) {
    const status = run.statusOf(node);
    invariant(
      status !== Status.settling && status !== Status.settlingCancel,
      "a snapshot is taken between turns",
    );
    if (status === Status.ready) state.offer(run, node);
    if (status === Status.delayed) state.delay(run, node, run.since[node] as number);
    if (status <= Status.delayed) state.backlog++;
  }
}
