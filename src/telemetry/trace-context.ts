/** Where a trace goes on, as W3C Trace Context writes it. What does not have its form is as if it were not there. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const MAX_STATE = 512;
const MAX_MEMBERS = 32;
const KEY = /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})$/;
/** Visible ASCII and spaces without comma and equals sign, not ending with a space. */
const VALUE = /^[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

export interface SpanName {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

export function readTraceContext(traceparent: unknown, tracestate?: unknown): TraceContext | undefined {
  const name = readTraceparent(traceparent);
  if (!name) return undefined;
  const state = readTracestate(tracestate);
  return { traceparent: writeTraceparent(name), ...(state !== undefined && { tracestate: state }) };
}

/** Undefined for what is none; a later version is read as far as this one goes. */
export function readTraceparent(text: unknown): SpanName | undefined {
  const [, version, traceId, spanId, flags, more] =
    TRACEPARENT.exec(typeof text === "string" ? text : "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === "00" && more !== undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}

/** Of the flags, "sampled" is the only one that this version knows. */
export function writeTraceparent({ traceId, spanId, traceFlags }: SpanName): string {
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`;
}

function readTracestate(text: unknown): string | undefined {
  if (typeof text !== "string" || text.length > MAX_STATE) return undefined;
  const members = text
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "");
  const keys = members.map((member) => member.slice(0, Math.max(0, member.indexOf("="))));
  const isSound =
    members.length > 0 &&
    members.length <= MAX_MEMBERS &&
    new Set(keys).size === keys.length &&
    members.every((member, at) => {
      const key = keys[at] ?? "";
      return KEY.test(key) && VALUE.test(member.slice(key.length + 1));
    });
  return isSound ? members.join(",") : undefined;
}
