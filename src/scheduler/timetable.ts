import { Heap } from "../core/index.ts";
import type { TaskKey } from "../placement/index.ts";

export interface Due {
  readonly key: TaskKey;
  readonly at: number;
}

/** Fewer are not worth a look at all of them. */
const MIN_SWEPT = 1024;

/**
 * Tasks by a time of theirs. Those that have ended stay until they come first, or until there may be more of them than
 * of the others: what waits for tomorrow must not keep all that ended today in memory.
 */
export class Timetable {
  readonly #counts: (due: Due) => boolean;
  readonly #heap = new Heap<Due>(earlier);
  #sweepAt = MIN_SWEPT;

  constructor(counts: (due: Due) => boolean) {
    this.#counts = counts;
  }

  /** With those that do not count any more. */
  get size(): number {
    return this.#heap.size;
  }

  add(due: Due): void {
    if (this.#heap.size >= this.#sweepAt) {
      this.#heap.keep(this.#counts);
      this.#sweepAt = Math.max(MIN_SWEPT, 2 * this.#heap.size);
    }
    this.#heap.push(due);
  }

  /** The first that counts. */
  next(): Due | undefined {
    for (let due = this.#heap.peek(); due !== undefined; due = this.#heap.peek()) {
      if (this.#counts(due)) return due;
      this.#heap.pop();
    }
    return undefined;
  }

  take(): Due | undefined {
    const due = this.next();
    if (due) this.#heap.pop();
    return due;
  }
}

function earlier(a: Due, b: Due): boolean {
  return a.at === b.at ? a.key < b.key : a.at < b.at;
}
