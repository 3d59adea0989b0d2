import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { signalOf } from "./signal.ts";

const KEEP_ALIVE_MS = 15_000;
/** A reader that takes nothing for this long is cut off; it resumes from the last event that it got. */
const MAX_STALL_MS = 5000;

export interface SentEvent {
  /** What resumes after it; without one the place stays where it was. */
  readonly id?: string;
  readonly kind: string;
  readonly data: unknown;
}

export interface StreamOptions {
  /** Aborted when the server closes. */
  readonly closing: AbortSignal;
  /** Asked again and again: a key may be revoked while its stream is open. */
  readonly mayStay: () => boolean;
}

/** Sends the texts of events that `produce` yields until it ends, the client goes, or the server closes. */
export async function sendEvents(
  reply: FastifyReply,
  { closing, mayStay }: StreamOptions,
  produce: (signal: AbortSignal) => AsyncIterable<string>,
): Promise<void> {
  const { raw } = reply;
  const signal = signalOf(raw, closing);
  raw.on("error", () => raw.destroy());
  reply.hijack();
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    // Proxies that gather an answer would hold a stream back for ever.
    "x-accel-buffering": "no",
  });
  const keepAlive = setInterval(() => {
    if (!mayStay()) raw.destroy();
    else if (!raw.writableNeedDrain) raw.write(": keep-alive\n\n");
  }, KEEP_ALIVE_MS);
  raw.write("retry: 2000\n\n");
  try {
    for await (const text of produce(signal)) {
      if (signal.aborted) break;
      // What the reader does not take stays where it comes from, which keeps it for all readers at once.
      if (!raw.write(text)) await drained(raw, signal);
    }
  } catch (error) {
    // The status is sent; all that is left is to end, and the client comes back.
    if (!signal.aborted) reply.log.error({ err: error }, "an event stream broke");
  } finally {
    clearInterval(keepAlive);
    raw.end();
  }
}

async function drained(raw: ServerResponse, signal: AbortSignal): Promise<void> {
  const stall = setTimeout(() => raw.destroy(), MAX_STALL_MS);
  // Rejects when the signal is aborted, which the loop looks at next.
  await once(raw, "drain", { signal }).catch(() => {});
  clearTimeout(stall);
}

/** JSON has no line breaks, so one data line is enough. Ids and kinds are ours. */
export function textOf({ id, kind, data }: SentEvent): string {
  const place = id === undefined ? "" : `id: ${id}\n`;
  return `${place}event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;
}
