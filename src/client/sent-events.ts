import { backOffMs, pause } from "./back-off.ts";
import type { Connection, OpenAnswer, Query } from "./connection.ts";

/** One message of a stream of server-sent events. */
export interface SentEvent {
  /** What resumes after it; undefined: none was given. */
  readonly id: string | undefined;
  readonly kind: string;
  readonly data: string;
}

export interface Place {
  /** The id of the last event that is known. */
  readonly after?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The server says something at least every 15 s; a connection that is silent for this long is dead. */
const SILENCE_MS = 45_000;
const NO_CONTENT = 204;

/**
 * What a stream sends, over as many connections as it takes: each goes on after the last event of the one before.
 * Ends only when the server says that there is nothing more, or with the signal.
 */
export async function* sentEvents(
  connection: Connection,
  path: string,
  query: Query,
  { after, signal }: Place,
): AsyncGenerator<SentEvent, void, undefined> {
  let last = after;
  let failures = 0;
  // Who never got through is told so; who did stays, for as long as it takes.
  let retryForMs: number | undefined;
  for (;;) {
    const place = last === undefined ? {} : { "last-event-id": last };
    const headers = { accept: "text/event-stream", ...place };
    const answer = await connection.open(
      { method: "GET", path, query, headers, isRepeatable: true, signal },
      retryForMs,
    );
    retryForMs = Number.POSITIVE_INFINITY;
    for await (const event of messages(answer)) {
      if (event.id !== undefined) {
        last = event.id;
        failures = 0;
      }
      yield event;
    }
    if (answer.response.status === NO_CONTENT) return;
    await pause(backOffMs(failures++), signal);
  }
}

/** What one connection brings, until it ends in whatever way. */
async function* messages({ response, limit }: OpenAnswer): AsyncGenerator<SentEvent, void, undefined> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  const parser = new SentEventParser();
  try {
    for (;;) {
      limit.restart(SILENCE_MS);
      // A connection that broke has ended; its place is known, so the next one goes on there.
      const chunk = await reader?.read().catch(() => undefined);
      if (!chunk || chunk.done) return;
      yield* parser.feed(decoder.decode(chunk.value as Uint8Array, { stream: true }));
    }
  } finally {
    limit.release();
    await reader?.cancel().catch(() => {});
  }
}

/** Reads the format as the HTML standard has it. */
export class SentEventParser {
  #rest = "";
  #id: string | undefined;
  #kind = "";
  #data: string[] = [];

  feed(text: string): SentEvent[] {
    const events: SentEvent[] = [];
    // A carriage return at the end may be half of a line break.
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") this.#field(line);
      else if (this.#data.length > 0) events.push(this.#take());
      else this.#kind = "";
    }
    return events;
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#kind = value;
    else if (name === "id") this.#id = value;
  }

  #take(): SentEvent {
    const event = { id: this.#id, kind: this.#kind || "message", data: this.#data.join("\n") };
    this.#id = undefined;
    this.#kind = "";
    this.#data = [];
    return event;
  }
}
