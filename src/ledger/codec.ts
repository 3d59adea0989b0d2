import { invariant } from "../core/index.ts";
import type { Reason } from "../placement/index.ts";
import type { EventKind, EventOf, LedgerEvent } from "./events.ts";

/**
 * An event in the ledger is the JSON array of its kind and its fields in the order of this table. Fields are
 * only ever added at the end of a row, as optional ones, and left out where they are undefined: so older
 * ledgers stay readable, and are written again as they were.
 */
const FIELDS: { readonly [Kind in EventKind]: readonly Exclude<keyof EventOf<Kind>, "kind">[] } = {
  SchedulerConfigured: ["config"],
  RunSubmitted: ["runId", "name", "agent", "zone", "onFailure", "graph", "parent"],
  TaskSubmitted: [
    "id",
    "agent",
    "zone",
    "spec",
    "requestState",
    "boostMicros",
    "deadline",
    "runAt",
    "requestHash",
    "attempts",
    "requeued",
  ],
  SubmissionsRefused: ["agent", "code", "count", "id"],
  WorkerRegistered: ["worker"],
  WorkerLoadReported: ["worker", "loadPermille", "saysOverloaded"],
  DrainRequested: ["worker"],
  WorkerLost: ["worker", "code"],
  AttemptStarted: ["run", "node", "attempt", "startedAt"],
  AttemptFinished: [
    "run",
    "node",
    "attempt",
    "startedAt",
    "resultHash",
    "resultBytes",
    "costMicros",
    "assessment",
    "used",
    "held",
    "movedBytes",
    "transfers",
    "tookMicros",
  ],
  AttemptFailed: ["run", "node", "attempt", "startedAt", "code", "message", "costMicros", "retry", "used"],
  AttemptTimedOut: ["run", "node", "attempt", "startedAt"],
  AttemptLost: ["run", "node", "attempt", "startedAt"],
  AttemptCancelled: ["run", "node", "attempt", "startedAt"],
  ReportRefused: ["run", "node", "attempt", "report", "code", "taskId", "worker"],
  CancelRequested: ["run", "node"],
  ChunkLost: ["run", "node", "worker"],
  RunReleased: ["run"],
  TaskBudgetExhausted: ["run", "node", "attempt", "part", "recharges"],
  TaskRecharged: ["run", "node", "attempt", "amounts"],
  AgentConfigured: ["zone", "agent", "max", "rateCount", "ratePeriodMs"],
  ZoneConfigured: ["zone", "max"],
  LimitConfigured: ["zone", "name", "concurrency", "rateCount", "ratePeriodMs"],
  CreditsGranted: ["zone", "agent", "micros"],
  ClockCorrected: ["offsetMs"],
  QueuePaused: ["zone", "executor"],
  QueueResumed: ["zone", "executor"],
  AuditRecorded: ["hash"],
  TaskAssigned: ["run", "node", "attempt", "worker", "reason", "runnerUp", "rejected"],
  TaskSpeculated: ["run", "node", "first", "count", "because"],
  VoteTaken: ["run", "node", "winner", "by", "scores"],
  TaskReused: ["run", "node", "taskId", "resultHash", "resultBytes"],
  ExpansionEnded: ["run", "node", "child"],
  TaskRetried: ["run", "node", "dueAt"],
  TaskFailed: ["run", "node", "code"],
  TaskCancelled: ["run", "node"],
  TasksSkipped: ["run", "node", "nodes"],
  TasksWithdrawn: ["run", "nodes"],
  TaskRecalled: ["run", "node", "attempt", "worker", "idle", "waitMicros", "queueMicros", "moveMicros"],
  ChunksFreed: ["run", "nodes"],
  CacheEvicted: ["zone", "key"],
  NodesRecomputed: ["run", "nodes"],
  CancelSignalled: ["run", "node", "attempt"],
  ReservationMade: ["run", "node", "worker", "freeAt"],
  RoomReserved: ["run", "node"],
  RunEnded: ["run", "outcome"],
};

const DECISIONS: ReadonlySet<EventKind> = new Set<EventKind>([
  "TaskAssigned",
  "TaskSpeculated",
  "VoteTaken",
  "TaskReused",
  "ExpansionEnded",
  "TaskRetried",
  "TaskFailed",
  "TaskCancelled",
  "TasksSkipped",
  "TasksWithdrawn",
  "TaskRecalled",
  "ChunksFreed",
  "CacheEvicted",
  "NodesRecomputed",
  "CancelSignalled",
  "ReservationMade",
  "RoomReserved",
  "RunEnded",
]);

export function isDecision(event: LedgerEvent): boolean {
  return DECISIONS.has(event.kind);
}

export function encodeEvent(event: LedgerEvent): string {
  const wire: unknown[] = [event.kind];
  const from = event as unknown as Record<string, unknown>;
  for (const field of FIELDS[event.kind]) {
    const value = from[field];
    wire.push(field === "reason" ? wireReason(value as Reason) : value);
  }
  while (wire.at(-1) === undefined) wire.pop();
  return JSON.stringify(wire);
}

const MAY_BE_LEFT_OUT: ReadonlySet<string> = new Set([
  "costMicros",
  "assessment",
  "used",
  "held",
  "movedBytes",
  "transfers",
  "taskId",
]);

export function decodeEvent(wire: unknown): LedgerEvent {
  invariant(Array.isArray(wire), "an event in the ledger is an array");
  const [kind, ...values] = wire as [EventKind, ...unknown[]];
  const fields: readonly string[] | undefined = Object.hasOwn(FIELDS, kind) ? FIELDS[kind] : undefined;
  invariant(fields !== undefined, `the event kind ${String(kind)} is known to this version`);
  const event: Record<string, unknown> = { kind };
  for (const [at, field] of fields.slice(0, values.length).entries()) {
    // What is left out before something that is not.
    if (values[at] === null && MAY_BE_LEFT_OUT.has(field)) continue;
    event[field] = field === "reason" ? reasonOf(values[at] as readonly unknown[]) : values[at];
  }
  return event as unknown as LedgerEvent;
}

export function wireReason(reason: Reason): readonly unknown[] {
  return Object.values(reason);
}

function reasonOf([type, first, second, third, fourth]: readonly unknown[]): Reason {
  const known = type as Reason["type"];
  switch (known) {
    case "OnlyWorkerAvailable":
      return { type: known };
    case "ResourceFit":
      return { type: known, availableCpu: Number(first), requiredCpu: Number(second) };
    case "LeastLoaded":
      return { type: known, queueDepth: Number(first) };
    case "RoundRobin":
      return { type: known, index: Number(first) };
    case "Random":
      return { type: known, hash: Number(first) };
    case "Affinity":
      return { type: known, because: first as Extract<Reason, { type: "Affinity" }>["because"] };
    case "DataAffinity":
      return {
        type: known,
        heldBytes: Number(first),
        movedBytes: Number(second),
        waitMicros: Number(third),
        leadMicros: Number(fourth),
      };
  }
}
