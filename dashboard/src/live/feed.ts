import type { EventData } from "../../../src/protocol/api-schemas.ts";
import { open } from "../api/request.ts";
import { MessageReader } from "./server-sent.ts";

export type FeedState = "connecting" | "live" | "reconnecting" | "offline" | "paused";

interface FeedOptions {
  readonly onEvent: (event: EventData) => void;
  /** Something may have happened that was not told. */
  readonly onGap: () => void;
  readonly onState: (state: FeedState) => void;
}

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 3000;
/** The server says something every 15 seconds. */
const SILENCE_MS = 35_000;
/** Losing a connection for shorter than this is not worth a word. */
const OFFLINE_AFTER_MS = 5000;

/**
 * The one connection by which the server tells what happens. It comes back by itself, from the last event that it
 * saw; it rests while nobody looks.
 */
export class Feed {
  readonly #options: FeedOptions;
  #lastId: string | undefined;
  #connection: AbortController | undefined;
  #timer: number | undefined;
  #waitMs = FIRST_WAIT_MS;
  #lostAt: number | undefined;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  start(): void {
    document.addEventListener("visibilitychange", this.#look);
    window.addEventListener("online", this.#retry);
    this.#look();
  }

  stop(): void {
    document.removeEventListener("visibilitychange", this.#look);
    window.removeEventListener("online", this.#retry);
    this.#rest();
  }

  readonly #look = (): void => {
    if (document.visibilityState === "hidden") {
      this.#rest();
      this.#options.onState("paused");
    } else if (!this.#connection) this.#connect();
  };

  readonly #retry = (): void => {
    if (this.#timer !== undefined) this.#connect();
  };

  #rest(): void {
    window.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#connection?.abort();
    this.#connection = undefined;
  }

  #connect(): void {
    this.#rest();
    const connection = new AbortController();
    this.#connection = connection;
    this.#options.onState(this.#lostAt === undefined ? "connecting" : this.#absence());
    const ended = () => {
      if (this.#connection === connection) this.#lost();
    };
    this.#read(connection).then(ended, ended);
  }

  #lost(): void {
    this.#connection = undefined;
    this.#lostAt ??= Date.now();
    this.#options.onState(this.#absence());
    this.#timer = window.setTimeout(() => this.#connect(), this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, LONGEST_WAIT_MS);
  }

  #absence(): FeedState {
    const isLong = Date.now() - (this.#lostAt ?? Date.now()) > OFFLINE_AFTER_MS;
    return isLong || !navigator.onLine ? "offline" : "reconnecting";
  }

  async #read(connection: AbortController): Promise<void> {
    const silence = new Alarm(SILENCE_MS, () => connection.abort());
    try {
      const from = this.#lastId;
      const response = await open(
        "/events",
        from === undefined ? {} : { "last-event-id": from },
        connection.signal,
      );
      this.#found(from);
      const messages = new MessageReader();
      const pieces = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      for (let piece = await pieces?.read(); piece && !piece.done; piece = await pieces?.read()) {
        silence.set();
        for (const { id, data } of messages.read(piece.value)) this.#tell(id, data);
      }
    } finally {
      silence.clear();
    }
  }

  #found(from: string | undefined): void {
    this.#waitMs = FIRST_WAIT_MS;
    this.#lostAt = undefined;
    this.#options.onState("live");
    // Without a place to go on from, whatever happened before now is unknown.
    if (from === undefined) this.#options.onGap();
  }

  #tell(id: string | undefined, data: string): void {
    if (id !== undefined) this.#lastId = id;
    const event = JSON.parse(data) as EventData;
    if (event.kind === "EventsMissed") this.#options.onGap();
    else this.#options.onEvent(event);
  }
}

class Alarm {
  readonly #ms: number;
  readonly #ring: () => void;
  #timer: number | undefined;

  constructor(ms: number, ring: () => void) {
    this.#ms = ms;
    this.#ring = ring;
    this.set();
  }

  set(): void {
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(this.#ring, this.#ms);
  }

  clear(): void {
    window.clearTimeout(this.#timer);
  }
}
