/**
 * What traces the caller, for the server to go on from. It is read where OpenTelemetry's interface of version 1 keeps
 * it for all its copies in a process: the client takes no package along, and where nobody traces this is one look.
 */

const SET_UP = Symbol.for("opentelemetry.js.api.1");
const SPAN = Symbol.for("OpenTelemetry Context Key SPAN");

interface SetUp {
  readonly context?: { active(): { getValue(key: symbol): Span | undefined } };
}

interface Span {
  spanContext(): {
    readonly traceId: string;
    readonly spanId: string;
    readonly traceFlags: number;
    readonly traceState?: { serialize(): string };
  };
}

export function traceHeaders(): Readonly<Record<string, string>> {
  const { [SET_UP]: setUp } = globalThis as { readonly [SET_UP]?: SetUp };
  const span = setUp?.context?.active().getValue(SPAN);
  // Two of these headers would count as none.
  if (!span || isTracedAnyway()) return {};
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const tracestate = traceState?.serialize() ?? "";
  return {
    traceparent: `00-${traceId}-${spanId}-0${traceFlags & 1}`,
    ...(tracestate !== "" && { tracestate }),
  };
}

/** Whether somebody follows every request of this process, and adds the headers to each. */
function isTracedAnyway(): boolean {
  const channels = globalThis.process?.getBuiltinModule?.("node:diagnostics_channel");
  return channels?.hasSubscribers("undici:request:create") ?? false;
}
