import { createRequire } from "node:module";
import type * as OpenTelemetry from "@opentelemetry/api";
import { type Attributes, ERROR_TYPE } from "./conventions.ts";
import { readTraceparent, type TraceContext, writeTraceparent } from "./trace-context.ts";

type Api = typeof OpenTelemetry;

/** Where OpenTelemetry keeps what was set up in this process, since its version 1.0. */
const SET_UP = Symbol.for("opentelemetry.js.api.1");
let loaded: Api | undefined;

/** Whether somebody has set up OpenTelemetry in this process. */
export function isTraced(): boolean {
  return SET_UP in globalThis;
}

/** Its interface is loaded only when somebody uses it: it takes longer to load than most commands take to run. */
function openTelemetry(): Api | undefined {
  if (!isTraced()) return undefined;
  loaded ??= createRequire(import.meta.url)("@opentelemetry/api") as Api;
  return loaded;
}

export interface SpanOptions {
  readonly kind: "PRODUCER" | "CONSUMER" | "CLIENT";
  /** Where the span's trace goes on; undefined: with the span that is active. */
  readonly parent: TraceContext | undefined;
  /** Whether the span names its parent as a link too: what it deals with was sent there, maybe long ago. */
  readonly isLinked?: boolean;
  readonly attributes: Attributes;
}

/** What traces what is done now; undefined: nothing does. */
export function activeTrace(): TraceContext | undefined {
  const api = openTelemetry();
  const span = api?.trace.getActiveSpan();
  return api && span ? traceOf(api, span) : undefined;
}

/** A span that is under way. */
export interface OpenSpan {
  /** What goes on from it. */
  readonly trace: TraceContext | undefined;
  /** Does something with the span active. */
  run<Result>(work: () => Result): Result;
  /** Once, with what went wrong, if something did. */
  end(error?: unknown): void;
}

/** Undefined where nobody has set up OpenTelemetry. */
export function openSpan(name: string, options: SpanOptions): OpenSpan | undefined {
  const api = openTelemetry();
  if (!api) return undefined;
  const { kind, parent, isLinked = false, attributes } = options;
  const remote = parent && remoteOf(api, parent);
  const links = isLinked && remote ? [{ context: remote }] : [];
  const active = api.context.active();
  const around = remote ? api.trace.setSpanContext(active, remote) : active;
  const span = tracerOf(api).startSpan(name, { kind: api.SpanKind[kind], links, attributes }, around);
  return {
    trace: traceOf(api, span) ?? parent,
    run: (work) => api.context.with(api.trace.setSpan(around, span), work),
    end: (error) => {
      if (error !== undefined) noteError(api, span, error);
      span.end();
    },
  };
}

/**
 * Does something in a span, which is active meanwhile. The work gets what its trace goes on from: the span, or where
 * there is none what came in.
 */
export async function inSpan<Result>(
  name: string,
  options: SpanOptions,
  work: (trace: TraceContext | undefined) => Promise<Result>,
): Promise<Result> {
  const span = openSpan(name, options);
  if (!span) return await work(options.parent);
  try {
    const result = await span.run(() => work(span.trace));
    span.end();
    return result;
  } catch (error) {
    span.end(error ?? "error");
    throw error;
  }
}

/** A span of something that is over. */
export function addSpan(name: string, durationMs: number, attributes: Attributes): void {
  const api = openTelemetry();
  if (!api) return;
  const endTime = Date.now();
  const root = api.ROOT_CONTEXT;
  tracerOf(api)
    .startSpan(name, { startTime: endTime - durationMs, attributes }, root)
    .end(endTime);
}

function tracerOf(api: Api): OpenTelemetry.Tracer {
  return api.trace.getTracer("orrery");
}

function traceOf(api: Api, span: OpenTelemetry.Span): TraceContext | undefined {
  const context = span.spanContext();
  if (!api.isSpanContextValid(context)) return undefined;
  const tracestate = context.traceState?.serialize() ?? "";
  return { traceparent: writeTraceparent(context), ...(tracestate !== "" && { tracestate }) };
}

function remoteOf(api: Api, trace: TraceContext): OpenTelemetry.SpanContext | undefined {
  const name = readTraceparent(trace.traceparent);
  if (!name) return undefined;
  const { tracestate } = trace;
  return {
    ...name,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: api.createTraceState(tracestate) }),
  };
}

function noteError(api: Api, span: OpenTelemetry.Span, error: unknown): void {
  const { name, code, message } = (error ?? {}) as { name?: unknown; code?: unknown; message?: unknown };
  span.setAttribute(ERROR_TYPE, String(code ?? name ?? "error"));
  if (error instanceof Error) span.recordException(error);
  span.setStatus({ code: api.SpanStatusCode.ERROR, message: String(message ?? error) });
}
