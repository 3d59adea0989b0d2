export { processAttributes, submitAttributes } from "./conventions.ts";
export { startTelemetry, TelemetryError } from "./sdk.ts";
export { activeTrace, addSpan, inSpan, isTraced, openSpan } from "./spans.ts";
export { readTraceContext, type TraceContext } from "./trace-context.ts";
