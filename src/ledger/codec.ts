import { invariant } from "../core/index.ts";
import type { WireSpec } from "../graph/index.ts";
import type { Reason } from "../placement/index.ts";
import type {
  AttemptFinished,
  EventKind,
  EventOf,
  LedgerEvent,
  TaskAssigned,
  TaskSubmitted,
} from "./events.ts";

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
  SubmissionsRefused: ["agent", "code", "count"],
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
  ReportRefused: ["run", "node", "attempt", "report", "code"],
  CancelRequested: ["run", "node"],
  ChunkLost: ["run", "node", "worker"],
  RunReleased: ["run"],
  TaskBudgetExhausted: ["run", "node", "attempt", "part", "recharges"],
  TaskRecharged: ["run", "node", "attempt", "amounts"],
  AgentConfigured: ["zone", "agent", "max", "rateCount", "ratePeriodMs"],
  ZoneConfigured: ["zone", "max"],
  LimitConfigured: ["zone", "name", "concurrency", "rateCount", "ratePeriodMs"],
  CreditsGranted: ["zone", "agent", "micros"],
  QueuePaused: ["zone", "executor"],
  QueueResumed: ["zone", "executor"],
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

/** The kinds that a task always has are written by hand: this is half of what recording costs. */
export function encodeEvent(event: LedgerEvent): string {
  switch (event.kind) {
    case "TaskAssigned":
      return encodeAssigned(event);
    case "AttemptFinished":
      return encodeFinished(event);
    case "TaskSubmitted":
      return encodeSubmitted(event);
    default:
      return encodeByTable(event);
  }
}

export function encodeByTable(event: LedgerEvent): string {
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

function encodeAssigned(event: TaskAssigned): string {
  const { run, node, attempt, worker, reason, runnerUp, rejected } = event;
  return `["TaskAssigned",${run},${node},${attempt},${worker},${encodeReason(reason)},${runnerUp},[${rejected.join()}]]`;
}

function encodeSubmitted(event: TaskSubmitted): string {
  const { id, agent, zone, spec, requestState, boostMicros, deadline, runAt, requestHash, attempts } = event;
  const names = `${quoted(id)},${quoted(agent)},${quoted(zone)}`;
  const times = `${boostMicros},${deadline},${runAt}`;
  const requeued = event.requeued === undefined ? "" : `,${event.requeued}`;
  return `["TaskSubmitted",${names},${encodeSpec(spec)},"${requestState}",${times},${quoted(requestHash)},${attempts}${requeued}]`;
}

const PLAIN = /^[\w.:-]*$/;

/** Names and hashes have nothing to escape, and to see that takes less than to look for it. */
function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

const SPEC_TEXTS = new WeakMap<WireSpec, string>();

/** Tasks of one kind share their specification. */
function encodeSpec(spec: WireSpec): string {
  let text = SPEC_TEXTS.get(spec);
  if (text === undefined) {
    text = JSON.stringify(spec);
    SPEC_TEXTS.set(spec, text);
  }
  return text;
}

function encodeFinished(event: AttemptFinished): string {
  if (event.held || event.movedBytes) return encodeByTable(event);
  const { run, node, attempt, startedAt, resultHash, resultBytes, costMicros, assessment, used, tookMicros } =
    event;
  const begun = `["AttemptFinished",${run},${node},${attempt},${startedAt},${quoted(resultHash)},${resultBytes}`;
  if (assessment === undefined && used === undefined) {
    if (tookMicros !== undefined)
      return `${begun},${costMicros ?? null},null,null,null,null,null,${tookMicros}]`;
    return costMicros === undefined ? `${begun}]` : `${begun},${costMicros}]`;
  }
  if (tookMicros !== undefined) return encodeByTable(event);
  const told = used === undefined ? "" : `,[${used}]`;
  return `${begun},${costMicros ?? 0},${JSON.stringify(assessment ?? null)}${told}]`;
}

function encodeReason(reason: Reason): string {
  if (reason.type === "LeastLoaded") return `["LeastLoaded",${reason.queueDepth}]`;
  if (reason.type === "OnlyWorkerAvailable") return '["OnlyWorkerAvailable"]';
  return JSON.stringify(wireReason(reason));
}

function wireReason(reason: Reason): readonly unknown[] {
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
