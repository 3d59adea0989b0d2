import { canonicalJson, sha256Hex } from "../../core/index.ts";
import type { Priority } from "../../graph/index.ts";
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
const DEFAULT_ESTIMATE_S = 30;
const DEFAULT_ATTEMPTS = 3;
const DEFAULT_BACKOFF_S = 1;
const DEFAULT_CPU_MILLICORES = 0;

export type ReadSubmission =
  | { readonly ok: true; readonly submission: TaskSubmission }
  | { readonly ok: false; readonly errors: readonly ErrorItem[] };

/** A submission in the scheduler's units. The body has the right form already; here its values get their meaning. */
export function readSubmission(body: SubmitBody, at = ""): ReadSubmission {
  const errors: ErrorItem[] = [];
  const take = (field: string, value: number | UnitRefusal): number => {
    if (typeof value === "number") return value;
    errors.push({ in: "body", pointer: `${at}/${field}`, detail: value.refusal });
    return 0;
  };
  const { resources = {} } = body;
  const payload = JSON.stringify(body.payload ?? {});
  if (payload.length > MAX_PAYLOAD_BYTES / 4 && Buffer.byteLength(payload) > MAX_PAYLOAD_BYTES) {
    const detail = "must fit into 1 MiB of JSON; keep large data elsewhere and pass its name";
    errors.push({ in: "body", pointer: `${at}/payload`, detail });
  }
  const asked = {
    executor: body.executor,
    type: body.task_type,
    payload,
    priority: PRIORITY_NAMES.indexOf(body.priority ?? "normal") as Priority,
    requestState: body.request_state ?? "pending",
    // A task that takes no time at all would divide by zero when tasks are ranked by how long they take.
    estimateMs: Math.max(
      1,
      take("estimated_service_time", parseDurationMs(body.estimated_service_time ?? DEFAULT_ESTIMATE_S)),
    ),
    boostMicros: take("boost", parseMicros(body.boost ?? 0)),
    deadline: take("deadline", body.deadline ? parseInstant(body.deadline) : -1),
    runAt: take("run_at", body.run_at ? parseInstant(body.run_at) : -1),
    cpuMillicores: take(
      "resources/cpu",
      resources.cpu === undefined ? DEFAULT_CPU_MILLICORES : parseCpuMillicores(resources.cpu),
    ),
    memoryBytes: take(
      "resources/memory",
      resources.memory === undefined ? 0 : parseMemoryBytes(resources.memory),
    ),
    capabilities: sortedNames(body.capabilities),
    limits: sortedNames(body.limits),
    maxAttempts: body.max_attempts ?? DEFAULT_ATTEMPTS,
    backoffMs: take("retry_backoff", parseDurationMs(body.retry_backoff ?? DEFAULT_BACKOFF_S)),
    timeoutMs: body.timeout ? Math.max(1, take("timeout", parseDurationMs(body.timeout))) : 0,
  };
  if (errors.length > 0) return { ok: false, errors };
  const idempotencyKey = body.idempotency_key ?? undefined;
  const bodyHash = idempotencyKey === undefined ? "" : hashOf(asked, body.payload);
  return { ok: true, submission: { ...asked, idempotencyKey, bodyHash } };
}

/** Equal for requests that ask for the same, in whichever order their keys stand and with or without the defaults. */
function hashOf(asked: Readonly<Record<string, unknown>>, payload: unknown): string {
  return sha256Hex(canonicalJson({ ...asked, payload: payload ?? {} }));
}

/** By code unit, which is the order that the scheduler keeps everywhere. */
function sortedNames(names: readonly string[] | undefined): readonly string[] {
  return names === undefined || names.length === 0 ? [] : [...new Set(names)].sort();
}
