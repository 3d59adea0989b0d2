import { lengthAt, readValue, writeValue } from "./values.ts";

/** Where the words of a ring are: each end has a cache line of its own. */
const PUSHED = 0;
const POPPED = 16;
const FLAGS = 32;
const CELLS = 48;

const CELL_WORDS = 32;
const POSITION = 0x7fff_ffff;
/** Of the word that counts what was pushed; the position is above it. */
const IS_CLOSED = 1;

export const SENDERS_WAIT = 1;
export const RECEIVERS_WAIT = 2;
const IS_NUDGED = 4;

/** What a push came to. */
export const PUSHED_IT = 0;
const FULL = 1;
const TOO_LARGE = 2;
export const CLOSED = 3;

/** What a pop gives where there is nothing, and where there is what only the main thread has. */
export const NOTHING_THERE: unique symbol = Symbol("nothing");
export const KEPT_ELSEWHERE: unique symbol = Symbol("kept elsewhere");

/** Stands in a cell for a value that is too large for it. No value begins with that. */
const LARGE = 0xff;

/** Beyond that a channel is used by mail only. */
const MOST_CELLS = 65_536;

export function makeRing(capacity: number): Int32Array | undefined {
  if (capacity === 0 || capacity > MOST_CELLS) return undefined;
  const cells = 2 ** Math.ceil(Math.log2(capacity));
  const words = new Int32Array(new SharedArrayBuffer(4 * (CELLS + cells * CELL_WORDS)));
  // Until the main thread has it, all that is done with it goes there.
  words[FLAGS] = SENDERS_WAIT | RECEIVERS_WAIT;
  return words;
}

/**
 * What a channel holds, where all threads can put something in and take something out without asking anybody. Only who would
 * have to wait goes to the main thread, which raises a flag: from then on everyone goes there, so that nobody overtakes.
 *
 * A push takes a position, fills the cell in, and marks it with the position. A pop reads the cell, then takes the position:
 * if that fails, what was read is dropped. A cell is filled again only once its position was popped.
 */
export class SharedRing {
  readonly words: Int32Array;
  readonly #capacity: number;
  readonly #mask: number;
  readonly #cell = new Int32Array(CELL_WORDS);
  /** Values that do not fit into cells, by position; on the main thread. */
  readonly #large: Map<number, unknown> | undefined;

  constructor(words: Int32Array, capacity: number, isMain: boolean) {
    this.words = words;
    this.#capacity = capacity;
    this.#mask = (words.length - CELLS) / CELL_WORDS - 1;
    this.#large = isMain ? new Map() : undefined;
  }

  get size(): number {
    const popped = Atomics.load(this.words, POPPED);
    return ((Atomics.load(this.words, PUSHED) >>> 1) - popped) & POSITION;
  }

  get isClosed(): boolean {
    return (Atomics.load(this.words, PUSHED) & IS_CLOSED) !== 0;
  }

  close(): void {
    Atomics.or(this.words, PUSHED, IS_CLOSED);
  }

  get hasRoom(): boolean {
    return this.size < this.#capacity;
  }

  /** Whether something can be popped. What is just being pushed is not there yet. */
  get hasValue(): boolean {
    const position = Atomics.load(this.words, POPPED);
    return Atomics.load(this.words, this.#at(position)) === ((position + 1) | 0);
  }

  has(flag: number): boolean {
    return (Atomics.load(this.words, FLAGS) & flag) !== 0;
  }

  /** Says who waits. */
  raise(senders: boolean, receivers: boolean): void {
    const flags = (senders ? SENDERS_WAIT : 0) | (receivers ? RECEIVERS_WAIT : 0);
    Atomics.or(this.words, FLAGS, flags);
    Atomics.and(this.words, FLAGS, flags | IS_NUDGED);
  }

  /** Whether the main thread is still to be told that it should look at the ring. */
  nudge(): boolean {
    return (Atomics.or(this.words, FLAGS, IS_NUDGED) & IS_NUDGED) === 0;
  }

  heed(): void {
    Atomics.and(this.words, FLAGS, ~IS_NUDGED);
  }

  push(value: unknown): number {
    const { words } = this;
    const cell = this.#cell;
    let end = writeValue(cell, 1, CELL_WORDS, value);
    if (end < 0 && this.#large === undefined) return TOO_LARGE;
    if (end < 0) {
      cell[1] = LARGE;
      end = 2;
    }
    for (;;) {
      const pushed = Atomics.load(words, PUSHED);
      if ((pushed & IS_CLOSED) !== 0) return CLOSED;
      const position = pushed >>> 1;
      if (((position - Atomics.load(words, POPPED)) & POSITION) >= this.#capacity) return FULL;
      if (Atomics.compareExchange(words, PUSHED, pushed, (pushed + 2) | 0) !== pushed) continue;
      if (cell[1] === LARGE) this.#large?.set(position, value);
      const at = this.#at(position);
      for (let word = 1; word < end; word++) words[at + word] = cell[word] as number;
      Atomics.store(words, at, (position + 1) | 0);
      return PUSHED_IT;
    }
  }

  pop(): unknown {
    const { words } = this;
    const cell = this.#cell;
    for (;;) {
      const position = Atomics.load(words, POPPED);
      const at = this.#at(position);
      if (Atomics.load(words, at) !== ((position + 1) | 0)) {
        if (Atomics.load(words, POPPED) !== position) continue;
        return NOTHING_THERE;
      }
      if (words[at + 1] === LARGE && this.#large === undefined) return KEPT_ELSEWHERE;
      const length = Math.min(lengthAt(words, at + 1), CELL_WORDS - 1);
      for (let word = 1; word <= length; word++) cell[word] = words[at + word] as number;
      if (Atomics.compareExchange(words, POPPED, position, (position + 1) & POSITION) === position)
        return cell[1] === LARGE ? this.#takeLarge(position) : readValue(cell, 1);
    }
  }

  #takeLarge(position: number): unknown {
    const value = this.#large?.get(position);
    this.#large?.delete(position);
    return value;
  }

  #at(position: number): number {
    return CELLS + (position & this.#mask) * CELL_WORDS;
  }
}
