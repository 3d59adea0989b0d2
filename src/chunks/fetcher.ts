import { setTimeout as sleep } from "node:timers/promises";
import type { ChunkHandle, InputChunk } from "../protocol/index.ts";
import { NotGiven, requestChunk, type TransferLimits } from "./chunk-request.ts";
import type { ChunkStore } from "./chunk-store.ts";
import { ChunkError, InputMissing } from "./errors.ts";
import { Places } from "./places.ts";

/** A chunk that others have. */
export interface Wanted extends Partial<ChunkHandle> {
  readonly chunk: string;
  readonly token: string;
  /** Best first. */
  readonly from: NonNullable<InputChunk["from"]>;
}

type Holder = Wanted["from"][number];

/** A chunk that came. */
export interface Landed {
  readonly bytes: number;
  /** The worker that gave it. */
  readonly from: string;
  /** When it was asked for it. */
  readonly beganAt: number;
  readonly tookMs: number;
}

/** How often a holder is asked that is busy. */
const MAX_BUSY_TRIES = 30;
/**
 * One that nothing is heard of is asked again for so long, at least once: a network may be away for a moment, and whoever reports a
 * result as missing has it made again, three times in all.
 */
const UNREACHABLE_MS = 3_000;
/** Before the second time; then longer each time. */
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 2_000;

/** Brings chunks from other workers into the store. One that several wait for comes once. */
export class Fetcher {
  readonly #store: ChunkStore;
  readonly #places: Places;
  readonly #permits: (address: string) => boolean;
  readonly #limits: TransferLimits | undefined;
  readonly #flights = new Map<string, Flight>();
  #moved = 0;

  /** Fetches at most `maxIn` chunks at a time. By default every address is permitted. */
  constructor(
    store: ChunkStore,
    maxIn: number = 8,
    limits?: TransferLimits,
    permits: (address: string) => boolean = () => true,
  ) {
    this.#store = store;
    this.#permits = permits;
    this.#places = new Places(maxIn);
    this.#limits = limits;
  }

  /** Bytes that came since the start. */
  get moved(): number {
    return this.#moved;
  }

  /**
   * Resolves to what came for this caller; undefined: it was here, or came for another. Throws `InputMissing`,
   * `spill-failed`, or why the signal was aborted.
   */
  async fetch(wanted: Wanted, signal: AbortSignal): Promise<Landed | undefined> {
    if (this.#store.has(wanted.chunk)) return undefined;
    const before = this.#flights.get(wanted.chunk);
    const under = before?.isAborted ? undefined : before;
    const flight = under ?? this.#depart(wanted);
    for (const holder of wanted.from) flight.add(holder);
    const landed = await flight.joined(signal);
    return under ? undefined : landed;
  }

  #depart(wanted: Wanted): Flight {
    const flight = new Flight(wanted, this.#store, this.#places, this.#limits, this.#permits);
    this.#flights.set(wanted.chunk, flight);
    const landed = (): void => {
      if (this.#flights.get(wanted.chunk) === flight) this.#flights.delete(wanted.chunk);
    };
    flight.done.then(({ bytes }) => {
      this.#moved += bytes;
      landed();
    }, landed);
    return flight;
  }
}

interface Asked {
  readonly holder: Holder;
  tries: number;
  /** When it failed first. */
  failedMs: number | undefined;
  isOut: boolean;
}

/** One chunk on its way. */
class Flight {
  readonly done: Promise<Landed>;
  readonly #wanted: Wanted;
  readonly #store: ChunkStore;
  readonly #limits: TransferLimits | undefined;
  readonly #permits: (address: string) => boolean;
  readonly #abort = new AbortController();
  /** Holders, keyed by URL, because workers of different zones may have the same id. */
  readonly #holders = new Map<string, Asked>();
  readonly #reasons: string[] = [];
  #isUnreachable = false;
  #waiting = 0;

  constructor(
    wanted: Wanted,
    store: ChunkStore,
    places: Places,
    limits: TransferLimits | undefined,
    permits: (address: string) => boolean,
  ) {
    this.#permits = permits;
    this.#wanted = wanted;
    this.#store = store;
    this.#limits = limits;
    this.done = this.#fly(places);
    // Those who wait hear of it.
    this.done.catch(() => {});
  }

  /** Nobody waits for it any more. */
  get isAborted(): boolean {
    return this.#abort.signal.aborted;
  }

  add(holder: Holder): void {
    if (!this.#holders.has(holder.url))
      this.#holders.set(holder.url, { holder, tries: 0, failedMs: undefined, isOut: false });
  }

  /** When the last who waits leaves, it ends. */
  joined(signal: AbortSignal): Promise<Landed> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      this.#waiting++;
      const leave = (): void => {
        if (--this.#waiting === 0) this.#abort.abort();
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", leave, { once: true });
      const arrive = (): void => signal.removeEventListener("abort", leave);
      this.done
        .then(resolve, reject)
        .finally(arrive)
        .catch(() => {});
    });
  }

  async #fly(places: Places): Promise<Landed> {
    const { signal } = this.#abort;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
      const leave = await places.take(signal);
      const landed = await this.#round().finally(leave);
      if (landed) return landed;
      if (![...this.#holders.values()].some(({ isOut }) => !isOut)) throw this.#missing();
      // Its place is another's meanwhile.
      await sleep(waitMs, undefined, { signal });
    }
  }

  /** Asks each holder once, until one gives it. */
  async #round(): Promise<Landed | undefined> {
    for (const asked of this.#holders.values()) {
      if (asked.isOut) continue;
      try {
        return await this.#take(asked.holder);
      } catch (error) {
        this.#abort.signal.throwIfAborted();
        asked.tries++;
        asked.failedMs ??= performance.now();
        asked.isOut = !mayGiveYet(error, asked.tries, performance.now() - asked.failedMs);
        this.#note(asked.holder, error as Error);
      }
    }
    return undefined;
  }

  async #take({ worker: from, url }: Holder): Promise<Landed> {
    const { chunk: id, token, bytes, sha256, kind } = this.#wanted;
    const [beganAt, began] = [Date.now(), performance.now()];
    const { signal } = this.#abort;
    const [limits, permits] = [this.#limits, this.#permits];
    const coming = await requestChunk({ url, id, token, permits, signal, ...(limits && { limits }) });
    const expected = { bytes: bytes ?? coming.handle.bytes, sha256: sha256 ?? coming.handle.sha256 };
    const body = upTo(expected.bytes, coming.body, id);
    await this.#store.spool({ id, token }, kind ?? coming.handle.kind, body, expected);
    return { bytes: expected.bytes, from, beganAt, tookMs: performance.now() - began };
  }

  #note({ worker, url }: Holder, error: Error): void {
    const isUnreachable = error instanceof NotGiven && error.why === "unreachable";
    this.#isUnreachable ||= isUnreachable;
    this.#reasons.push(`${worker}${isUnreachable ? ` at ${url}` : ""}: ${error.message}`);
  }

  #missing(): InputMissing {
    const { chunk } = this.#wanted;
    const reasons = [...new Set(this.#reasons)].join("; ");
    const fix = this.#isUnreachable
      ? "; where others reach a worker is said by its --data-host and --data-url"
      : "";
    return new InputMissing(
      `nobody gives chunk ${chunk} (${reasons || "nobody has it"})${fix}`,
      Array.from(this.#holders.values(), ({ holder: { worker } }) => ({ chunk, worker })),
    );
  }
}

/** Who sends more than there is would fill memory and disk before its hash is found to be wrong. */
async function* upTo(maxBytes: number, body: AsyncIterable<Buffer>, id: string): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (!(bytes <= maxBytes))
      throw new ChunkError("damaged", `chunk ${id} has more than its ${maxBytes} bytes`);
    yield piece;
  }
}

/** What a full disk refuses is no fault of who gave it. */
function mayGiveYet(error: unknown, tries: number, sinceMs: number): boolean {
  if (error instanceof NotGiven) {
    if (error.why === "busy") return tries < MAX_BUSY_TRIES;
    return error.why === "unreachable" && (tries < 2 || sinceMs < UNREACHABLE_MS);
  }
  if (error instanceof ChunkError && error.code === "damaged") return false;
  throw error;
}
