import { Ring } from "./rings.ts";

export type Priority = "high" | "normal" | "low";

/** As the table of fibers has them. */
export const PRIORITIES: readonly Priority[] = ["normal", "high", "low"];
const NORMAL = 0;
const HIGH = 1;

/** Where new fibers wait: a deque of its own, or one that other threads steal from. */
export interface Fresh {
  readonly size: number;
  push(slot: number): void;
  /** The newest, -1 where there is none. */
  pop(): number;
  /** The oldest, for a thief on the same thread. */
  shift(): number;
}

/**
 * What one processor may run next.
 *
 * New fibers wait in a deque: the owner takes the newest, which is likely the smallest and the warmest, thieves the
 * oldest, which is likely the largest. Those that yielded or woke wait first in, first out. Both are served in turn, for
 * either order alone lets the one starve the other. Priority is a hint: what is high goes first but for every eighth
 * pick, what is low waits for the others but for every 64th. Roots, which wait for whoever is free, are looked for when
 * nothing else is there, and every 64th time.
 */
export class Processor {
  readonly id: number;
  /** Ops that it has run, and in a simulation its clock. */
  clock = 0;
  #fresh: Fresh = new Ring();
  readonly #woken = new Ring();
  readonly #high = new Ring();
  readonly #low = new Ring();
  readonly #global: Ring;
  #tick = 0;

  constructor(id: number, global: Ring) {
    this.id = id;
    this.#global = global;
  }

  /** Has new fibers wait elsewhere, with those that wait already. */
  waitIn(fresh: Fresh): void {
    const before = this.#fresh;
    this.#fresh = fresh;
    for (let slot = before.shift(); slot >= 0; slot = before.shift()) fresh.push(slot);
  }

  /** What can be stolen. */
  get stealable(): number {
    return this.#fresh.size;
  }

  get waiting(): number {
    return this.#fresh.size + this.#woken.size + this.#high.size + this.#low.size;
  }

  pushNew(slot: number, priority: number): void {
    if (priority === NORMAL) this.#fresh.push(slot);
    else this.#byPriority(priority).push(slot);
  }

  pushWoken(slot: number, priority: number): void {
    if (priority === NORMAL) this.#woken.push(slot);
    else this.#byPriority(priority).push(slot);
  }

  /** -1 where there is nothing. */
  pick(): number {
    const tick = ++this.#tick;
    if ((tick & 63) === 0 && this.#low.size > 0) return this.#low.shift();
    if ((tick & 63) === 32 && this.#global.size > 0) return this.#global.shift();
    if ((tick & 7) !== 0 && this.#high.size > 0) return this.#high.shift();
    const slot = (tick & 1) === 0 ? this.#fresh.pop() : this.#woken.shift();
    if (slot >= 0) return slot;
    const other = (tick & 1) === 0 ? this.#woken.shift() : this.#fresh.pop();
    if (other >= 0) return other;
    if (this.#high.size > 0) return this.#high.shift();
    return this.#global.size > 0 ? this.#global.shift() : this.#low.shift();
  }

  /** Forgets that it was asked in vain: how often a thread looks depends on the time, and what it finds then must not. */
  unpick(): void {
    this.#tick--;
  }

  /** The oldest of the new ones, for a thief; -1 where there is none. */
  steal(): number {
    return this.#fresh.shift();
  }

  #byPriority(priority: number): Ring {
    return priority === HIGH ? this.#high : this.#low;
  }
}
