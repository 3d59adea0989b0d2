import { type Static, Type } from "typebox";
import {
  AssignedData,
  ChunkHandle,
  ChunkIds,
  ChunkMemory,
  DataUrl,
  MAX_INSTANT,
  MissingChunks,
  Transfers,
} from "./chunk-messages.ts";

/**
 * What a worker and a server say to each other, over WebSocket or by HTTP (docs/worker-protocol.md).
 *
 * A worker process has a session, a random text that it makes up when it starts. As long as the session is the
 * same, a worker that comes back after a broken connection or a restart of the server goes on with what it runs.
 * A report is repeated until it is acknowledged; the server accepts it once.
 */

const WORKER_PROTOCOL = 1;

const Name = Type.String({ minLength: 1, maxLength: 256 });
const Names = Type.Array(Name, { maxItems: 1000 });
const Millis = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** One try at a task. */
const attempt = {
  task: Type.String({ format: "uuid" }),
  attempt: Type.Integer({ minimum: 1, maximum: 2 ** 31 }),
};
/** An attempt and when it began, on the worker's clock; -1: it never did. */
const begun = { ...attempt, started_at: Type.Integer({ minimum: -1, maximum: MAX_INSTANT }) };
/** In whatever unit, as long as it is the same everywhere. */
const cost = { cost: Type.Optional(Type.Number({ minimum: 0, maximum: 1e9 })) };

export type Registration = Static<typeof Registration>;
export const Registration = Type.Object({
  protocol: Type.Literal(WORKER_PROTOCOL),
  id: Name,
  session: Type.String({ minLength: 8, maxLength: 64 }),
  /** Its home zone; by default that of its key. */
  zone: Type.Optional(Name),
  /** Further zones whose tasks it runs; its key must allow them. */
  zones: Type.Optional(Names),
  executors: Type.Array(Name, { minItems: 1, maxItems: 1000 }),
  /** The task types that it can run: it gets no others. */
  types: Type.Array(Name, { minItems: 1, maxItems: 1000 }),
  capabilities: Type.Optional(Names),
  cpu_millicores: Type.Integer({ minimum: 0, maximum: 1e9 }),
  memory_bytes: Millis,
  /** How many tasks it runs at once. */
  slots: Type.Integer({ minimum: 1, maximum: 10_000 }),
  /** How many tasks it runs beside these that say that they mostly wait (`io`); without it, they take slots. */
  io_slots: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  /** It gives back what it has not begun when it is asked to; without it, nobody asks. */
  gives_back: Type.Optional(Type.Boolean()),
  /** Where others fetch its chunks; without it, it gets no node whose result may have to stay with it. */
  data_url: Type.Optional(DataUrl),
});

/** What a worker thinks of a result. Alternatives of one node are compared by it. */
export type Assessment = Static<typeof Assessment>;
export const Assessment = Type.Object({
  /** False: it is no solution. Without it, a result is taken to be one. */
  verified: Type.Optional(Type.Boolean()),
  /** 0 to 1. */
  confidence: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  /** How many lines, or whatever else, it changes. */
  lines: Type.Optional(Millis),
  /** Of using it; without it, that of the node. */
  risk: Type.Optional(
    Type.Union([Type.Literal("low"), Type.Literal("medium"), Type.Literal("high"), Type.Literal("critical")]),
  ),
});

const Amounts = Type.Object({
  ops: Millis,
  memory: Millis,
  spawn_count: Millis,
  channel_ops: Millis,
  syscalls: Millis,
});
/** What an attempt with a budget has consumed. */
const used = { used: Type.Optional(Amounts) };

/** So much more than it was given may be consumed, in all, after so many times. */
export type Recharge = Static<typeof Recharge>;
export const Recharge = Type.Object({
  ...attempt,
  recharges: Type.Integer({ minimum: 1 }),
  amounts: Amounts,
});

export type Report = Static<typeof Report>;
export const Report = Type.Union([
  Type.Object({
    type: Type.Literal("finished"),
    ...begun,
    ...cost,
    ...used,
    result: Type.Optional(Type.Unknown()),
    /** Of a run with data. Without `result` beside it, the worker holds it. */
    chunk: Type.Optional(ChunkHandle),
    /** Instead of a result: nodes for its run, and the one whose result is the task's. */
    expansion: Type.Optional(
      Type.Object({ graph: Type.Record(Type.String(), Type.Unknown()), result: Name }),
    ),
    /** Bytes that were fetched from other workers for it. */
    moved: Type.Optional(Millis),
    /** And how they came. */
    transfers: Type.Optional(Transfers),
    /** Of a run with data: how long it ran, in microseconds by the worker's own clock. */
    took_us: Type.Optional(Millis),
    assessment: Type.Optional(Assessment),
  }),
  Type.Object({
    type: Type.Literal("failed"),
    ...begun,
    ...cost,
    ...used,
    code: Type.String({ minLength: 1, maxLength: 64 }),
    message: Type.String({ maxLength: 10_000 }),
    /** False: trying again would fail again. */
    retry: Type.Optional(Type.Boolean()),
    /** With `input-missing`: who did not give which input. */
    missing: Type.Optional(MissingChunks),
  }),
  Type.Object({ type: Type.Literal("timed_out"), ...begun, ...cost }),
  Type.Object({ type: Type.Literal("cancelled"), ...begun, ...cost }),
  /** Given back: it had not begun, and never will. */
  Type.Object({ type: Type.Literal("returned"), ...attempt, started_at: Type.Literal(-1) }),
]);

/** It has used up a part of its budget, after it was recharged so often. */
const exhausted = {
  exhausted: Type.Optional(
    Type.Object({
      part: Type.Enum(["ops", "memory", "spawn_count", "channel_ops", "syscalls"]),
      recharges: Type.Integer({ minimum: 0 }),
    }),
  ),
};

/** All that the worker was given and whose end has not been acknowledged, and how it does. */
export type Heartbeat = Static<typeof Heartbeat>;
export const Heartbeat = Type.Object({
  attempts: Type.Array(Type.Object({ ...begun, ...exhausted }), { maxItems: 20_000 }),
  /** 0 to 1. */
  load: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  overloaded: Type.Optional(Type.Boolean()),
  memory: Type.Optional(ChunkMemory),
});

export type LogEntry = Static<typeof LogEntry>;
export const LogEntry = Type.Object({
  ...attempt,
  at: Type.Integer({ minimum: 0, maximum: MAX_INSTANT }),
  stream: Type.Union([Type.Literal("stdout"), Type.Literal("stderr"), Type.Literal("log")]),
  text: Type.String({ maxLength: 16_384 }),
});

export type Progress = Static<typeof Progress>;
export const Progress = Type.Object({
  ...attempt,
  /** 0 to 1. */
  fraction: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  message: Type.Optional(Type.String({ maxLength: 1000 })),
});

/** A task for a worker to begin. */
export type Assignment = Static<typeof Assignment>;
export const Assignment = Type.Object({
  ...attempt,
  task_type: Type.String(),
  executor: Type.String(),
  zone: Type.String(),
  agent: Type.String(),
  payload: Type.Unknown(),
  /** 0: no limit. */
  timeout_ms: Millis,
  /** What it may consume; without it, as much as it likes. */
  budget: Type.Optional(Type.Object({ ...Amounts.properties, on_exhausted: Type.Enum(["wait", "fail"]) })),
  /** What it may do, beside what every task may. */
  capabilities: Type.Optional(Type.Array(Type.String())),
  /** The run and node that it belongs to. */
  run: Type.Optional(Type.String()),
  node: Type.Optional(Type.String()),
  /** The node is tried in several ways at once, and this is one of them: `speculate:primary`, `speculate:alt1` … */
  alternative: Type.Optional(Type.String()),
  data: Type.Optional(AssignedData),
  /** Of whoever submitted it, as W3C Trace Context has it. */
  traceparent: Type.Optional(Type.String()),
  tracestate: Type.Optional(Type.String()),
});

/** Reports in one message. */
export const MAX_REPORTS = 1000;

/** From a worker over WebSocket. */
export type WorkerMessage = Static<typeof WorkerMessage>;
export const WorkerMessage = Type.Union([
  Type.Object({ type: Type.Literal("register"), registration: Registration, heartbeat: Heartbeat }),
  Type.Object({ type: Type.Literal("report"), ref: Type.Integer({ minimum: 0 }), report: Report }),
  /** As many as the server said that it takes. */
  Type.Object({
    type: Type.Literal("reports"),
    ref: Type.Integer({ minimum: 0 }),
    reports: Type.Array(Report, { minItems: 1, maxItems: MAX_REPORTS }),
  }),
  Type.Object({ type: Type.Literal("heartbeat"), heartbeat: Heartbeat }),
  Type.Object({ type: Type.Literal("log"), entries: Type.Array(LogEntry, { maxItems: 1000 }) }),
  Type.Object({ type: Type.Literal("progress"), progress: Progress }),
  /** What it holds, after it has registered; in as many messages as it takes. */
  Type.Object({ type: Type.Literal("chunks"), chunks: ChunkIds }),
  /** Wants nothing new. */
  Type.Object({ type: Type.Literal("drain") }),
  /** Ends; what it still held is lost. */
  Type.Object({ type: Type.Literal("leave") }),
]);

/** The answer to a report, once it is committed. Not accepted: the attempt is no longer current; it is settled too. */
export type Ack = Static<typeof Ack>;
export const Ack = Type.Object({ accepted: Type.Boolean(), code: Type.Optional(Type.String()) });

/** To a worker over WebSocket. */
export type ServerMessage = Static<typeof ServerMessage>;
export const ServerMessage = Type.Union([
  Type.Object({
    type: Type.Literal("registered"),
    worker: Type.String(),
    /** Silence for this long loses the worker. */
    lease_ms: Millis,
    heartbeat_ms: Millis,
    /** How many reports may come in one message; without it, one. */
    max_reports: Type.Optional(Type.Integer({ minimum: 1 })),
  }),
  /** Over WebSocket, `common` has what all of them have in common: each has that beside its own members, also in its `data`. */
  Type.Object({
    type: Type.Literal("assign"),
    common: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    assignments: Type.Array(Assignment),
  }),
  Type.Object({ type: Type.Literal("cancel"), attempts: Type.Array(Type.Object(attempt)) }),
  /** Another worker stands idle: what has not begun is to be reported as returned. */
  Type.Object({ type: Type.Literal("recall"), attempts: Type.Array(Type.Object(attempt)) }),
  Type.Object({ type: Type.Literal("recharge"), recharges: Type.Array(Recharge) }),
  /** Nobody needs them any more. */
  Type.Object({ type: Type.Literal("free"), chunks: ChunkIds }),
  Type.Object({ type: Type.Literal("drain") }),
  Type.Object({ type: Type.Literal("ack"), ref: Type.Integer(), ack: Ack }),
  /** In the order of the reports. */
  Type.Object({ type: Type.Literal("acks"), ref: Type.Integer(), acks: Type.Array(Ack) }),
  /** The server closes the connection after it. With `retry` the worker may come back. */
  Type.Object({
    type: Type.Literal("error"),
    code: Type.String(),
    message: Type.String(),
    retry: Type.Boolean(),
  }),
]);

/** By HTTP: what a poll brings. */
export type PollAnswer = Static<typeof PollAnswer>;
export const PollAnswer = Type.Object({
  assignments: Type.Array(Assignment),
  cancel: Type.Array(Type.Object(attempt)),
  recall: Type.Optional(Type.Array(Type.Object(attempt))),
  recharge: Type.Optional(Type.Array(Recharge)),
  free: Type.Optional(ChunkIds),
  drain: Type.Boolean(),
});
