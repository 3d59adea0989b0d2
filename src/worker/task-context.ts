import type { Assessment, Environment } from "../protocol/index.ts";
import type { Body, Fiber } from "../runtime/index.ts";

/** What a handler knows about the attempt that it works on, and how it speaks to the server meanwhile. */
export interface TaskContext {
  readonly taskId: string;
  /** 1 for the first try. Together with the task's id it is a good key for effects that must happen once. */
  readonly attempt: number;
  readonly taskType: string;
  readonly zone: string;
  /** Who submitted the task. */
  readonly agent: string;
  /** The run and the node, where the task belongs to a graph. */
  readonly run?: string;
  readonly node?: string;
  /** Where the node is tried in several ways at once, which of them this is: `speculate:primary`, `speculate:alt1` … */
  readonly alternative?: string;
  /**
   * Aborted when the task is cancelled or its time is over. A handler that goes on regardless loses its slot after
   * a grace, and whatever it returns then counts for nothing.
   */
  readonly signal: AbortSignal;
  /** From 0 to 1. Sent at most once per second; the last one counts. */
  progress(fraction: number, message?: string): void;
  log(text: string): void;
  /** Adds to what the attempt has cost, in whatever unit the server counts. */
  cost(amount: number): void;
  /** What the result is worth, where alternatives are compared. The last one counts. */
  assess(assessment: Assessment): void;
}

/** The root of its fibers charges what the body itself does. */
export interface FiberTaskContext extends TaskContext {
  readonly fiber: Fiber;
}

/** What the worker adds for programs that it runs itself. */
export interface AttemptContext extends TaskContext {
  /** How long a program may take to end once it was asked to. */
  readonly graceMs: number;
  /** Variables that a program inherits. The program's own variables override them. */
  readonly environment: Environment;
  output(stream: "stdout" | "stderr", text: string): void;
  /** Runs a body as the root of fibers, within the attempt's budget. */
  fibers<T>(body: Body<T>): Promise<T>;
}
