import { type Static, Type } from "typebox";
import {
  Amount,
  Count,
  KeyIdOrNull,
  Name,
  OrNull,
  SuspendedReason,
  Time,
  TimeOrNull,
  Uuid,
} from "./api-parts.ts";

/** As large as the amounts that count towards it, such as tokens. */
const MAX_CONCURRENT = 1_000_000_000;
const Concurrency = OrNull(
  Type.Integer({ minimum: 0, maximum: MAX_CONCURRENT, description: "Null: no limit.", examples: [10] }),
);
const closed = { additionalProperties: false };

const Bytes = (description: string) => Type.Integer({ minimum: 0, description });
/** Absent where a worker holds none, or has not said how many yet. */
const WorkerChunks = Type.Object(
  {
    held_bytes: Bytes("Results in its memory."),
    spilled_bytes: Bytes("Results on its disk."),
    moved_bytes: Bytes("What it fetched from other workers since it started."),
    freed_bytes: Bytes("What it was told to forget since it started."),
  },
  { description: "Results that it holds for other nodes, as its last heartbeat has it." },
);

const RunningTask = Type.Object({
  id: Uuid,
  task_type: Type.String(),
  node: OrNull(Type.String({ description: "Where it is a node of a run." })),
  attempt: Count,
  since: Time("When it began or, where nobody knows that yet, was given to the worker."),
  started: Type.Boolean({ description: "Whether it is known to have begun." }),
});

export type WorkerAnswer = Static<typeof WorkerAnswer>;
export const WorkerAnswer = Type.Object(
  {
    id: Type.String(),
    zone: Type.String({ description: "Its home; empty: another zone." }),
    zones: Type.Array(Type.String()),
    executors: Type.Array(Type.String()),
    task_types: Type.Array(Type.String()),
    capabilities: Type.Array(Type.String()),
    status: Type.String(),
    slots: Count,
    held: Type.Integer({ minimum: 0, description: "How many tasks it has." }),
    io_slots: Type.Integer({
      minimum: 0,
      description: "How many nodes with `io` it takes beside its slots; 0: none, they take slots.",
    }),
    io_held: Type.Integer({ minimum: 0, description: "How many of its tasks are such." }),
    cpu_millicores: Count,
    free_cpu_millicores: Count,
    memory_bytes: Count,
    free_memory_bytes: Count,
    chunks: Type.Optional(WorkerChunks),
    running: Type.Array(RunningTask, {
      description:
        "What it has of what the caller may see, up to 100 tasks, in the order in which it got them.",
    }),
    rejects: Type.Record(Type.String(), Count, {
      description: "Of what is ready and meant for it, how much it cannot take now, by the first reason.",
      examples: [{ queue: 12, memory: 3 }],
    }),
  },
  { title: "Worker" },
);
export type WorkersAnswer = Static<typeof WorkersAnswer>;
export const WorkersAnswer = Type.Object({ workers: Type.Array(WorkerAnswer) });

export type DrainAnswer = Static<typeof DrainAnswer>;
export const DrainAnswer = Type.Object({ draining: Type.Boolean(), worker_id: Type.String() });

export type PauseBody = Static<typeof PauseBody>;
export const PauseBody = Type.Object(
  { executor: Type.Optional(Name("By default the whole zone.", "agent-worker-1")) },
  closed,
);
export type PauseAnswer = Static<typeof PauseAnswer>;
export const PauseAnswer = Type.Object({ paused: Type.Boolean(), executor: OrNull(Type.String()) });

const Rate = Type.Object(
  {
    // Their product is counted in milliseconds, exactly, so both have an end.
    count: Type.Integer({ minimum: 1, maximum: 1_000_000, examples: [100] }),
    per_seconds: Type.Number({ minimum: 0.001, maximum: 86_400, examples: [60] }),
  },
  { ...closed, examples: [{ count: 100, per_seconds: 60 }] },
);
export type AgentAnswer = Static<typeof AgentAnswer>;
export const AgentAnswer = Type.Object(
  {
    agent: Type.String(),
    running_count: Count,
    max_concurrent: OrNull(Count),
    own_max_concurrent: Type.Boolean({
      description: "Whether it was set for this agent, rather than for its zone or for all.",
    }),
    rate: OrNull(Rate),
    own_rate: Type.Boolean({ description: "Whether it was set for this agent, rather than for all." }),
    credits: Amount,
    reserved_credits: Amount,
    cost: Amount,
  },
  { title: "Agent" },
);
export type AgentsAnswer = Static<typeof AgentsAnswer>;
export const AgentsAnswer = Type.Object({ agents: Type.Array(AgentAnswer) });

export type ConcurrencyBody = Static<typeof ConcurrencyBody>;
export const ConcurrencyBody = Type.Object({ max_concurrent: Type.Optional(Concurrency) }, closed);
export type AgentBody = Static<typeof AgentBody>;
export const AgentBody = Type.Object(
  { max_concurrent: Type.Optional(Concurrency), rate: Type.Optional(OrNull(Rate)) },
  closed,
);
export type ZoneAnswer = Static<typeof ZoneAnswer>;
export const ZoneAnswer = Type.Object({ zone: Type.String(), max_concurrent: Type.Optional(Concurrency) });

export type CreditsBody = Static<typeof CreditsBody>;
export const CreditsBody = Type.Object(
  {
    amount: Type.Union([Type.String({ maxLength: 32 }), Type.Number({ minimum: 0 })], {
      description: "A decimal (text or number) with up to 6 places.",
      examples: ["10.5"],
    }),
  },
  closed,
);

export type LimitBody = Static<typeof LimitBody>;
export const LimitBody = Type.Object(
  { concurrency: Type.Optional(Concurrency), rate: Type.Optional(OrNull(Rate)) },
  closed,
);
export type LimitAnswer = Static<typeof LimitAnswer>;
export const LimitAnswer = Type.Object(
  { name: Type.String(), concurrency: Concurrency, rate: OrNull(Rate), running_count: Count },
  { title: "Limit" },
);
export type LimitsAnswer = Static<typeof LimitsAnswer>;
export const LimitsAnswer = Type.Object({ limits: Type.Array(LimitAnswer) });

const SCOPE_NAMES = ["submit", "read", "work", "admin", "operator"] as const;
const KeyNames = Type.Array(Name('A name, or "*" for all.', "*"), { minItems: 1, maxItems: 1000 });

export type KeyBody = Static<typeof KeyBody>;
export const KeyBody = Type.Object(
  {
    name: Name("What the key is for.", "ci"),
    scopes: Type.Array(Type.Enum([...SCOPE_NAMES]), {
      minItems: 1,
      maxItems: 5,
      examples: [["submit", "read"]],
    }),
    zones: KeyNames,
    agents: KeyNames,
    expires_at: Type.Optional(
      OrNull(
        Type.String({
          maxLength: 64,
          description: "RFC 3339 with a zone.",
          examples: ["2027-01-01T00:00:00Z"],
        }),
      ),
    ),
  },
  closed,
);

const key = {
  id: Type.String(),
  name: Type.String(),
  scopes: Type.Array(Type.Enum([...SCOPE_NAMES])),
  zones: Type.Array(Type.String()),
  agents: Type.Array(Type.String()),
  created_at: Time("When it was made."),
  expires_at: TimeOrNull("Not valid from then on."),
  revoked_at: TimeOrNull("When it was revoked."),
  key_id: KeyIdOrNull,
  suspended_reason: SuspendedReason,
  standing_still: Type.Integer({
    description: "Schedules and webhooks that stand still because this key has ended.",
  }),
};
export type KeyAnswer = Static<typeof KeyAnswer>;
export const KeyAnswer = Type.Object(key, { title: "Key" });
export type KeysAnswer = Static<typeof KeysAnswer>;
export const KeysAnswer = Type.Object({ keys: Type.Array(KeyAnswer) });
export type NewKeyAnswer = Static<typeof NewKeyAnswer>;
export const NewKeyAnswer = Type.Object(
  { ...key, secret: Type.String({ description: "Shown this once; only a hash of it is kept." }) },
  { title: "NewKey" },
);

const MadeItems = (description: string) =>
  Type.Array(Type.Object({ id: Type.String(), name: Type.String(), zone: Type.Optional(Type.String()) }), {
    description,
  });
export type KeyMade = Static<typeof KeyMade>;
const KeyMade = Type.Object(
  {
    keys: MadeItems("Keys, and for those that ended also the keys that they made."),
    schedules: MadeItems("Recurring tasks."),
    webhooks: MadeItems("Webhooks, named by the origin of their URL."),
  },
  { title: "KeyMade" },
);

export type RevokeBody = Static<typeof RevokeBody>;
export const RevokeBody = Type.Object(
  {
    hand_over_to: Type.Optional(
      Name(
        "Id or name of the key that everything goes on under that this key made. Left out: it ends.",
        "ci",
      ),
    ),
  },
  closed,
);
export type RevokedKeyAnswer = Static<typeof RevokedKeyAnswer>;
export const RevokedKeyAnswer = Type.Object(
  {
    ...key,
    ended: KeyMade,
    handed_over_to: OrNull(Type.Object({ id: Type.String(), name: Type.String() })),
    handed_over: KeyMade,
  },
  { title: "RevokedKey" },
);

export type RotateBody = Static<typeof RotateBody>;
export const RotateBody = Type.Object(
  {
    overlap_seconds: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 86_400 * 365,
        default: 3600,
        description: "How long the old secret stays valid.",
        examples: [3600],
      }),
    ),
  },
  closed,
);

export type HealthAnswer = Static<typeof HealthAnswer>;
export const HealthAnswer = Type.Object(
  { status: Type.Enum(["ok", "starting", "unavailable"]), detail: Type.Optional(Type.String()) },
  { title: "Health", additionalProperties: true },
);

export type ClusterAnswer = Static<typeof ClusterAnswer>;
export const ClusterAnswer = Type.Object(
  {
    name: Type.String({ description: "The server that answers." }),
    leader: OrNull(
      Type.Object({
        name: Type.String(),
        url: OrNull(Type.String({ description: "Null: it is part of a program, and takes no requests." })),
      }),
    ),
    epoch: Type.Integer({ description: "Grows whenever another one leads." }),
    seq: Type.Integer({ description: "The last event that is committed." }),
    members: Type.Array(
      Type.Object({
        name: Type.String(),
        url: Type.String(),
        role: Type.Enum(["leader", "follower", "starting", "lost"]),
        seq: Type.Integer({ description: "The last event that it has applied." }),
        lag: Type.Integer({ description: "Events that it has not applied yet." }),
        seen_seconds_ago: Type.Number(),
      }),
    ),
  },
  { title: "Cluster" },
);

export type StepDownAnswer = Static<typeof StepDownAnswer>;
export const StepDownAnswer = Type.Object(
  {
    name: Type.String({ description: "The server that steps down." }),
    epoch: Type.Integer({ description: "The epoch that ends." }),
  },
  { title: "StepDown" },
);
