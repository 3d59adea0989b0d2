import type { Assignment } from "../protocol/index.ts";
import { isTraced, openSpan, processAttributes, readTraceContext } from "../telemetry/index.ts";

/**
 * Runs a handler in a span that goes on from the submission, and links to it: it may have waited for long. What the
 * handler does is traced under it. Without OpenTelemetry in this process it is run as it is.
 */
export function traced<Result>(assignment: Assignment, run: () => Promise<Result>): Promise<Result> {
  if (!isTraced()) return run();
  const { task_type: type, traceparent, tracestate, ...work } = assignment;
  const span = openSpan(`process ${type}`, {
    kind: "CONSUMER",
    parent: readTraceContext(traceparent, tracestate),
    isLinked: true,
    attributes: processAttributes({ ...work, type }),
  });
  if (!span) return run();
  const result = span.run(run);
  result.then(
    () => span.end(),
    (error: unknown) => span.end(error ?? "error"),
  );
  return result;
}
