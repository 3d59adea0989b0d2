import { setMaxListeners } from "node:events";
import {
  ChunkError,
  type Encoded,
  encodedInline,
  InputMissing,
  isInlineJson,
  type Landed,
} from "../chunks/index.ts";
import type { AssignedData, ChunkKind, InputChunk, Transfer } from "../protocol/index.ts";
import type { ChunkRoom, KeptResult } from "./chunk-room.ts";

/** How an attempt finds what others make here. */
export interface Makers {
  /** Under which the server knows this worker. */
  readonly worker: string;
  room(): ChunkRoom;
  /** Tells once how the attempt that makes a chunk ended here. False: there is no such attempt. */
  follow(chunk: string, onEnd: (isFinished: boolean) => void): boolean;
}

/** What an input holds: as bytes, or as the value that its attempt was given with. */
export type HeldInput = Encoded | { readonly value: unknown };

/** As many as a report takes. */
const MAX_TRANSFERS = 1000;

/** The inputs will not come, and somebody else says so to the server. */
export class Dropped extends Error {
  override readonly name: string = "Dropped";
}

/**
 * What an attempt of a run with data gets from others, and leaves for them. Callbacks and not promises, so that what becomes
 * ready by the end of another attempt is so before the next one is looked for.
 */
export class AttemptData {
  readonly #id: string;
  readonly #data: AssignedData;
  readonly #makers: Makers;
  readonly #transfers: Transfer[] = [];
  /** Made when something is fetched: most attempts need not. */
  #abort: AbortController | undefined;
  #isStopped = false;
  #missing = 0;
  #moved = 0;

  constructor(id: string, data: AssignedData, makers: Makers) {
    this.#id = id;
    this.#data = data;
    this.#makers = makers;
  }

  /** Bytes that were fetched for it. */
  get moved(): number {
    return this.#moved;
  }

  /** How these came. */
  get transfers(): Transfer[] {
    return this.#transfers.slice(0, MAX_TRANSFERS);
  }

  /** Of its inputs, once they are there. */
  get kinds(): ChunkKind[] {
    const { store } = this.#makers.room();
    return this.#data.inputs.map((input) => {
      if (hasValue(input)) return encodedInline(input.value).kind;
      return input.kind ?? store.kindOf(input.chunk) ?? "json";
    });
  }

  /** Calls one of both, once, maybe at once. */
  gather(onReady: () => void, onLost: (error: unknown) => void): void {
    const arrived = (): void => {
      if (--this.#missing === 0 && !this.#isStopped) onReady();
    };
    const lost = (error: unknown): void => {
      if (this.#isStopped) return;
      this.stop();
      onLost(error);
    };
    // Counted before any arrives; and one more, so that all are asked for before it is ready.
    this.#missing = this.#data.inputs.length + 1;
    if (!this.#data.meta) for (const input of this.#data.inputs) this.#await(input, arrived, lost);
    else this.#missing = 1;
    arrived();
  }

  /** The transfers that only it waits for end. */
  stop(): void {
    this.#isStopped = true;
    this.#abort?.abort();
  }

  /**
   * What the inputs hold, at once where nothing has to be read from the disk. Bytes are for reading only: others may get them
   * too. A function gets as they are those that are lent.
   */
  inputs(isLent: boolean): HeldInput[] | Promise<HeldInput[]> {
    const { inputs } = this.#data;
    const held: HeldInput[] = [];
    for (const input of inputs) {
      const found = this.#atHand(input, isLent);
      if (!found)
        return Promise.all(
          inputs.map(async (one) => this.#atHand(one, isLent) ?? (await this.#read(one, isLent))),
        );
      held.push(found);
    }
    return held;
  }

  keep(result: unknown): KeptResult | Promise<KeptResult> {
    return this.#makers.room().keep({ id: this.#id, token: this.#data.token }, result);
  }

  /** Its result counts for nothing. */
  discard(): void {
    this.#makers.room().store.free([this.#id]);
  }

  #await(input: InputChunk, arrived: () => void, lost: (error: unknown) => void): void {
    const { chunk, from = [], kind, bytes, sha256, token = this.#data.token } = input;
    const room = this.#makers.room();
    if (bytes !== undefined && sha256 !== undefined) room.store.freeOther(chunk, { bytes, sha256 });
    if (hasValue(input) || room.store.has(chunk)) {
      arrived();
      return;
    }
    if (from.length > 0) {
      const handle = {
        ...(kind && { kind }),
        ...(bytes !== undefined && { bytes }),
        ...(sha256 && { sha256 }),
      };
      this.#abort ??= endOfMany();
      room.fetcher.fetch({ chunk, token, from, ...handle }, this.#abort.signal).then((landed) => {
        if (landed) this.#note(chunk, landed);
        arrived();
      }, lost);
      return;
    }
    const isMade = this.#makers.follow(chunk, (isFinished) => {
      if (isFinished) arrived();
      else lost(new Dropped("an input is not made here after all"));
    });
    if (!isMade) lost(this.#gone(input));
  }

  #note(chunk: string, { bytes, from, beganAt, tookMs }: Landed): void {
    this.#moved += bytes;
    this.#transfers.push({ chunk, from, began_at: beganAt, took_us: Math.round(1000 * tookMs) });
  }

  #atHand(input: InputChunk, isLent: boolean): HeldInput | undefined {
    if (!hasValue(input)) return this.#makers.room().store.atHand(input.chunk, isLent);
    return isInlineJson(input.value) ? { value: input.value } : encodedInline(input.value);
  }

  async #read(input: InputChunk, isLent: boolean): Promise<Encoded> {
    try {
      const found = await this.#makers.room().store.read(input.chunk, isLent);
      if (found) return found;
    } catch (error) {
      if (error instanceof ChunkError && error.code === "damaged") throw this.#gone(input, error);
      throw error;
    }
    throw this.#gone(input);
  }

  #gone({ chunk, node }: InputChunk, cause?: ChunkError): InputMissing {
    const why = cause ? `: ${cause.message}` : ", which should be on this worker, is not";
    return new InputMissing(`the result of ${node}${why}`, [{ chunk, worker: this.#makers.worker }]);
  }
}

/** Each transfer listens to it. */
function endOfMany(): AbortController {
  const abort = new AbortController();
  setMaxListeners(0, abort.signal);
  return abort;
}

function hasValue(input: InputChunk): boolean {
  return "value" in input;
}
