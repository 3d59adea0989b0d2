import type { Post } from "./letters.ts";
import { putInFront, takeAll } from "./lists.ts";
import { type Memory, SLIP_WORDS, SLIPS } from "./memory.ts";
import { readValue, writeValue } from "./values.ts";

// What threads say to each other about channels. Most of it fits into a slip, a piece of shared memory that its sender fills
// in and puts into a list of the reader, who gives it back. The rest, and what comes when all slips are away, is a letter.

export const SEND = 1;
export const RECEIVE = 2;
export const WITHDRAW = 3;
export const CLOSE = 4;
/** Answers. */
export const DONE = 5;
export const CLOSED = 6;
export const WITHDRAWN = 7;
/** The operation cannot be done; the value says why. */
export const REFUSED = 8;
/** There may be something for those who wait at a channel. */
export const NUDGE = 9;
/** Only in letters: several cases, a channel with what it holds, and that a thread has none of a channel any more. */
export const SELECT = 10;
export const KEEP = 11;
export const DROP = 12;

export interface Mail {
  readonly kind: number;
  readonly from: number;
  /** Numbered by the thread of the fiber. */
  readonly operation: number;
  readonly channel: number;
  /** Which of the cases. */
  readonly index: number;
  readonly value: unknown;
  /** Which one of those it is that the sender has sent to this reader. */
  readonly serial: number;
}

const IS_USED = 0;
const NEXT = 1;
const KIND = 2;
const FROM = 3;
const OPERATION = 4;
const CHANNEL = 5;
const INDEX = 6;
const SERIAL = 7;
const VALUE = 8;
/** Slips that are looked at for a free one. They come back in about the order in which they went. */
const LOOKS = 4;

export class Mailroom {
  readonly #memory: Memory;
  readonly #me: number;
  readonly #post: Post;
  readonly #sent: Int32Array;
  readonly #bySlip: boolean;
  #next = 0;

  constructor(memory: Memory, me: number, post: Post, bySlip: boolean) {
    this.#memory = memory;
    this.#me = me;
    this.#post = post;
    this.#bySlip = bySlip;
    this.#sent = new Int32Array(memory.shared.processors);
  }

  /** Throws where the value cannot be copied. */
  send(to: number, kind: number, operation: number, channel: number, index: number, value: unknown): void {
    const serial = (this.#sent[to] as number) + 1;
    this.#sent[to] = serial;
    const mail: Mail = { kind, from: this.#me, operation, channel, index, value, serial };
    if (this.#sendSlip(to, mail)) return;
    this.#post.send({ to, kind: "mail", record: -1, serial, value: mail });
  }

  #sendSlip(to: number, { kind, operation, channel, index, value, serial }: Mail): boolean {
    const { words } = this.#memory;
    const slip = kind >= SELECT || !this.#bySlip ? -1 : this.#free();
    if (slip < 0) return false;
    const at = this.#memory.slipAt(slip);
    if (writeValue(words, at + VALUE, at + SLIP_WORDS, value) < 0) return false;
    words[at + IS_USED] = 1;
    words[at + KIND] = kind;
    words[at + FROM] = this.#me;
    words[at + OPERATION] = operation;
    words[at + CHANNEL] = channel;
    words[at + INDEX] = index;
    words[at + SERIAL] = serial;
    putInFront(words, this.#memory.mailAt(to), slip, at + NEXT);
    this.#memory.ring(to);
    return true;
  }

  #free(): number {
    for (let look = 0; look < LOOKS; look++) {
      const slip = this.#me * SLIPS + this.#next;
      this.#next = (this.#next + 1) % SLIPS;
      if (Atomics.load(this.#memory.words, this.#memory.slipAt(slip) + IS_USED) === 0) return slip;
    }
    return -1;
  }
}

/** Takes the slips that a processor was sent, the oldest first. */
export function takeSlips(memory: Memory, processor: number, take: (mail: Mail) => void): void {
  const { words } = memory;
  let slip = takeAll(words, memory.mailAt(processor), memory.slipAt(0) + NEXT, SLIP_WORDS);
  while (slip >= 0) {
    const at = memory.slipAt(slip);
    slip = (words[at + NEXT] as number) - 1;
    const mail: Mail = {
      kind: words[at + KIND] as number,
      from: words[at + FROM] as number,
      operation: words[at + OPERATION] as number,
      channel: words[at + CHANNEL] as number,
      index: words[at + INDEX] as number,
      value: readValue(words, at + VALUE),
      serial: words[at + SERIAL] as number,
    };
    Atomics.store(words, at + IS_USED, 0);
    take(mail);
  }
}
