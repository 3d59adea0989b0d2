import type { Fresh } from "../processor.ts";
import { Ring } from "../rings.ts";
import { type Chance, POPPED, ROOM } from "./chance.ts";
import type { SharedDeque } from "./shared-deque.ts";

/** Makes of a fiber something that another thread can take, and back. */
export interface Shop {
  /** Whether others could run it at all. */
  isPortable(slot: number): boolean;
  /** The number by which others find it, or -1: it has to stay. */
  lay(slot: number): number;
  /** Takes it back, and gives the fiber. */
  unlay(item: number): number;
}

/**
 * The new fibers of a processor whose others are threads: what only this thread can run, what others could run too, and
 * of the latter the oldest in a shared deque, where they can be stolen.
 *
 * The shared part is a window on the oldest: it is filled as thieves empty it, so what is not stolen, which is nearly all,
 * costs neither atomics nor a descriptor, and there can be any number. The owner takes the newest, of the window last.
 */
export class SplitDeque implements Fresh {
  readonly #bound = new Ring();
  readonly #open = new Ring();
  readonly #shared: SharedDeque;
  readonly #shop: Shop;
  /** So many are kept where thieves find them. */
  readonly #shown: number;
  readonly #chance: Chance | undefined;
  #tick = 0;
  #hasNews = false;

  constructor(shared: SharedDeque, shop: Shop, shown: number, chance?: Chance) {
    this.#shared = shared;
    this.#chance = chance;
    this.#shop = shop;
    this.#shown = Math.min(shown, shared.capacity);
  }

  /** With the shared part, of which others may just be taking some. */
  get size(): number {
    return this.#bound.size + this.#open.size + this.#shared.size;
  }

  push(slot: number): void {
    if (this.#shown === 0 || !this.#shop.isPortable(slot)) {
      this.#bound.push(slot);
      return;
    }
    this.#open.push(slot);
    this.show();
  }

  /** The newest, and what only this thread can run before what others might; -1 where there is none. */
  pop(): number {
    const late = (++this.#tick & 7) === 0;
    if (!late && this.#bound.size > 0) return this.#bound.pop();
    if (this.#open.size > 0) return this.#open.pop();
    const item = this.#popShared();
    const slot = item >= 0 ? this.#shop.unlay(item) : this.#bound.pop();
    // As if it had not been asked: how often that is in vain depends on the time.
    if (slot < 0 && this.#chance !== undefined) this.#tick--;
    return slot;
  }

  /** Whether thieves have left anything is not for this thread to know. */
  #popShared(): number {
    if (this.#chance === undefined) return this.#shared.pop();
    let item = -1;
    const isThere = this.#chance.decide(POPPED, () => {
      item = this.#shared.pop();
      return item >= 0 ? 1 : 0;
    });
    return isThere === 1 && item < 0 ? this.#shared.pop() : item;
  }

  #hasRoom(): boolean {
    if (this.#chance === undefined) return this.#shared.size < this.#shown;
    return this.#chance.decide(ROOM, () => (this.#shared.size < this.#shown ? 1 : 0)) === 1;
  }

  /** The oldest of those that are not shown. */
  shift(): number {
    return this.#bound.size > 0 ? this.#bound.shift() : this.#open.shift();
  }

  /** Fills the window. */
  show(): void {
    while (this.#open.size > 0 && this.#hasRoom()) {
      const slot = this.#open.shift();
      const item = this.#shop.lay(slot);
      if (item < 0) {
        this.#bound.push(slot);
        continue;
      }
      this.#shared.push(item);
      this.#hasNews = true;
    }
  }

  /** Whether something was shown since this was last asked. */
  takeNews(): boolean {
    if (!this.#hasNews) return false;
    this.#hasNews = false;
    return true;
  }
}
