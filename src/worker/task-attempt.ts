import type {
  Assessment,
  Assignment,
  Environment,
  LogEntry,
  Progress,
  Recharge,
  Report,
} from "../protocol/index.ts";
import type { Body, Runtime } from "../runtime/index.ts";
import { checkedAssessment } from "./assessment.ts";
import { AttemptData, type Makers } from "./attempt-data.ts";
import { AttemptLog } from "./attempt-log.ts";
import { traced } from "./attempt-span.ts";
import type { KeptResult } from "./chunk-room.ts";
import { checkSize, type Expansion, expansionIn } from "./expansion.ts";
import { type Failure, failureOf } from "./failure.ts";
import { type Invocation, metaInputs } from "./invocation.ts";
import { Metered } from "./metered.ts";
import { PacedProgress } from "./paced-progress.ts";
import { jsonResult, metaTooLarge } from "./result.ts";
import type { AttemptContext } from "./task-context.ts";
import type { AttemptName } from "./transport.ts";

/** What the attempts of a worker share. */
export interface AttemptHost {
  /** How long a handler may take to end after its signal was aborted. */
  readonly graceMs: number;
  /** Variables that programs inherit. */
  readonly environment: Environment;
  /** Of one attempt. */
  readonly logLimitBytes: number;
  log(entry: LogEntry): void;
  progress(progress: Progress): void;
  /** It has something to say that does not wait for the next heartbeat. */
  beat(): void;
  /** Where fibers run, made when the first does. */
  runtime(): Promise<Runtime>;
  readonly makers: Makers;
  /** For whoever looks after the worker. */
  warn(message: string): void;
}

/** What a handler does, wherever it runs. */
export interface Work {
  readonly endsByForce: boolean;
  /** It gets bytes as they lie in memory. */
  readonly isReader: boolean;
  run(invocation: Invocation, context: AttemptContext): Promise<unknown>;
}

/** What an attempt of a run with data comes to. */
type DataResult = KeptResult & { readonly expansion?: Expansion };

type Stop = "cancelled" | "timed_out";

/** Node fires a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const MAX_COST = 1e9;

/** One attempt of a task on this worker: waiting, then running, then ended with a report. */
export class TaskAttempt {
  readonly key: string;
  readonly assignment: Assignment;
  /** On this machine's clock; -1: not yet. */
  startedAt = -1;
  /** Of a run with data: what it gets from others and leaves for them. */
  readonly data: AttemptData | undefined;
  readonly #host: AttemptHost;
  #log: AttemptLog | undefined;
  #progress: PacedProgress | undefined;
  #startedMs = 0;
  /** Made when somebody looks at its signal: most handlers never do. */
  #abort: AbortController | undefined;
  #stopped: Stop | undefined;
  #limit: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  /** Undefined: it does not run, or no longer. */
  #onEnd: ((report: Report) => void) | undefined;
  #endsByForce = false;
  #cost: number | undefined;
  #assessment: Assessment | undefined;
  #metered: Metered | undefined;

  constructor(assignment: Assignment, host: AttemptHost) {
    this.key = keyOf(assignment);
    this.assignment = assignment;
    this.#host = host;
    this.data = assignment.data && new AttemptData(this.key, assignment.data, host.makers);
  }

  /** The chunks that it gets. */
  get inputs(): string[] {
    return this.assignment.data?.inputs.map(({ chunk }) => chunk) ?? [];
  }

  /** It takes no slot. */
  get isIo(): boolean {
    return this.assignment.data?.io === true;
  }

  get graceMs(): number {
    return this.#host.graceMs;
  }

  get environment(): Environment {
    return this.#host.environment;
  }

  /** Aborted when it is told to stop. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#stopped) this.#abort.abort(this.#reason(this.#stopped));
    return this.#abort.signal;
  }

  /** Tells once how it ended. */
  run(work: Work, onEnd: (report: Report) => void): void {
    this.startedAt = Date.now();
    this.#startedMs = performance.now();
    this.#endsByForce = work.endsByForce;
    const { timeout_ms } = this.assignment;
    if (timeout_ms > 0)
      this.#limit = setTimeout(() => this.#stop("timed_out"), Math.min(timeout_ms, MAX_TIMER_MS));
    this.#onEnd = onEnd;
    const { data } = this;
    const done = data ? this.#workWith(work, data) : this.#work(work, { payload: this.assignment.payload });
    done.then(
      (result) => this.#end(() => this.#finished(data ? result : jsonResult(result))),
      (error: unknown) => this.#end(() => this.#failed(error)),
    );
  }

  #work(work: Work, invocation: Invocation): Promise<unknown> {
    try {
      return traced(this.assignment, () => work.run(invocation, new Context(this)));
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  async #workWith(work: Work, data: AttemptData): Promise<DataResult> {
    const assigned = this.assignment.data as NonNullable<Assignment["data"]>;
    const given = assigned.meta ? metaInputs(assigned) : data.inputs(work.isReader);
    const inputs = given instanceof Promise ? await given : given;
    const result = await this.#work(work, { payload: this.assignment.payload, inputs });
    const expansion = expansionIn(result);
    if (expansion) {
      checkSize(expansion);
      return { expansion };
    }
    const keeping = data.keep(result);
    const kept = keeping instanceof Promise ? await keeping : keeping;
    if (assigned.meta && kept.chunk) throw metaTooLarge(kept.chunk);
    return kept;
  }

  /** The report of an attempt that never ran. */
  unstarted(end: { readonly type: "cancelled" } | Omit<Failure, "type">): Report {
    return this.#report("type" in end ? end : { type: "failed", ...end });
  }

  cancel(): void {
    this.#stop("cancelled");
  }

  write(stream: LogEntry["stream"], text: string): void {
    if (!this.#onEnd) return;
    this.#log ??= new AttemptLog(this.assignment, this.#host.logLimitBytes, (entry) => this.#host.log(entry));
    this.#log.add(stream, text);
  }

  setProgress(fraction: number, message: string | undefined): void {
    if (!this.#onEnd) return;
    const { task, attempt } = this.assignment;
    this.#progress ??= new PacedProgress((latest) => this.#host.progress(latest));
    this.#progress.set({ task, attempt, ...progressOf(fraction, message) });
  }

  addCost(amount: number): void {
    if (!(amount >= 0)) throw new TypeError("a cost must be a number that is not negative");
    this.#cost = Math.min((this.#cost ?? 0) + amount, MAX_COST);
  }

  assess(assessment: Assessment): void {
    this.#assessment = checkedAssessment(assessment);
  }

  async fibers<T>(body: Body<T>): Promise<T> {
    this.#metered = new Metered(this.assignment, () => this.#host.beat());
    return await this.#metered.run(await this.#host.runtime(), body, this.signal);
  }

  get exhausted(): Metered["exhausted"] {
    return this.#metered?.exhausted;
  }

  recharge(recharge: Recharge): void {
    this.#metered?.recharge(recharge);
  }

  /** What comes after it was given up is nobody's concern. */
  #end(reportOf: () => Report): void {
    const onEnd = this.#onEnd;
    if (!onEnd) {
      this.data?.discard();
      return;
    }
    clearTimeout(this.#limit);
    clearTimeout(this.#grace);
    const report = this.#reportOfEnd(reportOf);
    if (report.type !== "finished") this.data?.discard();
    this.#onEnd = undefined;
    this.#progress?.end();
    onEnd(report);
  }

  /** If it was told to stop, to throw is how most handlers do that. */
  #reportOfEnd(reportOf: () => Report): Report {
    if (this.#stopped) return this.#report({ type: this.#stopped });
    try {
      return reportOf();
    } catch (error) {
      return this.#failed(error);
    }
  }

  #stop(why: Stop): void {
    if (this.#stopped || !this.#onEnd) return;
    this.#stopped = why;
    this.#abort?.abort(this.#reason(why));
    // A function that ignores its signal cannot be ended from outside, but its slot can be given to others.
    if (!this.#endsByForce)
      this.#grace = setTimeout(() => this.#giveUp(why), Math.min(this.#host.graceMs, MAX_TIMER_MS));
  }

  #giveUp(why: Stop): void {
    const { task_type, task } = this.assignment;
    this.#host.warn(`${task_type} ${task} goes on although it was told to stop; its slot is taken from it`);
    this.#end(() => this.#report({ type: why }));
  }

  #reason(why: Stop): DOMException {
    return why === "cancelled"
      ? new DOMException("the task was cancelled", "AbortError")
      : new DOMException(`the task's time of ${this.assignment.timeout_ms} ms is over`, "TimeoutError");
  }

  #finished(result: unknown): Report {
    const { task, attempt } = this.assignment;
    const report: Report = { type: "finished", task, attempt, started_at: this.startedAt };
    if (this.data) {
      const { chunk, inline, expansion } = result as DataResult;
      if (chunk) report.chunk = chunk;
      if (expansion) report.expansion = expansion;
      if (inline) report.result = inline.value;
      if (this.data.moved > 0) {
        report.moved = this.data.moved;
        report.transfers = this.data.transfers;
      }
      report.took_us = Math.round(1000 * (performance.now() - this.#startedMs));
    } else if (result !== undefined) report.result = result;
    if (this.#cost !== undefined) report.cost = this.#cost;
    if (this.#assessment !== undefined) report.assessment = this.#assessment;
    if (this.#metered?.used) report.used = this.#metered.used;
    return report;
  }

  #failed(error: unknown): Report {
    const failure = failureOf(error);
    // Where it happened is of use to whoever reads the log, unless the handler itself decided to fail.
    if (error instanceof Error && isText(error.stack) && failure.retry !== false && !("code" in error)) {
      this.write("log", error.stack);
    }
    return this.#report(failure);
  }

  #report(end: { type: Stop } | Failure): Report {
    const { task, attempt } = this.assignment;
    const told = end.type === "failed" ? { ...end, ...given("used", this.#metered?.used) } : end;
    return { ...told, task, attempt, started_at: this.startedAt, ...given("cost", this.#cost) };
  }
}

/** What an attempt is known by. */
export function keyOf({ task, attempt }: AttemptName): string {
  return `${task}:${attempt}`;
}

/** Its functions are made when they are looked at: handlers take out what they need, and many need nothing. */
class Context implements AttemptContext {
  readonly #attempt: TaskAttempt;
  readonly taskId: string;
  readonly attempt: number;
  readonly taskType: string;
  readonly zone: string;
  readonly agent: string;
  declare readonly run?: string;
  declare readonly node?: string;
  declare readonly alternative?: string;

  constructor(attempt: TaskAttempt) {
    this.#attempt = attempt;
    const { task, attempt: number, task_type, zone, agent, run, node, alternative } = attempt.assignment;
    this.taskId = task;
    this.attempt = number;
    this.taskType = task_type;
    this.zone = zone;
    this.agent = agent;
    if (run !== undefined) this.run = run;
    if (node !== undefined) this.node = node;
    if (alternative !== undefined) this.alternative = alternative;
  }

  get signal(): AbortSignal {
    return this.#attempt.signal;
  }

  get graceMs(): number {
    return this.#attempt.graceMs;
  }

  get environment(): AttemptContext["environment"] {
    return this.#attempt.environment;
  }

  get progress(): AttemptContext["progress"] {
    return (fraction, message) => this.#attempt.setProgress(fraction, message);
  }

  get log(): AttemptContext["log"] {
    return (text) => this.#attempt.write("log", String(text));
  }

  get output(): AttemptContext["output"] {
    return (stream, text) => this.#attempt.write(stream, text);
  }

  get cost(): AttemptContext["cost"] {
    return (amount) => this.#attempt.addCost(amount);
  }

  get fibers(): AttemptContext["fibers"] {
    return (body) => this.#attempt.fibers(body);
  }

  get assess(): AttemptContext["assess"] {
    return (assessment) => this.#attempt.assess(assessment);
  }
}

function progressOf(fraction: number, message: string | undefined): Omit<Progress, "task" | "attempt"> {
  return {
    ...(Number.isFinite(fraction) ? { fraction: Math.min(Math.max(fraction, 0), 1) } : {}),
    ...given("message", message === undefined ? undefined : String(message).slice(0, 1000)),
  };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** With `exactOptionalPropertyTypes`, what is not there must not be undefined either. */
function given<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [name in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [name in Name]: Value });
}
