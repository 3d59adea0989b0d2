import fc from "fast-check";
import { BUDGET_PARTS, type Priority, RISKS, type WireGraph, type WireSpec } from "../src/graph/index.ts";
import type { EventKind, EventOf, LedgerEvent, SchedulerConfig } from "../src/ledger/index.ts";
import type { Reason, WorkerSpec } from "../src/placement/index.ts";
import { STRATEGIES } from "./builders.ts";

/** Texts that are hard on a codec: brackets, quotes, escapes, emoji, halves of surrogate pairs. */
const anyText = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({
    unit: fc.constantFrom(...'[]{}",:\\\n\u2028é0', "\u{1f600}", "\ud83d", "\udc00"),
    maxLength: 12,
  }),
);
const anyIndex = fc.nat(2 ** 31 - 1);
const anyTime = fc.oneof(fc.nat(), fc.integer({ min: -1, max: Number.MAX_SAFE_INTEGER }));
const anyBytes = fc.maxSafeNat();
const anyTexts = fc.array(anyText, { maxLength: 3 });

const anyConfig: fc.Arbitrary<SchedulerConfig> = fc.record({
  strategy: fc.constantFrom(...STRATEGIES),
  preferLocality: fc.boolean(),
  maxQueuePerWorker: fc.nat(20),
  keepLostWorkers: fc.nat(2_000),
  seed: fc.integer(),
  overloadedAtPermille: fc.nat(1_000),
  relievedBelowPermille: fc.nat(1_000),
  policyVersion: fc.constant(1),
  maxNodes: anyIndex,
  backlogLimit: anyIndex,
  rejectThreshold: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
  reserveAfterMs: anyIndex,
  maxBackoffMs: anyIndex,
  keepEndedRuns: anyIndex,
  jitterPermille: fc.nat(1_000),
  order: fc.constantFrom("graph", "hrrn", "classic"),
  boostTierMicros: anyIndex,
  maxBoostTiers: fc.nat(4),
  ageEveryMs: anyIndex,
  ageStepMs: anyIndex,
  maxWaitMs: anyIndex,
  starveBackgroundMs: anyIndex,
  starveBatchMs: fc.option(anyIndex),
  deadlineLift: fc.nat(10),
  costWindowMs: anyIndex,
  costThresholdMicros: fc.option(anyIndex),
  fairShare: fc.option(anyIndex),
  overLimit: fc.constantFrom("wait", "reject"),
  credits: fc.boolean(),
});

const anyWorkerSpec: fc.Arbitrary<WorkerSpec> = fc.record({
  id: anyText,
  endpoint: anyText,
  zone: anyText,
  zones: anyTexts,
  executors: anyTexts,
  capabilities: anyTexts,
  cpuMillicores: anyIndex,
  memoryBytes: anyBytes,
  slots: fc.nat(64),
});

const specFields = [
  anyText,
  anyText,
  anyIndex,
  anyBytes,
  anyIndex,
  fc.constantFrom<Priority[]>(0, 1, 2, 3, 4),
  anyTexts,
  anyIndex,
  anyIndex,
  anyIndex,
  fc.constantFrom<(0 | 1)[]>(0, 1),
] as const;
const anyWireSpec: fc.Arbitrary<WireSpec> = fc.oneof(
  fc.tuple(...specFields),
  fc.tuple(...specFields, anyTexts),
);

const anyWireGraph: fc.Arbitrary<WireGraph> = fc.record({
  specs: fc.array(anyWireSpec, { maxLength: 2 }),
  ids: anyTexts,
  spec: fc.array(anyIndex, { maxLength: 3 }),
  needs: fc.array(fc.array(anyIndex, { maxLength: 2 }), { maxLength: 3 }),
  requests: anyTexts,
  done: fc.array(anyIndex, { maxLength: 2 }),
});

const anyReason: fc.Arbitrary<Reason> = fc.oneof(
  fc.record({ type: fc.constant("OnlyWorkerAvailable") }),
  fc.record({ type: fc.constant("ResourceFit"), availableCpu: anyIndex, requiredCpu: anyIndex }),
  fc.record({ type: fc.constant("LeastLoaded"), queueDepth: anyIndex }),
  fc.record({ type: fc.constant("RoundRobin"), index: anyIndex }),
  fc.record({ type: fc.constant("Random"), hash: fc.nat(0xffff_ffff) }),
  fc.record({
    type: fc.constant("Affinity"),
    because: fc.constantFrom("DataLocality", "PreviouslyExecuted", "SameZone", "SharedConsumer", "Follows"),
  }),
  fc.record({
    type: fc.constant("DataAffinity"),
    heldBytes: fc.nat(),
    movedBytes: fc.nat(),
    waitMicros: fc.nat(),
    leadMicros: fc.nat(),
  }),
);

const ofNode = { run: anyIndex, node: anyIndex };
const ofAttempt = { ...ofNode, attempt: anyIndex };
const refusal = {
  report: fc.constantFrom("AttemptStarted", "AttemptFinished", "AttemptFailed", "AttemptLost"),
  code: fc.constantFrom("stale", "unknown"),
} as const;
const ended = { ...ofAttempt, startedAt: anyTime };
const kind = <Kind extends EventKind>(name: Kind) => ({ kind: fc.constant(name) });

/** One arbitrary for every kind: a new kind does not compile until it is tested. */
const ANY_OF_KIND: { readonly [Kind in EventKind]: fc.Arbitrary<EventOf<Kind>> } = {
  SchedulerConfigured: fc.record({ ...kind("SchedulerConfigured"), config: anyConfig }),
  RunSubmitted: fc.record({
    ...kind("RunSubmitted"),
    runId: anyText,
    name: anyText,
    agent: anyText,
    zone: anyText,
    onFailure: fc.constantFrom("continue", "cancel"),
    graph: anyWireGraph,
  }),
  TaskSubmitted: fc.record({
    ...kind("TaskSubmitted"),
    requeued: fc.boolean(),
    id: anyText,
    agent: anyText,
    zone: anyText,
    spec: anyWireSpec,
    requestState: fc.constantFrom("io_wait", "compute", "tool_call", "idle", "pending"),
    boostMicros: anyBytes,
    deadline: anyTime,
    runAt: anyTime,
    requestHash: anyText,
    attempts: anyIndex,
  }),
  AgentConfigured: fc.record(
    { ...kind("AgentConfigured"), zone: anyText, agent: anyText, max: fc.option(anyIndex) },
    { requiredKeys: ["kind", "zone", "agent"] },
  ),
  ZoneConfigured: fc.record(
    { ...kind("ZoneConfigured"), zone: anyText, max: fc.option(anyIndex) },
    { requiredKeys: ["kind", "zone"] },
  ),
  LimitConfigured: fc.record({
    ...kind("LimitConfigured"),
    zone: anyText,
    name: anyText,
    concurrency: fc.option(anyIndex),
    rateCount: fc.option(anyIndex),
    ratePeriodMs: anyIndex,
  }),
  CreditsGranted: fc.record({ ...kind("CreditsGranted"), zone: anyText, agent: anyText, micros: anyBytes }),
  ClockCorrected: fc.record({ ...kind("ClockCorrected"), offsetMs: fc.integer() }),
  AuditRecorded: fc.record({ ...kind("AuditRecorded"), hash: anyText }),
  QueuePaused: fc.record({ ...kind("QueuePaused"), zone: anyText, executor: anyText }),
  QueueResumed: fc.record({ ...kind("QueueResumed"), zone: anyText, executor: anyText }),
  SubmissionsRefused: fc.record({
    ...kind("SubmissionsRefused"),
    agent: anyText,
    code: fc.constantFrom("backlog", "backpressure", "fair-share", "credits"),
    count: anyIndex,
  }),
  WorkerRegistered: fc.record({ ...kind("WorkerRegistered"), worker: anyWorkerSpec }),
  WorkerLoadReported: fc.record({
    ...kind("WorkerLoadReported"),
    worker: anyIndex,
    loadPermille: anyIndex,
    saysOverloaded: fc.boolean(),
  }),
  DrainRequested: fc.record({ ...kind("DrainRequested"), worker: anyIndex }),
  WorkerLost: fc.record({
    ...kind("WorkerLost"),
    worker: anyIndex,
    code: fc.constantFrom("lease", "left", "restart"),
  }),
  AttemptStarted: fc.record({ ...kind("AttemptStarted"), ...ended }),
  AttemptFinished: fc.oneof(
    fc.record(
      {
        ...kind("AttemptFinished"),
        ...ended,
        resultHash: anyText,
        resultBytes: anyBytes,
        costMicros: anyBytes,
      },
      { requiredKeys: ["kind", "run", "node", "attempt", "startedAt", "resultHash", "resultBytes"] },
    ),
    fc.record({
      ...kind("AttemptFinished"),
      ...ended,
      resultHash: anyText,
      resultBytes: anyBytes,
      costMicros: anyBytes,
      held: fc.constant(true as const),
      movedBytes: fc.nat(),
      transfers: fc.array(fc.tuple(anyIndex, anyIndex, fc.integer(), anyBytes), { maxLength: 2 }),
    }),
    fc.record({
      ...kind("AttemptFinished"),
      ...ended,
      resultHash: anyText,
      resultBytes: anyBytes,
      costMicros: anyBytes,
      assessment: fc.record({
        verified: fc.boolean(),
        confidencePermille: fc.nat(1_000),
        lines: anyBytes,
        risk: fc.constantFrom(...RISKS),
      }),
    }),
  ),
  AttemptFailed: fc.oneof(
    fc.record({ ...kind("AttemptFailed"), ...ended, code: anyText, message: anyText }),
    fc.record({
      ...kind("AttemptFailed"),
      ...ended,
      code: anyText,
      message: anyText,
      costMicros: anyBytes,
      retry: fc.boolean(),
    }),
  ),
  AttemptTimedOut: fc.record({ ...kind("AttemptTimedOut"), ...ended }),
  AttemptLost: fc.record({ ...kind("AttemptLost"), ...ended }),
  AttemptCancelled: fc.record({ ...kind("AttemptCancelled"), ...ended }),
  ReportRefused: fc.oneof(
    fc.record({ ...kind("ReportRefused"), ...ofAttempt, ...refusal }),
    fc.record({ ...kind("ReportRefused"), ...ofAttempt, ...refusal, worker: anyIndex }),
    fc.record({ ...kind("ReportRefused"), ...ofAttempt, ...refusal, taskId: anyText, worker: anyIndex }),
  ),
  CancelRequested: fc.record({ ...kind("CancelRequested"), run: anyIndex, node: fc.integer({ min: -1 }) }),
  ChunkLost: fc.record({ ...kind("ChunkLost"), ...ofNode, worker: anyIndex }),
  RunReleased: fc.record({ ...kind("RunReleased"), run: anyIndex }),
  CacheEvicted: fc.record({ ...kind("CacheEvicted"), zone: anyText, key: anyText }),
  ChunksFreed: fc.record({ ...kind("ChunksFreed"), run: anyIndex, nodes: fc.array(anyIndex) }),
  TasksWithdrawn: fc.record({ ...kind("TasksWithdrawn"), run: anyIndex, nodes: fc.array(anyIndex) }),
  TaskRecalled: fc.record({
    ...kind("TaskRecalled"),
    ...ofAttempt,
    worker: anyIndex,
    idle: anyIndex,
    waitMicros: anyBytes,
    queueMicros: anyBytes,
    moveMicros: anyBytes,
  }),
  NodesRecomputed: fc.record({ ...kind("NodesRecomputed"), run: anyIndex, nodes: fc.array(anyIndex) }),
  TaskAssigned: fc.record({
    ...kind("TaskAssigned"),
    ...ofAttempt,
    worker: anyIndex,
    reason: anyReason,
    runnerUp: fc.integer({ min: -1, max: 1_000 }),
    rejected: fc.array(fc.nat(1_000), { maxLength: 10 }),
  }),
  TaskBudgetExhausted: fc.record({
    ...kind("TaskBudgetExhausted"),
    ...ofAttempt,
    part: fc.constantFrom(...BUDGET_PARTS),
    recharges: anyIndex,
  }),
  TaskRecharged: fc.record({
    ...kind("TaskRecharged"),
    ...ofAttempt,
    amounts: fc.array(anyBytes, { minLength: 5, maxLength: 5 }),
  }),
  TaskSpeculated: fc.record({
    ...kind("TaskSpeculated"),
    ...ofNode,
    first: anyIndex,
    count: fc.integer({ min: 2, max: 10 }),
    because: fc.constantFrom("asked", "forced", "risk-on-critical-path"),
  }),
  VoteTaken: fc.record({
    ...kind("VoteTaken"),
    ...ofNode,
    winner: fc.integer({ min: -1, max: 9 }),
    by: fc.constantFrom("majority", "score", "nobody"),
    scores: fc.array(fc.option(fc.array(fc.nat(40), { minLength: 5, maxLength: 5 })), { maxLength: 10 }),
  }),
  TaskReused: fc.record({
    ...kind("TaskReused"),
    ...ofNode,
    taskId: anyText,
    resultHash: anyText,
    resultBytes: anyBytes,
  }),
  ExpansionEnded: fc.record({ ...kind("ExpansionEnded"), ...ofNode, child: anyIndex }),
  TaskRetried: fc.record({ ...kind("TaskRetried"), ...ofNode, dueAt: anyTime }),
  TaskFailed: fc.record({
    ...kind("TaskFailed"),
    ...ofNode,
    code: fc.constantFrom("attempts", "fatal", "expired", "escalated"),
  }),
  TaskCancelled: fc.record({ ...kind("TaskCancelled"), ...ofNode }),
  TasksSkipped: fc.record({ ...kind("TasksSkipped"), ...ofNode, nodes: fc.array(anyIndex) }),
  CancelSignalled: fc.record({ ...kind("CancelSignalled"), ...ofAttempt }),
  ReservationMade: fc.record({ ...kind("ReservationMade"), ...ofNode, worker: anyIndex, freeAt: anyTime }),
  RoomReserved: fc.record({ ...kind("RoomReserved"), ...ofNode }),
  RunEnded: fc.record({
    ...kind("RunEnded"),
    run: anyIndex,
    outcome: fc.constantFrom("completed", "failed", "cancelled"),
  }),
};

export const EVENT_KINDS: readonly EventKind[] = Object.keys(ANY_OF_KIND) as EventKind[];

export function anyEventOf(name: EventKind): fc.Arbitrary<LedgerEvent> {
  return ANY_OF_KIND[name];
}

export const anyEvent: fc.Arbitrary<LedgerEvent> = fc.oneof(...Object.values(ANY_OF_KIND));
