import type { ErrorItem, ProblemDocument } from "../../protocol/api-schemas.ts";
import { StoreError } from "../../store/index.ts";
import type { Refusal, RefusalCode, RegistrationRefusal } from "../api.ts";
import { PastError } from "../past/past-error.ts";

/** Every way in which a request can fail: one code, one status, one title. */
const PROBLEMS = {
  malformed: [400, "The request cannot be read"],
  "bad-header": [400, "A header is not valid"],
  unauthorized: [401, "A valid API key is needed"],
  credits: [402, "The agent has not enough credits"],
  scope: [403, "The key lacks a scope"],
  "zone-not-allowed": [403, "The key does not allow this zone"],
  "agent-not-allowed": [403, "The key may not act for this agent"],
  "not-found": [404, "There is no such thing"],
  "method-not-allowed": [405, "The method is not allowed here"],
  "request-timeout": [408, "The request took too long to arrive"],
  "duplicate-run": [409, "The id cannot be used for another run"],
  "not-ended": [409, "The task's status does not allow it"],
  "part-of-a-run": [409, "The task belongs to a run"],
  "no-budget": [409, "The task has no budget"],
  "not-running": [409, "The task does not run"],
  "not-completed": [409, "The node has no result"],
  "no-standby": [409, "No other server can lead"],
  "too-many-schedules": [409, "The zone has too many schedules"],
  "unreadable-task": [409, "The schedule's task is not valid any more"],
  "worker-taken": [409, "Another worker has this id"],
  "too-many-webhooks": [409, "The zone has as many webhooks as it may"],
  "webhook-disabled": [409, "The webhook is disabled"],
  "past-fixed": [409, "The past cannot be changed"],
  "session-ended": [409, "The worker's session is not the current one"],
  "result-gone": [410, "The result is not kept any more"],
  "result-lost": [410, "The result was lost with its worker"],
  "too-large": [413, "The request is too large"],
  "unsupported-media-type": [415, "The content type is not supported"],
  expectation: [417, "The expectation cannot be met"],
  invalid: [422, "The request is not valid"],
  "invalid-graph": [422, "The graph is not valid"],
  "content-refused": [422, "The store cannot take the content"],
  "key-reused": [422, "The idempotency key came with another request"],
  "too-many-nodes": [422, "The graph has too many nodes"],
  "upgrade-required": [426, "This is a WebSocket"],
  "fair-share": [429, "The agent has its share"],
  "rate-limit": [429, "Too many requests"],
  "headers-too-large": [431, "The headers are too large"],
  bug: [500, "Something is broken here"],
  backlog: [503, "Too much is waiting"],
  backpressure: [503, "The workers are full"],
  "no-leader": [503, "No server leads"],
  "past-building": [503, "The past is being replayed"],
  "past-too-long": [503, "The past is too long to be looked at here"],
  "past-failed": [503, "The past cannot be replayed"],
  timeout: [503, "It took too long"],
  unavailable: [503, "The service is not available"],
} as const satisfies Record<string, readonly [status: number, title: string]> &
  Record<RefusalCode | RegistrationRefusal["refused"], unknown>;

export type ProblemCode = keyof typeof PROBLEMS;

interface ProblemExtras {
  readonly errors?: readonly ErrorItem[];
  readonly headers?: Readonly<Record<string, string>>;
  /** From 0 to 1: what has to be waited for. */
  readonly progress?: number | undefined;
  readonly cause?: unknown;
}

/** Thrown by whatever notices it; answered as RFC 9457 has it. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly statusCode: number;
  readonly errors: readonly ErrorItem[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly progress: number | undefined;

  constructor(code: ProblemCode, detail: string, extras: ProblemExtras = {}) {
    super(detail, { cause: extras.cause });
    this.code = code;
    this.statusCode = PROBLEMS[code][0];
    this.errors = extras.errors;
    this.headers = extras.headers ?? {};
    this.progress = extras.progress;
  }
}

export function documentOf(problem: Problem, requestId: string): ProblemDocument {
  const [status, title] = PROBLEMS[problem.code];
  const seconds = problem.headers["retry-after"];
  return {
    type: `/problems/${problem.code}`,
    title,
    status,
    detail: problem.message,
    code: problem.code,
    ...(problem.errors ? { errors: [...problem.errors] } : {}),
    ...(problem.progress === undefined ? {} : { progress: problem.progress }),
    ...(seconds === undefined ? {} : { retry_after: Number(seconds) }),
    request_id: requestId,
  };
}

/** The problem with a request whose parts are wrong; what is wrong with the first of them is the summary. */
export function invalid(
  errors: readonly ErrorItem[],
  code: "invalid" | "invalid-graph" = "invalid",
): Problem {
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  const where = first?.path ?? first?.pointer.slice(1) ?? "";
  const detail = first ? `${where === "" ? `the ${first.in}` : where} ${first.detail}${more}` : "";
  return new Problem(code, detail, { errors });
}

export function problemOfRefusal(refusal: Refusal | RegistrationRefusal): Problem {
  const { message, retryAfterMs } = refusal;
  return new Problem("refused" in refusal ? refusal.refused : refusal.code, message, {
    headers: retryAfterMs === undefined ? {} : { "retry-after": retryAfter(retryAfterMs) },
  });
}

/** Another server will lead in a moment. */
export function noLeader(why: string): Problem {
  return new Problem("no-leader", `${why}; try again in a moment`, { headers: { "retry-after": "1" } });
}

/** Whole seconds, as the header has them, and never at once. */
export function retryAfter(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1000)));
}

function problemOfPast({ code, message, progress }: PastError): Problem {
  switch (code) {
    case "not-yet":
      return invalid([{ in: "query", pointer: "/at", detail: `lies ahead: ${message}` }]);
    case "building":
      return new Problem("past-building", message, { headers: { "retry-after": "1" }, progress });
    case "too-long":
      return new Problem("past-too-long", `${message}; orrery replay --at looks at it from a file`);
    case "failed":
      return new Problem("past-failed", `${message}; it is begun anew when it is asked for again`);
  }
}

/** What the framework itself refuses, by its codes. */
const FRAMEWORK: ReadonlyMap<string, readonly [ProblemCode, string]> = new Map([
  ["FST_ERR_CTP_INVALID_MEDIA_TYPE", ["unsupported-media-type", "send application/json"]],
  ["FST_ERR_CTP_INVALID_CONTENT_LENGTH", ["malformed", "the body is not as long as Content-Length says"]],
  ["FST_ERR_BAD_URL", ["malformed", "the path is not valid percent-encoded UTF-8"]],
  ["FST_ERR_MAX_PARAM_LENGTH", ["not-found", "there is nothing here"]],
  ["FST_ERR_ASYNC_CONSTRAINT", ["malformed", "the request cannot be routed"]],
] as const);

/** What an error means to the client. Only a bug, or the world failing, is worth a line in the log. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof StoreError && error.code === "locked") return noLeader("this server no longer leads");
  if (error instanceof StoreError && error.code === "refused")
    return new Problem("content-refused", "the store cannot take its content", { cause: error });
  if (error instanceof StoreError) {
    return new Problem("unavailable", "the store does not answer; try again", {
      headers: { "retry-after": "1" },
      cause: error,
    });
  }
  if (error instanceof PastError) return problemOfPast(error);
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  const known = typeof code === "string" ? FRAMEWORK.get(code) : undefined;
  if (known) return new Problem(known[0], known[1]);
  if (typeof statusCode === "number" && statusCode >= 400 && statusCode < 500 && error instanceof Error) {
    return new Problem("malformed", error.message);
  }
  return new Problem("bug", "this is a bug; the request id finds it in the server's log", { cause: error });
}
