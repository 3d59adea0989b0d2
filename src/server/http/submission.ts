import { canonicalJson, sha256Hex } from "../../core/index.ts";
import { limitsOf, type Priority, type TaskBudget, taskBudget } from "../../graph/index.ts";
import { type ErrorItem, PRIORITY_NAMES, type SubmitBody } from "../../protocol/api-schemas.ts";
import {
  parseCpuMillicores,
  parseDurationMs,
  parseMemoryBytes,
  type UnitRefusal,
} from "../../protocol/index.ts";
import type { TaskSubmission } from "../api.ts";
import { parseMicros } from "./amounts.ts";
import { parseInstant } from "./instants.ts";

const MAX_PAYLOAD_BYTES = 1024 * 1024;
const DEFAULT_ESTIMATE_MS = 30_000;
const DEFAULT_ATTEMPTS = 3;
const DEFAULT_BACKOFF_MS = 1000;
const DEFAULT_CPU_MILLICORES = 0;

export type ReadSubmission =
  | { readonly ok: true; readonly submission: TaskSubmission }
  | { readonly ok: false; readonly errors: readonly ErrorItem[] };

/** The value of a field, or its default; what is wrong with it is noted. */
type Take = <Given>(
  field: string,
  given: Given | null | undefined,
  byDefault: number,
  parse: (given: Given) => number | UnitRefusal,
) => number;

/** A submission in the scheduler's units. The body has the right form already; here its values get their meaning. */
export function readSubmission(body: SubmitBody, at = ""): ReadSubmission {
  const errors: ErrorItem[] = [];
  const take: Take = (field, given, byDefault, parse) => {
    if (given === undefined || given === null) return byDefault;
    const value = parse(given);
    if (typeof value === "number") return value;
    errors.push({ in: "body", pointer: `${at}/${field}`, detail: value.refusal });
    return 0;
  };
  const { resources = {} } = body;
  const payload = JSON.stringify(body.payload ?? {});
  const tooLarge = problemWithPayload(payload);
  if (tooLarge !== undefined) errors.push({ in: "body", pointer: `${at}/payload`, detail: tooLarge });
  if (body.tokens !== undefined && body.tokens !== null && isCounted(body.limits, "tokens")) {
    errors.push({ in: "body", pointer: `${at}/tokens`, detail: "stands in limits too; say it once" });
  }
  const submission = {
    executor: body.executor,
    type: body.task_type,
    payload,
    priority: PRIORITY_NAMES.indexOf(body.priority ?? "normal") as Priority,
    requestState: body.request_state ?? "pending",
    // A task that takes no time at all would divide by zero when tasks are ranked by how long they take.
    estimateMs: Math.max(
      1,
      take("estimated_service_time", body.estimated_service_time, DEFAULT_ESTIMATE_MS, parseDurationMs),
    ),
    boostMicros: take("boost", body.boost, 0, parseMicros),
    deadline: take("deadline", body.deadline || undefined, -1, parseInstant),
    runAt: take("run_at", body.run_at || undefined, -1, parseInstant),
    cpuMillicores: take("resources/cpu", resources.cpu, DEFAULT_CPU_MILLICORES, parseCpuMillicores),
    memoryBytes: take("resources/memory", resources.memory, 0, parseMemoryBytes),
    capabilities: sortedNames(body.capabilities),
    ...limitsOf(amountsIn(body)),
    budget: budgetOf(body, take),
    maxAttempts: body.max_attempts ?? DEFAULT_ATTEMPTS,
    backoffMs: take("retry_backoff", body.retry_backoff, DEFAULT_BACKOFF_MS, parseDurationMs),
    timeoutMs: body.timeout ? Math.max(1, take("timeout", body.timeout, 0, parseDurationMs)) : 0,
    idempotencyKey: body.idempotency_key ?? undefined,
    bodyHash: "",
  };
  if (errors.length > 0) return { ok: false, errors };
  if (submission.idempotencyKey !== undefined) submission.bodyHash = hashOf(submission, body.payload);
  return { ok: true, submission };
}

/** The end of a sentence about the JSON text of a payload; `undefined` if it is small enough. */
export function problemWithPayload(text: string): string | undefined {
  // A character takes at most three bytes in UTF-8.
  if (text.length <= MAX_PAYLOAD_BYTES / 3 || Buffer.byteLength(text) <= MAX_PAYLOAD_BYTES) return undefined;
  return "must fit into 1 MiB of JSON; keep large data elsewhere and pass its name";
}

function budgetOf({ budget }: SubmitBody, take: Take): TaskBudget {
  if (!budget) return [];
  const { memory, spawn_count, channel_ops, on_exhausted = "wait", ...rest } = budget;
  const asked = {
    ...rest,
    ...(memory !== undefined && { memory: take("budget/memory", memory, 0, parseMemoryBytes) }),
    ...(spawn_count !== undefined && { spawnCount: spawn_count }),
    ...(channel_ops !== undefined && { channelOps: channel_ops }),
  };
  return taskBudget(asked, on_exhausted === "wait");
}

/** Equal for requests that ask for the same, in whichever order their keys stand and with or without the defaults. */
function hashOf(submission: TaskSubmission, payload: unknown): string {
  const { idempotencyKey: _key, bodyHash: _hash, amounts, budget, ...asked } = submission;
  const uneven = amounts.length > 0 ? { amounts } : {};
  const limited = budget.length > 0 ? { budget } : {};
  return sha256Hex(canonicalJson({ ...asked, ...uneven, ...limited, payload: payload ?? {} }));
}

function isCounted(limits: SubmitBody["limits"] = [], name: string): boolean {
  return Array.isArray(limits) ? limits.includes(name) : Object.hasOwn(limits, name);
}

/** What it counts towards which limit. Its tokens are what it counts towards the limit of that name. */
function amountsIn({ limits = [], tokens }: SubmitBody): Map<string, number> {
  const amounts = new Map(Array.isArray(limits) ? limits.map((name) => [name, 1]) : Object.entries(limits));
  if (tokens !== undefined && tokens !== null) amounts.set("tokens", tokens);
  return amounts;
}

/** By code unit, which is the order that the scheduler keeps everywhere. */
function sortedNames(names: readonly string[] | undefined): readonly string[] {
  return names === undefined || names.length === 0 ? [] : [...new Set(names)].sort();
}
