/** Where the words of a deque are, counted from its own begin: each end has a cache line of its own. */
const TOP = 0;
const BOTTOM = 16;
const ITEMS = 32;

/** What `steal` gives where there is nothing, and where somebody else was faster. */
export const EMPTY = -1;
const LOST = -2;

/** Words of shared memory that a deque takes. */
export function dequeWords(capacity: number): number {
  return ITEMS + capacity;
}

/**
 * The deque of Chase and Lev in shared memory: its owner pushes and pops at the bottom, thieves take from the top, and
 * nobody ever waits for anybody.
 *
 * Items are numbers from 0 on, written and read without atomics: the store to the bottom that follows the write orders it
 * before the thief's load, and what a thief reads of a place that was written again is dropped, because its exchange of the
 * top fails. Both ends only ever count up, modulo 2³²; a thief would have to sleep through 2³² steals to be fooled.
 */
export class SharedDeque {
  readonly capacity: number;
  readonly #words: Int32Array;
  readonly #mask: number;
  /** Only the owner writes the bottom, so it knows it. */
  #bottom: number;
  /** The top as it was when last looked at; it is further by now, never less. */
  #top: number;

  constructor(words: Int32Array, at: number, capacity: number) {
    this.capacity = capacity;
    this.#mask = capacity - 1;
    this.#words = words.subarray(at, at + dequeWords(capacity));
    this.#bottom = Atomics.load(this.#words, BOTTOM);
    this.#top = Atomics.load(this.#words, TOP);
  }

  /** How many there are; for all but the owner that is a guess. */
  get size(): number {
    const words = this.#words;
    return Math.max(0, ((words[BOTTOM] as number) - (words[TOP] as number)) | 0);
  }

  /** Owner only. Says whether there was room. */
  push(item: number): boolean {
    const words = this.#words;
    const bottom = this.#bottom;
    if (((bottom - this.#top) | 0) >= this.capacity) {
      this.#top = Atomics.load(words, TOP);
      if (((bottom - this.#top) | 0) >= this.capacity) return false;
    }
    words[ITEMS + (bottom & this.#mask)] = item;
    this.#bottom = (bottom + 1) | 0;
    Atomics.store(words, BOTTOM, this.#bottom);
    return true;
  }

  /** Owner only. The newest, or EMPTY. */
  pop(): number {
    const words = this.#words;
    const bottom = (this.#bottom - 1) | 0;
    // Before the top is looked at, so that a thief and the owner cannot both think that the last one is theirs.
    Atomics.store(words, BOTTOM, bottom);
    const top = Atomics.load(words, TOP);
    const left = (bottom - top) | 0;
    if (left > 0) {
      this.#bottom = bottom;
      return words[ITEMS + (bottom & this.#mask)] as number;
    }
    if (left < 0) {
      this.#settle(top);
      return EMPTY;
    }
    const item = words[ITEMS + (bottom & this.#mask)] as number;
    const next = (top + 1) | 0;
    const won = Atomics.compareExchange(words, TOP, top, next) === top;
    this.#settle(next);
    return won ? item : EMPTY;
  }

  /** What would be stolen if it were now, or EMPTY. */
  peek(): number {
    const words = this.#words;
    const top = Atomics.load(words, TOP);
    return ((Atomics.load(words, BOTTOM) - top) | 0) <= 0
      ? EMPTY
      : (words[ITEMS + (top & this.#mask)] as number);
  }

  /** Anybody else. The oldest, EMPTY, or LOST. */
  steal(): number {
    const words = this.#words;
    const top = Atomics.load(words, TOP);
    if (((Atomics.load(words, BOTTOM) - top) | 0) <= 0) return EMPTY;
    const item = words[ITEMS + (top & this.#mask)] as number;
    return Atomics.compareExchange(words, TOP, top, (top + 1) | 0) === top ? item : LOST;
  }

  #settle(bottom: number): void {
    this.#bottom = bottom;
    Atomics.store(this.#words, BOTTOM, bottom);
  }
}
