import { Type } from "typebox";
import { refuseLoss, type submitIn, type Transaction } from "../client/index.ts";
import { canonicalJson, sha256Hex } from "../core/index.ts";
import { type BudgetPart, budgetOnWire, limitsOf, type Priority, taskBudget } from "../graph/index.ts";
import { PRIORITY_NAMES, SubmitBody } from "../protocol/api-schemas.ts";
import { type Caller, checkOf, problemWithPayload, type TaskSubmission } from "../server/index.ts";

/** Durations are in milliseconds; times are milliseconds since 1970. Fractions of a millisecond are rounded. */
export interface TaskOptions {
  /** 0 (critical) to 4 (best effort); 2 by default. */
  readonly priority?: Priority;
  /** Expected duration; at least 1 ms. */
  readonly estimateMs?: number;
  readonly runAt?: number;
  readonly deadline?: number;
  readonly maxAttempts?: number;
  readonly backoffMs?: number;
  /** Longest duration of an attempt; 0 for no limit. */
  readonly timeoutMs?: number;
  /** Names, or what it counts towards each of them. */
  readonly limits?: readonly string[] | Readonly<Record<string, number>>;
  /** What an attempt may consume; parts that are left out have a default. */
  readonly budget?: Partial<Readonly<Record<BudgetPart, number>>>;
  /** When a part of the budget is used up it waits until it is recharged, or fails; "wait" by default. */
  readonly onExhausted?: "wait" | "fail";
  readonly idempotencyKey?: string;
  readonly executor?: string;
  /** A connection to the store's PostgreSQL: the task exists if and only if the transaction open there is committed. */
  readonly client?: Transaction;
}

type Checked = Omit<TaskOptions, "client">;

const EXECUTOR = "default";
/** The last millisecond of the year 9999, after which RFC 3339 has no times. */
const LAST_INSTANT = 253_402_300_799_999;
const SECOND_MS = 1000;

const { properties: wire } = SubmitBody;
const Instant = Type.Optional(
  Type.Number({ minimum: 0, maximum: LAST_INSTANT, examples: [1_772_359_200_000] }),
);
const { on_exhausted, ...parts } = wire.budget.anyOf[0].properties;

/** The schema of HTTP submissions, with the names and units of the options. */
const Options = Type.Object(
  {
    executor: Type.Optional(wire.executor),
    priority: Type.Optional(Type.Integer({ minimum: 0, maximum: PRIORITY_NAMES.length - 1 })),
    estimateMs: inMs(wire.estimated_service_time),
    runAt: Instant,
    deadline: Instant,
    maxAttempts: wire.max_attempts,
    backoffMs: inMs(wire.retry_backoff),
    timeoutMs: inMs(wire.retry_backoff),
    limits: wire.limits,
    idempotencyKey: Type.Optional(wire.idempotency_key.anyOf[0]),
    budget: Type.Optional(
      Type.Object(
        {
          ops: parts.ops,
          memory: Type.Optional(parts.memory.anyOf[0]),
          spawnCount: parts.spawn_count,
          channelOps: parts.channel_ops,
          syscalls: parts.syscalls,
        },
        { additionalProperties: false },
      ),
    ),
    onExhausted: on_exhausted,
  },
  { additionalProperties: false },
);

/** A schema of seconds, in milliseconds. */
function inMs(seconds: object) {
  const { minimum, exclusiveMinimum, maximum } = seconds as Readonly<Record<string, number | undefined>>;
  return Type.Optional(
    Type.Number({
      ...(minimum !== undefined && { minimum: minimum * SECOND_MS }),
      ...(exclusiveMinimum !== undefined && { exclusiveMinimum: exclusiveMinimum * SECOND_MS }),
      ...(maximum !== undefined && { maximum: maximum * SECOND_MS }),
      examples: [30 * SECOND_MS],
    }),
  );
}

const checkType = checkOf(Type.Object({ type: wire.task_type }), "body");
const checkOptions = checkOf(Options, "body");
const NONE: Checked = {};
/** The type of the last submission: most submissions repeat it. */
let lastType: unknown;

/** The options without `client`, after a check. Throws a `TypeError` that names the option. */
export function checkedOptions(type: string, options: TaskOptions | null | undefined): Checked {
  if (type !== lastType) {
    refuse(checkType({ type }));
    lastType = type;
  }
  if (options === undefined || options === null) return NONE;
  const asked = Object.hasOwn(options, "client") ? without(options) : options;
  if (typeof asked.limits === "object") refuseLoss(asked.limits, "limits");
  if (typeof asked.budget === "object") refuseLoss(asked.budget, "budget");
  refuse(checkOptions(asked));
  return asked;
}

function without({ client: _, ...options }: TaskOptions): Checked {
  return options;
}

function refuse([error]: ReturnType<typeof checkOptions>): void {
  if (error) throw new TypeError(`${nameOf(error.pointer)} ${error.detail}`);
}

/** The option that a JSON pointer leads to, such as `budget.ops`. */
function nameOf(pointer: string): string {
  if (pointer === "") return "options";
  const steps = pointer.slice(1).split("/");
  return steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~")).join(".");
}

/** In the words and units of the wire. */
export function optionsOf(options: Checked, { zone, agent }: Caller): Parameters<typeof submitIn>[3] {
  const { priority, estimateMs, runAt, deadline, maxAttempts, backoffMs, timeoutMs } = options;
  const { limits, idempotencyKey, executor = EXECUTOR, budget, onExhausted = "wait" } = options;
  return {
    zone,
    agent,
    executor,
    ...(priority !== undefined && { priority: PRIORITY_NAMES[priority] as (typeof PRIORITY_NAMES)[number] }),
    ...(estimateMs !== undefined && { estimated_service_time: atLeastOne(estimateMs) / SECOND_MS }),
    ...(runAt !== undefined && { run_at: new Date(rounded(runAt)).toISOString() }),
    ...(deadline !== undefined && { deadline: new Date(rounded(deadline)).toISOString() }),
    ...(maxAttempts !== undefined && { max_attempts: maxAttempts }),
    ...(backoffMs !== undefined && { retry_backoff: rounded(backoffMs) / SECOND_MS }),
    ...(timeoutMs !== undefined && timeoutMs > 0 && { timeout: atLeastOne(timeoutMs) / SECOND_MS }),
    ...(limits !== undefined && { limits: Object.fromEntries(amountsIn(limits)) }),
    ...(budget !== undefined && { budget: budgetBody(budget, onExhausted) }),
    ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
  };
}

function budgetBody(asked: NonNullable<TaskOptions["budget"]>, onExhausted: "wait" | "fail"): object {
  return { ...budgetOnWire(budgetOf(asked, "wait")), on_exhausted: onExhausted };
}

/** Without -0, which would come back from the ledger as 0. */
function budgetOf(asked: NonNullable<TaskOptions["budget"]>, onExhausted: "wait" | "fail"): number[] {
  return taskBudget(asked, onExhausted === "wait").map((amount) => amount + 0);
}

const NO_NAMES: readonly string[] = [];
const NO_NUMBERS: readonly number[] = [];
const UNLIMITED = { limits: NO_NAMES, amounts: NO_NUMBERS };

/** A submission in the scheduler's units. The options were checked. */
export function submissionOf(type: string, payload: unknown, options: Checked): TaskSubmission {
  const { priority = 2, estimateMs = 30_000, maxAttempts = 3, backoffMs = 1000, timeoutMs = 0 } = options;
  const { idempotencyKey, limits, executor = EXECUTOR, runAt, deadline } = options;
  const { budget, onExhausted = "wait" } = options;
  refuseLoss(payload, "payload");
  const text = JSON.stringify(payload);
  const problem = problemWithPayload(text);
  if (problem !== undefined) throw new TypeError(`payload ${problem}`);
  return {
    executor,
    type,
    payload: text,
    priority: (priority + 0) as Priority,
    requestState: "pending",
    estimateMs: atLeastOne(estimateMs),
    boostMicros: 0,
    deadline: deadline === undefined ? -1 : rounded(deadline),
    runAt: runAt === undefined ? -1 : rounded(runAt),
    idempotencyKey,
    // Compared where a key comes again, so without a key there is nothing to compare.
    bodyHash: idempotencyKey === undefined ? "" : sha256Hex(canonicalJson({ type, payload, ...options })),
    cpuMillicores: 0,
    memoryBytes: 0,
    capabilities: NO_NAMES,
    ...(limits === undefined ? UNLIMITED : limitsOf(amountsIn(limits))),
    maxAttempts,
    backoffMs: rounded(backoffMs),
    timeoutMs: timeoutMs > 0 ? atLeastOne(timeoutMs) : 0,
    budget: budget === undefined ? NO_NUMBERS : budgetOf(budget, onExhausted),
  };
}

/** Without -0, which would come back from the ledger as 0. */
function rounded(ms: number): number {
  return Math.round(ms) + 0;
}

function atLeastOne(ms: number): number {
  return Math.max(1, Math.round(ms));
}

function amountsIn(limits: NonNullable<TaskOptions["limits"]>): ReadonlyMap<string, number> {
  const entries = Object.entries(limits);
  return new Map(
    Array.isArray(limits) ? entries.map(([, name]) => [String(name), 1]) : (entries as [string, number][]),
  );
}
