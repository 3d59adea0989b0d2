import type { ErrorItem, TaskAnswer, TaskSummary } from "../protocol/api-schemas.ts";

export interface Failure {
  readonly code: string;
  /** 0: there was no answer. */
  readonly status: number;
  readonly detail: string;
  readonly errors?: readonly ErrorItem[];
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/**
 * A request that came to nothing. Codes are the server's (its document lists them) or, where there was no answer
 * of a server, `unreachable` (never connected), `broken` (the connection ended early), `no-answer` (it took too
 * long), `untrusted` (a certificate was refused), `bad-answer` (this was no Orrery server) and `wait-timeout`.
 */
export class OrreryError extends Error {
  override readonly name: string = "OrreryError";
  readonly code: string;
  readonly status: number;
  readonly detail: string;
  /** What is wrong with which field. */
  readonly errors: readonly ErrorItem[];
  /** Finds the request in the server's log. */
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor({ code, status, detail, errors = [], requestId, retryAfterMs, cause }: Failure) {
    super(detail, { cause });
    this.code = code;
    this.status = status;
    this.detail = detail;
    this.errors = errors;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A task that was waited for has failed, or was cancelled. */
export class TaskFailed extends Error {
  override readonly name = "TaskFailed";
  /** As the worker or the scheduler said it, such as `timeout`, `lost` or `cancelled`. */
  readonly code: string;
  readonly task: TaskAnswer;

  constructor(task: TaskAnswer) {
    super(
      task.error_message ?? `the task was ${task.status === "cancelled" ? "cancelled" : "not completed"}`,
    );
    this.code = task.error_code ?? task.status;
    this.task = task;
  }
}

/** A node of a graph has failed, and what was wanted needs it. */
export class NodeFailed extends Error {
  override readonly name = "NodeFailed";
  /** As the worker or the scheduler said it, such as `timeout`, `lost` or `cancelled`. */
  readonly code: string;
  readonly run: string;
  /** The node that failed; one that `a` added to its run is `a/b`. */
  readonly node: string;
  /** From that node to the one that was wanted, each needing the one before. */
  readonly way: readonly string[];

  constructor(run: string, task: Pick<TaskSummary, "error_code" | "error_message">, way: readonly string[]) {
    const node = way[0] ?? "";
    const through = way.length > 1 ? ` (${way.join(" → ")})` : "";
    super(`${node}: ${task.error_message ?? "it was cancelled"}${through}`);
    this.code = task.error_code ?? "cancelled";
    this.run = run;
    this.node = node;
    this.way = way;
  }
}
