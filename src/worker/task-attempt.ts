import type { Assignment, LogEntry, Progress, Report } from "../protocol/index.ts";
import { traced } from "./attempt-span.ts";
import type { Handler } from "./handler.ts";
import { PacedProgress } from "./paced-progress.ts";
import { jsonResult } from "./result.ts";
import type { AttemptContext } from "./task-context.ts";

export interface AttemptHost {
  /** How long a handler may take to end after its signal was aborted. */
  readonly graceMs: number;
  log(stream: LogEntry["stream"], text: string): void;
  progress(progress: Progress): void;
  /** For whoever looks after the worker. */
  warn(message: string): void;
}

type Stop = "cancelled" | "timed_out";

/** Node fires a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const MAX_COST = 1e9;

/** One attempt of a task on this worker: waiting, then running, then ended with a report. */
export class TaskAttempt {
  readonly assignment: Assignment;
  /** On this machine's clock; -1: not yet. */
  startedAt = -1;
  readonly #host: AttemptHost;
  #progress: PacedProgress | undefined;
  /** Made when somebody looks at its signal: most handlers never do. */
  #abort: AbortController | undefined;
  #onStop: () => void = () => {};
  #stopped: Stop | undefined;
  #ended = false;
  #cost: number | undefined;

  constructor(assignment: Assignment, host: AttemptHost) {
    this.assignment = assignment;
    this.#host = host;
  }

  /** Aborted when it is told to stop. */
  get #signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#stopped) this.#abort.abort(this.#reason(this.#stopped));
    return this.#abort.signal;
  }

  /** Never rejects. */
  async run(handler: Handler): Promise<Report> {
    this.startedAt = Date.now();
    const { timeout_ms } = this.assignment;
    const limit =
      timeout_ms > 0
        ? setTimeout(() => this.#stop("timed_out"), Math.min(timeout_ms, MAX_TIMER_MS))
        : undefined;
    try {
      const work = traced(this.assignment, () =>
        handler.run(this.assignment.payload as never, this.#context()),
      );
      const result = await (handler.endsByForce ? work : this.#untilGivenUp(work));
      if (this.#stopped) return this.#report({ type: this.#stopped });
      return this.#finished(jsonResult(result));
    } catch (error) {
      // It was told to stop, and to throw is how most handlers do that.
      return this.#stopped ? this.#report({ type: this.#stopped }) : this.#failed(error);
    } finally {
      clearTimeout(limit);
      this.#ended = true;
      this.#progress?.end();
    }
  }

  #finished(result: unknown): Report {
    const { task, attempt } = this.assignment;
    const report: Report = { type: "finished", task, attempt, started_at: this.startedAt };
    if (result !== undefined) report.result = result;
    if (this.#cost !== undefined) report.cost = this.#cost;
    return report;
  }

  /** The report of an attempt that never ran. */
  unstarted(end: { readonly type: "cancelled" } | Omit<Failure, "type">): Report {
    return this.#report("type" in end ? end : { type: "failed", ...end });
  }

  cancel(): void {
    this.#stop("cancelled");
  }

  #stop(why: Stop): void {
    if (this.#stopped || this.#ended) return;
    this.#stopped = why;
    this.#abort?.abort(this.#reason(why));
    this.#onStop();
  }

  #reason(why: Stop): DOMException {
    return why === "cancelled"
      ? new DOMException("the task was cancelled", "AbortError")
      : new DOMException(`the task's time of ${this.assignment.timeout_ms} ms is over`, "TimeoutError");
  }

  /** A function that ignores its signal cannot be ended from outside, but its slot can be given to others. */
  #untilGivenUp<Result>(work: Promise<Result>): Promise<Result | undefined> {
    return new Promise((resolve, reject) => {
      let grace: NodeJS.Timeout | undefined;
      this.#onStop = () => {
        grace = setTimeout(
          () => {
            this.#host.warn(
              `${this.assignment.task_type} ${this.assignment.task} goes on although it was told to stop; its slot is taken from it`,
            );
            resolve(undefined);
          },
          Math.min(this.#host.graceMs, MAX_TIMER_MS),
        );
      };
      // What it does after it was given up is nobody's concern, and must not end the process.
      work.then(
        (result) => {
          clearTimeout(grace);
          resolve(result);
        },
        (error: unknown) => {
          clearTimeout(grace);
          reject(error as Error);
        },
      );
    });
  }

  #context(): AttemptContext {
    const { task, attempt, task_type, zone, agent, run, node } = this.assignment;
    const signal = () => this.#signal;
    return {
      taskId: task,
      attempt,
      taskType: task_type,
      zone,
      agent,
      ...(run !== undefined && { run }),
      ...(node !== undefined && { node }),
      get signal() {
        return signal();
      },
      graceMs: this.#host.graceMs,
      progress: (fraction, message) => this.#setProgress({ task, attempt, ...progressOf(fraction, message) }),
      log: (text) => {
        if (!this.#ended) this.#host.log("log", String(text));
      },
      output: (stream, text) => {
        if (!this.#ended) this.#host.log(stream, text);
      },
      cost: (amount) => {
        if (!(amount >= 0)) throw new TypeError("a cost must be a number that is not negative");
        this.#cost = Math.min((this.#cost ?? 0) + amount, MAX_COST);
      },
    };
  }

  #setProgress(progress: Progress): void {
    if (this.#ended) return;
    this.#progress ??= new PacedProgress((latest) => this.#host.progress(latest));
    this.#progress.set(progress);
  }

  #failed(error: unknown): Report {
    const failure = failureOf(error);
    // Where it happened is of use to whoever reads the log, unless the handler itself decided to fail.
    if (error instanceof Error && error.stack && failure.retry !== false && !("code" in error)) {
      this.#host.log("log", error.stack);
    }
    return this.#report(failure);
  }

  #report(end: { type: Stop } | Failure): Report {
    const { task, attempt } = this.assignment;
    return { ...end, task, attempt, started_at: this.startedAt, ...given("cost", this.#cost) };
  }
}

export interface Failure {
  type: "failed";
  code: string;
  message: string;
  retry?: boolean;
}

const MAX_CODE_CHARS = 64;
const MAX_MESSAGE_CHARS = 10_000;

function failureOf(error: unknown): Failure {
  const { code, retry, message } = (error ?? {}) as { code?: unknown; retry?: unknown; message?: unknown };
  const text = typeof message === "string" && message !== "" ? message : textOf(error);
  return {
    type: "failed",
    code: typeof code === "string" && code !== "" ? code.slice(0, MAX_CODE_CHARS).toWellFormed() : "error",
    message: text.slice(0, MAX_MESSAGE_CHARS).toWellFormed(),
    ...(retry === false ? { retry: false } : {}),
  };
}

/** Anything can be thrown, even what cannot be made a text. */
function textOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return "it threw something that has no text";
  }
}

function progressOf(fraction: number, message: string | undefined): Omit<Progress, "task" | "attempt"> {
  return {
    ...(Number.isFinite(fraction) ? { fraction: Math.min(Math.max(fraction, 0), 1) } : {}),
    ...given("message", message?.slice(0, 1000)),
  };
}

/** With `exactOptionalPropertyTypes`, what is not there must not be undefined either. */
function given<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [name in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [name in Name]: Value });
}
