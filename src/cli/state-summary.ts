import { type Head, headOf, type RunOutcome } from "../ledger/index.ts";
import { nodeOfKey, runOfKey, type TaskKey, type Worker, type WorkerStatus } from "../placement/index.ts";
import {
  type Run,
  replayBlock,
  restore,
  type Snapshot,
  STATUS_NAMES,
  State,
  type StatusName,
  stateHash,
} from "../scheduler/index.ts";
import { readSnapshot, type SavedSnapshot } from "../store/index.ts";
import { UsageError } from "./errors.ts";
import { replaying, soundBlocks } from "./ledger-reading.ts";
import { warn } from "./output.ts";

export interface Replayed {
  readonly state: State;
  /** Where replay began: the event of the snapshot that it used, or 0. */
  readonly from: number;
}

/**
 * The state after event `to`, or after the last one. It begins at the snapshot beside the ledger where that
 * is not too late and stands in this chain; the state is the same, only sooner there.
 */
export async function replayTo(path: string, to: number = Number.POSITIVE_INFINITY): Promise<Replayed> {
  const snapshot = await readSnapshot(path);
  if (snapshot && snapshot.head.seq <= to) {
    const state = await replayFrom(path, snapshot, to);
    if (state) return { state, from: snapshot.head.seq };
    warn(`${path}.snapshot is not of this ledger, or damaged: replayed from the beginning`);
  }
  return { state: (await replayFrom(path, undefined, to)) as State, from: 0 };
}

/** Undefined: the snapshot cannot be used. */
async function replayFrom(
  path: string,
  snapshot: SavedSnapshot | undefined,
  to: number,
): Promise<State | undefined> {
  let state = snapshot ? undefined : new State();
  for await (const block of soundBlocks(path)) {
    const head = headOf(block);
    const known = state;
    if (known) replaying(path, block, () => replayBlock(known, block, to));
    else if (snapshot && head.seq >= snapshot.head.seq) {
      state = restoreAt(snapshot, head);
      if (!state) return undefined;
    }
    if (head.seq >= to) break;
  }
  if (state && Number.isFinite(to) && state.seq < to) {
    throw new UsageError(`there is no event ${to}: ${path} has 0 (before the first) to ${state.seq}`);
  }
  return state;
}

function restoreAt(snapshot: SavedSnapshot, head: Head): State | undefined {
  if (head.seq !== snapshot.head.seq || head.hash !== snapshot.head.hash) return undefined;
  try {
    const state = restore(snapshot.state as Snapshot);
    return stateHash(state) === snapshot.stateHash ? state : undefined;
  } catch {
    // A snapshot is only a file: whatever is wrong with it, the ledger still has everything.
    return undefined;
  }
}

export interface StateSummary {
  readonly seq: number;
  readonly now: number;
  readonly stateHash: string;
  readonly strategy: string;
  readonly backlog: number;
  readonly refusedSubmissions: number;
  readonly workers: readonly WorkerSummary[];
  readonly runs: readonly RunSummary[];
  readonly reservations: readonly ReservationSummary[];
}

interface TaskName {
  readonly run: string;
  readonly node: string;
}

export interface WorkerSummary {
  readonly id: string;
  readonly status: WorkerStatus;
  readonly slots: number;
  readonly held: readonly TaskName[];
  readonly free: { readonly cpuMillicores: number; readonly memoryBytes: number };
  readonly total: { readonly cpuMillicores: number; readonly memoryBytes: number };
}

export interface RunSummary {
  readonly id: string;
  readonly name: string;
  readonly outcome: RunOutcome | null;
  readonly submittedAt: number;
  readonly endedAt: number | null;
  readonly size: number;
  /** By status; those without nodes are left out. */
  readonly counts: Readonly<Partial<Record<StatusName, number>>>;
  readonly nodes?: readonly NodeSummary[];
}

export interface NodeSummary {
  readonly id: string;
  readonly status: StatusName;
  readonly attempt: number;
  readonly worker: string | null;
}

interface ReservationSummary extends TaskName {
  readonly worker: string;
}

export function summarize(state: State, withNodes: boolean): StateSummary {
  return {
    seq: state.seq,
    now: state.now,
    stateHash: stateHash(state),
    strategy: state.config.strategy,
    backlog: state.backlog,
    refusedSubmissions: state.refused,
    workers: state.fleet.known().map((worker) => ofWorker(state, worker)),
    runs: [...state.runs.values()].map((run) => ofRun(state, run, withNodes)),
    reservations: [...state.fleet.reservations].map(([key, worker]) => ({
      ...taskName(state, key),
      worker: worker.id,
    })),
  };
}

function taskName(state: State, key: TaskKey): TaskName {
  const run = state.run(runOfKey(key));
  return { run: run.id, node: run.graph.idOf(nodeOfKey(key)) };
}

function ofWorker(state: State, worker: Worker): WorkerSummary {
  const { id, status, spec, freeCpu, freeMemory } = worker;
  return {
    id,
    status,
    slots: spec.slots,
    held: [...worker.held.keys()].map((key) => taskName(state, key)),
    free: { cpuMillicores: freeCpu, memoryBytes: freeMemory },
    total: { cpuMillicores: spec.cpuMillicores, memoryBytes: spec.memoryBytes },
  };
}

function ofRun(state: State, run: Run, withNodes: boolean): RunSummary {
  const counts: Partial<Record<StatusName, number>> = {};
  for (const [status, name] of STATUS_NAMES.entries()) {
    const count = run.counts[status] as number;
    if (count > 0) counts[name] = count;
  }
  return {
    id: run.id,
    name: run.name,
    outcome: run.outcome ?? null,
    submittedAt: run.submittedAt,
    endedAt: run.endedAt === -1 ? null : run.endedAt,
    size: run.graph.size,
    counts,
    ...(withNodes ? { nodes: nodesOf(state, run) } : {}),
  };
}

function nodesOf(state: State, run: Run): NodeSummary[] {
  return Array.from({ length: run.graph.size }, (_, node) => ({
    id: run.graph.idOf(node),
    status: STATUS_NAMES[run.statusOf(node)] as StatusName,
    attempt: run.attempt[node] as number,
    worker: state.fleet.workers[run.worker[node] as number]?.id ?? null,
  }));
}
