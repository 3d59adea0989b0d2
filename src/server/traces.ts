import type { Fact } from "../driver/index.ts";
import { readTraceContext, type TraceContext } from "../telemetry/index.ts";

/** More are forgotten, the oldest first: their tasks run without a trace. */
const MAX_KEPT = 100_000;

/**
 * The traces that open tasks belong to, in memory, so that giving a task to a worker costs no look at the store. They
 * stand in the tasks' settings too, where whoever leads next finds them.
 */
export class Traces {
  readonly #kept = new Map<string, TraceContext>();

  /** A task, or a run. */
  keep(id: string, trace: TraceContext): void {
    this.#kept.set(id, trace);
    if (this.#kept.size <= MAX_KEPT) return;
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest);
      break;
    }
  }

  of(taskId: string, runId: string | undefined): TraceContext | undefined {
    if (this.#kept.size === 0) return undefined;
    return this.#kept.get(taskId) ?? (runId === undefined ? undefined : this.#kept.get(runId));
  }

  /** As the settings of a task say that was submitted to another server, or before this one was started. */
  keepFrom(id: string, settings: string): void {
    if (this.#kept.has(id)) return;
    const { traceparent, tracestate } = JSON.parse(settings) as Record<string, unknown>;
    const trace = readTraceContext(traceparent, tracestate);
    if (trace) this.keep(id, trace);
  }

  /** What has ended needs none. */
  follow(facts: readonly Fact[]): void {
    if (this.#kept.size === 0) return;
    for (const { event, about } of facts) {
      const id = event.kind === "RunEnded" ? about?.runId : about?.task?.id;
      if (id !== undefined && ENDS.has(event.kind)) this.#kept.delete(id);
    }
  }
}

const ENDS: ReadonlySet<string> = new Set([
  "AttemptFinished",
  "VoteTaken",
  "TaskFailed",
  "TaskCancelled",
  "RunEnded",
]);

/** Settings, as JSON text, with the trace that their task belongs to. */
export function withTrace(settings: string, trace: TraceContext | undefined): string {
  return trace ? JSON.stringify({ ...(JSON.parse(settings) as object), ...trace }) : settings;
}
