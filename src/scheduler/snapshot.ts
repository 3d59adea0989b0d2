import { canonicalJson, compareText, numbersIn, sha256Hex, sha256HexOf } from "../core/index.ts";
import {
  type SpeculationCause,
  type TaskSpec,
  type WireGraph,
  type WireSpec,
  wireSpec,
} from "../graph/index.ts";
import type { RunOutcome, RunParent, RunSubmitted, SchedulerConfig } from "../ledger/index.ts";
import type { Held, TaskKey, Worker, WorkerSpec, WorkerStatus } from "../placement/index.ts";
import type {
  CostWindowSnapshot,
  CreditsSnapshot,
  FairShareSnapshot,
  LimitSnapshot,
  PriorityClass,
  RequestState,
  SubmitRatesSnapshot,
  Tier,
} from "../queue/index.ts";
import type { Charge } from "./charges.ts";
import { NEVER_SET, runningByName } from "./limits-in-use.ts";
import type { ResultCache } from "./result-cache.ts";
import type { Run } from "./run.ts";
import type { DataSnapshot } from "./run-data.ts";
import type { AlternativeOf, Single } from "./singles.ts";
import type { AlternativeEnd, Speculated } from "./speculated.ts";
import type { State, ZoneTotals } from "./state.ts";
import type { Status } from "./status.ts";

/** A whole state as plain data: what replay may start from, and what the state hash is taken of. */
export interface Snapshot {
  readonly seq: number;
  readonly now: number;
  /** Left out where it is 0. */
  readonly clockOffsetMs?: number;
  readonly config: SchedulerConfig;
  readonly nextRun: number;
  readonly nextTask: number;
  readonly refused: number;
  /** The number of the worker that round robin stands at; -1 before the first assignment. */
  readonly cursor: number;
  readonly endedRuns: readonly number[];
  /** By number; of a forgotten worker its id. Older snapshots have the whole of it. */
  readonly workers: readonly (WorkerSnapshot | string)[];
  readonly runs: readonly RunSnapshot[];
  /** What the tasks of no run ask for; left out where there are none. */
  readonly specs?: readonly WireSpec[];
  readonly singles: readonly SingleSnapshot[];
  readonly shares: FairShareSnapshot;
  readonly credits: CreditsSnapshot;
  readonly costs: readonly (readonly [key: string, cost: CostWindowSnapshot])[];
  readonly limits: readonly (readonly [key: string, limit: LimitSnapshot])[];
  readonly paused: readonly string[];
  /** By zone the task that room is kept for; left out where there is none. */
  readonly roomFor?: readonly (readonly [zone: string, key: TaskKey])[];
  /** Of attempts that were recharged or wait for that; left out where there are none. */
  readonly charges?: readonly (readonly [key: TaskKey, charge: ChargeSnapshot])[];
  /** What workers were asked to give back, and what they gave back; left out where there is none. */
  readonly recalls?: readonly (readonly [key: TaskKey, idle: number, at: number])[];
  readonly returned?: readonly (readonly [key: TaskKey, worker: number])[];
  /** By zone when room may be kept again; left out where it never was. */
  readonly roomAgainAt?: readonly (readonly [zone: string, at: number])[];
  /** Left out where nobody has a rate. */
  readonly rates?: SubmitRatesSnapshot;
  /** Left out where nothing is cached. */
  readonly cache?: ReturnType<ResultCache["toSnapshot"]>;
  readonly totals: readonly (readonly [zone: string, totals: ZoneTotals])[];
}

/** A task of no run, without what follows from the rest. There may be a million of them, so fields have no names. */
export type SingleSnapshot = readonly [
  number: number,
  id: string,
  agent: string,
  zone: string,
  /** Its place among the specifications. */
  spec: number,
  requestState: RequestState,
  boostMicros: number,
  reservedMicros: number,
  deadline: number,
  requestHash: string,
  submittedAt: number,
  seq: number,
  readyAt: number,
  tier: Tier,
  priorityClass: PriorityClass,
  attemptsBefore: number,
  status: Status,
  attempt: number,
  excused: number,
  worker: number,
  since: number,
  lastSeq: number,
  alternativeOf?: AlternativeOf,
];

export interface WorkerSnapshot {
  readonly spec: WorkerSpec;
  readonly registeredSeq: number;
  readonly status: WorkerStatus;
  readonly loadPermille: number;
  readonly saysOverloaded: boolean;
  readonly held: readonly (readonly [TaskKey, Held])[];
  /** Left out where it was given nothing ahead. */
  readonly ahead?: readonly TaskKey[];
  /** Left out where nobody asks it to give back. */
  readonly pace?: readonly [since: number, ended: number, movedAt: number];
  /** Left out where it is 0. */
  readonly finishedAt?: number;
  readonly executed: readonly string[];
  readonly reservedFor: TaskKey;
  readonly lostSeq: number;
  readonly hasLeft: boolean;
  readonly isForgotten: boolean;
}

/** Whether more than the id of the worker is left. */
export function isRemembered(worker: Snapshot["workers"][number]): worker is WorkerSnapshot {
  return typeof worker !== "string";
}

export interface RunSnapshot {
  readonly number: number;
  readonly id: string;
  readonly name: string;
  readonly agent: string;
  readonly zone: string;
  readonly onFailure: RunSubmitted["onFailure"];
  readonly graph: WireGraph;
  /** Left out where nobody's attempt submitted it. */
  readonly parent?: RunParent;
  readonly rootId?: string;
  readonly submittedAt: number;
  readonly submittedSeq: number;
  readonly lastEventSeq: number;
  readonly cancelRequested: boolean;
  readonly outcome: RunOutcome | null;
  readonly endedAt: number;
  readonly status: readonly number[];
  readonly attempt: readonly number[];
  readonly pending: readonly number[];
  readonly worker: readonly number[];
  readonly since: readonly number[];
  readonly readyAt: readonly number[];
  readonly lastSeq: readonly number[];
  readonly resultBytes: readonly number[];
  readonly excused: readonly (readonly [node: number, attempts: number])[];
  /** Left out where nothing was tried in several ways. */
  readonly speculations?: readonly SpeculatedSnapshot[];
  /** Left out where nodes hand no data to each other. */
  readonly data?: DataSnapshot;
}

export interface SpeculatedSnapshot {
  readonly node: number;
  readonly because: SpeculationCause;
  readonly first: number;
  readonly since: number;
  readonly ends: readonly (AlternativeEnd | null)[];
  readonly outcome: Speculated["outcome"] | null;
}

/** What of a state is taken: all of it, or a part that can go on by itself. */
export interface Taken {
  readonly singles: Iterable<Single>;
  readonly runs: readonly Run[];
}

export function takeSnapshot(state: State, taken: Taken = allOf(state)): Snapshot {
  const rates = state.rates.toSnapshot();
  const cache = state.cache.toSnapshot();
  const specs = new Map<TaskSpec, number>();
  const runs = new Set(taken.runs.map(({ number }) => number));
  const singles: SingleSnapshot[] = [];
  for (const single of taken.singles) singles.push(ofSingle(single, specs));
  return {
    ...(rates && { rates }),
    ...(cache.length > 0 && { cache }),
    seq: state.seq,
    now: state.now,
    ...(state.clockOffsetMs !== 0 && { clockOffsetMs: state.clockOffsetMs }),
    config: state.config,
    nextRun: state.nextRun,
    nextTask: state.nextTask,
    refused: state.refused,
    cursor: state.fleet.cursor?.number ?? -1,
    endedRuns: state.endedRuns.filter((number) => runs.has(number)),
    workers: state.fleet.workers.map(ofWorker),
    runs: taken.runs.map(ofRun),
    ...(specs.size > 0 && { specs: Array.from(specs.keys(), wireSpec) }),
    singles,
    shares: state.shares.toSnapshot(),
    credits: state.credits.toSnapshot(),
    costs: sortedByKey(state.costs).map(([key, cost]) => [key, cost.toSnapshot()] as const),
    limits: ofLimits(state),
    paused: [...state.paused].sort(compareText),
    ...(state.roomFor.size > 0 && { roomFor: sortedByKey(state.roomFor) }),
    ...(state.roomAgainAt.size > 0 && { roomAgainAt: sortedByKey(state.roomAgainAt) }),
    ...(state.charges.size > 0 && { charges: ofCharges(state) }),
    ...ofRecalls(state),
    totals: sortedByKey(state.totals).map(([zone, totals]) => [zone, { ...totals }] as const),
  };
}

function allOf({ singles, runs }: State): Taken {
  return { singles: singles.all.values(), runs: [...runs.values()] };
}

type ChargeSnapshot = readonly [recharges: number, amounts: readonly number[], lacks: Charge["lacks"] | null];

function ofCharges({ charges }: State): [TaskKey, ChargeSnapshot][] {
  return [...charges]
    .sort(([a], [b]) => a - b)
    .map(([key, { recharges, amounts, lacks }]) => [key, [recharges, amounts, lacks ?? null]]);
}

function ofRecalls({ fleet: { recalls, returned } }: State): Pick<Snapshot, "recalls" | "returned"> {
  const asked = [...recalls].sort(([a], [b]) => a - b);
  const back = [...returned].sort(([a], [b]) => a - b);
  return {
    ...(asked.length > 0 && { recalls: asked.map(([key, { idle, at }]) => [key, idle, at] as const) }),
    ...(back.length > 0 && { returned: back.map(([key, { number }]) => [key, number] as const) }),
  };
}

/** Limits that somebody set, and names that running tasks use. The state keeps no limit for a name that nobody configured. */
function ofLimits(state: State): [string, LimitSnapshot][] {
  const found = new Map<string, LimitSnapshot>();
  for (const [key, running] of runningByName(state)) found.set(key, { ...NEVER_SET, running });
  for (const [key, limit] of state.limits)
    if (limit.isConfigured || limit.running > 0) found.set(key, limit.toSnapshot());
  return sortedByKey(found);
}

function sortedByKey<Value>(map: ReadonlyMap<string, Value>): [string, Value][] {
  return [...map].sort(([a], [b]) => compareText(a, b));
}

/** Tasks of no run are hashed some thousand at a time: a text of a million would be longer than texts can be. */
const HASHED_AT_ONCE = 10_000;

export function stateHash(state: State): string {
  return snapshotHash(takeSnapshot(state));
}

export function snapshotHash(snapshot: Snapshot): string {
  return sha256HexOf(snapshotTexts(snapshot));
}

/** What the hash of a state is taken of: canonical JSON, in parts none of which takes long to write. */
export function* snapshotTexts(snapshot: Snapshot): Generator<string> {
  let before = "";
  yield "{";
  for (const key of Object.keys(snapshot).sort() as (keyof Snapshot)[]) {
    if (snapshot[key] === undefined) continue;
    yield `${before}${JSON.stringify(key)}:`;
    before = ",";
    if (key === "runs") yield* listTexts(snapshot.runs.length, (at) => canonicalJson(snapshot.runs[at]));
    else if (key === "singles")
      yield* listTexts(Math.ceil(snapshot.singles.length / HASHED_AT_ONCE), (at) => {
        const some = snapshot.singles.slice(at * HASHED_AT_ONCE, (at + 1) * HASHED_AT_ONCE);
        return JSON.stringify(sha256Hex(JSON.stringify(some)));
      });
    else yield canonicalJson(snapshot[key]);
  }
  yield "}";
}

function* listTexts(length: number, textOf: (at: number) => string): Generator<string> {
  yield "[";
  for (let at = 0; at < length; at++) yield `${at === 0 ? "" : ","}${textOf(at)}`;
  yield "]";
}

function ofSingle(single: Single, specs: Map<TaskSpec, number>): SingleSnapshot {
  let spec = specs.get(single.spec);
  if (spec === undefined) {
    spec = specs.size;
    specs.set(single.spec, spec);
  }
  const { alternativeOf } = single;
  const snapshot = [
    single.number,
    single.id,
    single.agent,
    single.zone,
    spec,
    single.requestState,
    single.boostMicros,
    single.reservedMicros,
    single.deadline,
    single.requestHash,
    single.submittedAt,
    single.seq,
    single.readyAt,
    single.tier,
    single.class,
    single.attemptsBefore,
    single.status,
    single.attempt,
    single.excused,
    single.worker,
    single.since,
    single.lastSeq,
  ] as const;
  return alternativeOf ? [...snapshot, alternativeOf] : snapshot;
}

function ofWorker(worker: Worker): WorkerSnapshot | string {
  if (worker.isForgotten) return worker.id;
  return {
    spec: worker.spec,
    registeredSeq: worker.registeredSeq,
    status: worker.status,
    loadPermille: worker.loadPermille,
    saysOverloaded: worker.saysOverloaded,
    held: [...worker.held],
    ...(worker.ahead.size > 0 && { ahead: [...worker.ahead] }),
    ...(worker.pace && { pace: [worker.pace.since, worker.pace.ended, worker.pace.movedAt] as const }),
    ...(worker.finishedAt > 0 && { finishedAt: worker.finishedAt }),
    executed: [...worker.executed].sort(compareText),
    reservedFor: worker.reservedFor ?? -1,
    lostSeq: worker.lostSeq,
    hasLeft: worker.hasLeft,
    isForgotten: worker.isForgotten,
  };
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
    ...(run.parent && { parent: run.parent, rootId: run.rootId }),
    submittedAt: run.submittedAt,
    submittedSeq: run.submittedSeq,
    lastEventSeq: run.lastEventSeq,
    cancelRequested: run.cancelRequested,
    outcome: run.outcome ?? null,
    endedAt: run.endedAt,
    status: numbersIn(run.status),
    attempt: numbersIn(run.attempt),
    pending: numbersIn(run.pending),
    worker: numbersIn(run.worker),
    since: numbersIn(run.since),
    readyAt: numbersIn(run.readyAt),
    lastSeq: numbersIn(run.lastSeq),
    resultBytes: numbersIn(run.resultBytes),
    excused: [...run.excused].sort(([a], [b]) => a - b),
    ...(run.speculations.size > 0 && { speculations: ofSpeculations(run) }),
    ...(run.data && { data: run.data.toSnapshot() }),
  };
}

function ofSpeculations({ speculations }: Run): SpeculatedSnapshot[] {
  return [...speculations]
    .sort(([a], [b]) => a - b)
    .map(([node, { because, first, since, ends, outcome }]) => ({
      node,
      because,
      first,
      since,
      ends: ends.map((end) => end ?? null),
      outcome: outcome ?? null,
    }));
}
