import { type Static, Type } from "typebox";
import { MAX_NAMES } from "../graph/index.ts";
import {
  Amount,
  Count,
  CountsByStatus,
  Name,
  NextCursor,
  OrNull,
  PRIORITY_NAMES,
  PriorityClassName,
  ProblemDocument,
  REQUEST_STATE_NAMES,
  TaskStatus,
  Time,
  TimeOrNull,
  Uuid,
} from "./api-parts.ts";
import { EventData } from "./api-runs.ts";
import { ChunkHandle } from "./chunk-messages.ts";

const MAX_SECONDS = 3650 * 24 * 3600;
const MAX_BATCH = 10_000;
/** So many of a thousand million tasks at once can still be counted exactly. */
const MAX_AMOUNT = 1_000_000_000;

const Payload = Type.Record(Type.String(), Type.Unknown(), {
  description: "What the worker gets: a JSON object of up to 1 MiB.",
  examples: [{ action: "noop" }],
});
const Names = Type.Array(Name("A name.", "net"), {
  maxItems: MAX_NAMES,
  description: `Up to ${MAX_NAMES} names.`,
  examples: [["net"]],
});
const Amounts = Type.Record(
  Type.String({ pattern: "^[^\\p{Cc}\\p{Cs}]{1,256}$" }),
  Type.Integer({ minimum: 0, maximum: MAX_AMOUNT }),
  { additionalProperties: false, maxProperties: MAX_NAMES },
);
const Instant = Type.String({
  maxLength: 64,
  description: "RFC 3339 with a zone.",
  examples: ["2026-03-01T10:00:00Z"],
});

const PartCount = Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 });

const budgetParts = {
  ops: Type.Optional(PartCount),
  memory: Type.Optional(
    Type.Union([Type.Integer({ minimum: 0 }), Type.String({ maxLength: 64 })], {
      description: "Bytes, or a size as text.",
      examples: ["16MiB"],
    }),
  ),
  spawn_count: Type.Optional(PartCount),
  channel_ops: Type.Optional(PartCount),
  syscalls: Type.Optional(PartCount),
};

export type RechargeBody = Static<typeof RechargeBody>;
export const RechargeBody = Type.Object(budgetParts, {
  additionalProperties: false,
  minProperties: 1,
  description: "How much more it may consume.",
  examples: [{ ops: 50_000 }],
});

const BudgetAmounts = Type.Object({
  ops: Type.Integer(),
  memory: Type.Integer(),
  spawn_count: Type.Integer(),
  channel_ops: Type.Integer(),
  syscalls: Type.Integer(),
});

const BudgetState = Type.Object(
  {
    given: BudgetAmounts,
    on_exhausted: Type.Enum(["wait", "fail"]),
    recharged: BudgetAmounts,
    exhausted: OrNull(Type.String({ description: "What it has used up and waits for." })),
    used: OrNull(BudgetAmounts),
  },
  {
    title: "TaskBudget",
    description: "What its attempt may consume; what it did is known at its end. Null: it has no budget.",
  },
);

export type SubmitBody = Static<typeof SubmitBody>;
export const SubmitBody = Type.Object(
  {
    executor: Name("Who should run it: workers say which executors they serve.", "agent-worker-1"),
    task_type: Name("What the worker shall do.", "resize_image"),
    payload: Type.Optional(Payload),
    priority: Type.Optional(Type.Enum([...PRIORITY_NAMES], { default: "normal" })),
    request_state: Type.Optional(
      Type.Enum([...REQUEST_STATE_NAMES], { default: "pending", description: "What the task mostly does." }),
    ),
    estimated_service_time: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: MAX_SECONDS,
        default: 30,
        description: "How long it should run, in seconds.",
        examples: [30],
      }),
    ),
    boost: Type.Optional(
      Type.Union([Type.String({ maxLength: 32 }), Type.Number({ minimum: 0 })], {
        description: "Credits for a higher tier, as a decimal (text or number) with up to 6 places.",
        examples: ["0.01"],
      }),
    ),
    deadline: Type.Optional(OrNull(Instant)),
    run_at: Type.Optional(OrNull(Instant)),
    idempotency_key: Type.Optional(
      OrNull(Name("The same key means the same task. The Idempotency-Key header does the same.", "order-17")),
    ),
    resources: Type.Optional(
      Type.Object(
        {
          cpu: Type.Optional(
            Type.Union([Type.Number({ minimum: 0 }), Type.String({ maxLength: 64 })], {
              description: "Cores, or millicores as text.",
              examples: ["500m"],
            }),
          ),
          memory: Type.Optional(
            Type.Union([Type.Integer({ minimum: 0 }), Type.String({ maxLength: 64 })], {
              description: "Bytes, or a size as text.",
              examples: ["512MiB"],
            }),
          ),
        },
        { additionalProperties: false, examples: [{ cpu: 0.5, memory: "512MiB" }] },
      ),
    ),
    capabilities: Type.Optional(Names),
    limits: Type.Optional(
      Type.Union([Names, Amounts], {
        description: "Names of limits that it counts for, or what it counts towards each of them.",
        examples: [{ openai: 1, gpu: 2 }],
      }),
    ),
    tokens: Type.Optional(
      OrNull(
        Type.Integer({
          minimum: 0,
          maximum: MAX_AMOUNT,
          description: "What it counts towards the limit named tokens.",
          examples: [50_000],
        }),
      ),
    ),
    budget: Type.Optional(
      OrNull(
        Type.Object(
          {
            ...budgetParts,
            on_exhausted: Type.Optional(
              Type.Enum(["wait", "fail"], {
                default: "wait",
                description: "Whether it waits until it is recharged, or fails, when a part is used up.",
              }),
            ),
          },
          {
            additionalProperties: false,
            description: "What an attempt may consume on its worker; what is left out has a default.",
            examples: [{ ops: 50_000, syscalls: 20 }],
          },
        ),
      ),
    ),
    max_attempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 101, default: 3, examples: [3] })),
    retry_backoff: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: MAX_SECONDS,
        default: 1,
        description: "Seconds before the second attempt; it doubles with each further one.",
        examples: [1],
      }),
    ),
    timeout: Type.Optional(
      OrNull(
        Type.Number({
          exclusiveMinimum: 0,
          maximum: MAX_SECONDS,
          description: "Seconds that an attempt may take.",
          examples: [60],
        }),
      ),
    ),
  },
  { title: "Submission", additionalProperties: false },
);

export type BatchBody = Static<typeof BatchBody>;
export const BatchBody = Type.Object(
  { tasks: Type.Array(SubmitBody, { minItems: 1, maxItems: MAX_BATCH }) },
  { additionalProperties: false },
);

const summary = {
  id: Uuid,
  status: TaskStatus,
  priority_tier: Type.Enum([...PRIORITY_NAMES]),
  priority_class: PriorityClassName,
  effective_tier: Type.Integer({
    minimum: 0,
    maximum: 4,
    description: "After boost and ageing; 0 is the highest.",
  }),
  request_state: Type.Enum([...REQUEST_STATE_NAMES]),
  executor_id: Type.String(),
  agent_id: Type.String({ description: "Who submitted it." }),
  zone: Type.String(),
  task_type: Type.String(),
  enqueued_at: Time("When it was submitted."),
  started_at: TimeOrNull("When its last attempt began."),
  completed_at: TimeOrNull("When it ended, however it did."),
  deadline: TimeOrNull("It fails if it has not started by then."),
  run_at: TimeOrNull("It does not start before."),
  estimated_service_time: Type.Number({ description: "Seconds." }),
  boost_amount: Amount,
  cost: Amount,
  attempt: Type.Integer({ minimum: 0, description: "0: none has begun." }),
  worker_id: OrNull(Type.String()),
  error_code: OrNull(Type.String()),
  error_message: OrNull(Type.String()),
  run_id: OrNull(Type.String({ description: "The run that it belongs to." })),
  node: OrNull(Type.String({ description: "Its place in that run." })),
};

/** A task as lists have it: without what may be large. */
export type TaskSummary = Static<typeof TaskSummary>;
export const TaskSummary = Type.Object(summary, { title: "TaskSummary" });

const Score = Type.Object(
  {
    verification: Type.Integer(),
    confidence: Type.Integer(),
    size: Type.Integer(),
    risk: Type.Integer(),
    speed: Type.Integer(),
    total: Type.Integer(),
  },
  { title: "Score" },
);

const TaskSpeculation = Type.Object(
  {
    because: Type.Union([
      Type.Literal("asked"),
      Type.Literal("forced"),
      Type.Literal("risk-on-critical-path"),
    ]),
    alternatives: Type.Array(
      Type.Object({
        task_id: Uuid,
        tag: Type.String({ description: "`speculate:primary`, `speculate:alt1` and so on." }),
        open: Type.Boolean({ description: "It has not ended." }),
        score: OrNull(Score),
      }),
    ),
    winner: OrNull(Type.String({ description: "The tag of the alternative whose result was taken." })),
    decided_by: OrNull(
      Type.Union([Type.Literal("majority"), Type.Literal("score"), Type.Literal("nobody")], {
        description: "Null before the vote; `nobody`: a person has to look.",
      }),
    ),
  },
  {
    title: "Speculation",
    description:
      "How a node is tried in several ways at once. Null where it is not, or its run is no longer remembered.",
  },
);

export type TaskAnswer = Static<typeof TaskAnswer>;
export const TaskAnswer = Type.Object(
  {
    ...summary,
    payload: Type.Unknown({ description: "As it was submitted." }),
    result: Type.Unknown({
      description: "What the worker reported; null until then, and where a worker holds it.",
    }),
    held_result: OrNull(
      Type.Object(ChunkHandle.properties, {
        title: "HeldResult",
        description:
          "A large result of a node, which stays on its worker. GET its node's result for its bytes.",
      }),
    ),
    progress: OrNull(
      Type.Object({ fraction: OrNull(Type.Number()), message: OrNull(Type.String()) }, { title: "Progress" }),
    ),
    speculation: OrNull(TaskSpeculation),
    budget: OrNull(BudgetState),
  },
  { title: "Task" },
);

export type BatchAnswer = Static<typeof BatchAnswer>;
export const BatchAnswer = Type.Object({
  results: Type.Array(
    Type.Object({
      status: Type.Integer({ description: "As a single submission would have been answered." }),
      task: Type.Optional(TaskSummary),
      problem: Type.Optional(ProblemDocument),
    }),
    { description: "In the order of the request." },
  ),
});

export type TaskPage = Static<typeof TaskPage>;
export const TaskPage = Type.Object({ tasks: Type.Array(TaskSummary), next: NextCursor });

const FILTER = "In the language of filters: `status:queued agent:a1 class:batch type:resize wait>5m`.";
export const FilterText = Type.String({
  maxLength: 2000,
  description: FILTER,
  examples: ["status:failed wait>5m"],
});

export type BulkBody = Static<typeof BulkBody>;
export const BulkBody = Type.Object(
  {
    action: Type.Enum(["cancel", "retry"]),
    filter: Type.Optional(FilterText),
    cursor: Type.Optional(
      Type.String({ maxLength: 1024, description: "Where an earlier answer said `next`." }),
    ),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
    dry_run: Type.Optional(Type.Boolean({ default: false, description: "Only count." })),
  },
  { additionalProperties: false },
);

export type BulkAnswer = Static<typeof BulkAnswer>;
export const BulkAnswer = Type.Object(
  {
    matching: Type.Integer({ minimum: 0, description: "That were looked at, up to the cursor." }),
    done: Type.Integer({ minimum: 0, description: "Those of them that something was done to." }),
    next: NextCursor,
  },
  { title: "BulkAnswer" },
);

export type CloneBody = Static<typeof CloneBody>;
export const CloneBody = Type.Object({ payload: Type.Optional(Payload) }, { additionalProperties: false });

export type Cancelled = Static<typeof Cancelled>;
export const Cancelled = Type.Object(
  {
    cancelled: Type.Boolean({ description: "False: there was nothing to cancel." }),
    task_id: Type.String(),
  },
  { title: "Cancelled" },
);

export type LogAnswer = Static<typeof LogAnswer>;
export const LogAnswer = Type.Object({
  lines: Type.Array(
    Type.Object({
      line: Type.Integer({ minimum: 0, description: "Grows; give the last one as `after` to go on." }),
      attempt: Type.Integer({ minimum: 1 }),
      at: Time("On the worker's clock."),
      stream: Type.Enum(["stdout", "stderr", "log"]),
      text: Type.String(),
    }),
  ),
});

export type HistoryAnswer = Static<typeof HistoryAnswer>;
export const HistoryAnswer = Type.Object({
  events: Type.Array(EventData, { description: "Oldest first, as far as the server remembers." }),
});

export type QueueMetrics = Static<typeof QueueMetrics>;
export const QueueMetrics = Type.Object(
  {
    queue_by_class: Type.Array(
      Type.Object({
        priority_class: PriorityClassName,
        cnt: Count,
        avg_wait: Type.Number({ minimum: 0, description: "Seconds." }),
        max_wait: Type.Number({ minimum: 0, description: "Seconds." }),
      }),
    ),
    fair_share: Type.Record(
      Type.String(),
      Type.Object({ running_count: Count, max_concurrent: OrNull(Count), available_slots: OrNull(Count) }),
      { description: "By agent; null: no limit." },
    ),
    use_hrrn: Type.Boolean(),
    backend: Type.String(),
    totals: Type.Object(CountsByStatus.properties, {
      description:
        "What waits and runs now, and how often tasks ended: one that was put back and ended again counts twice.",
    }),
  },
  { title: "QueueMetrics", description: "Of the caller's zone." },
);

export type ClassifyBody = Static<typeof ClassifyBody>;
export const ClassifyBody = Type.Object(
  {
    priority: Type.Optional(Type.Enum([...PRIORITY_NAMES], { default: "normal" })),
    request_state: Type.Optional(
      Type.String({
        maxLength: 256,
        default: "pending",
        description: "An unknown one counts as pending.",
        examples: [...REQUEST_STATE_NAMES],
      }),
    ),
  },
  { additionalProperties: false },
);

export type Classified = Static<typeof Classified>;
export const Classified = Type.Object({ priority_class: PriorityClassName });
