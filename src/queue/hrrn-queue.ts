import type { Entry } from "./entry.ts";
import { HrrnBlock } from "./hrrn-block.ts";
import type { Rung } from "./rung.ts";
import { Tournament } from "./tournament.ts";

/** A pop looks through one block, so blocks are small; but every block takes part in the tournament. */
const LARGEST = 512;
const SMALLEST = 128;

/**
 * Entries by response ratio, which changes all the time: the first is found without looking at the others.
 *
 * New entries go into the open block. When it is full another is opened, and a block that has become small
 * is poured into it or becomes the open one itself. So all but the open block hold at least a quarter of what
 * they could, and between two such moments of a block stand as many removals as entries are moved.
 */
export class HrrnQueue implements Rung {
  readonly #homes = new Map<Entry, HrrnBlock>();
  readonly #blocks = new Tournament();
  #open: HrrnBlock | undefined;

  get size(): number {
    return this.#homes.size;
  }

  add(entry: Entry): void {
    let open = this.#open;
    if (!open || open.size >= LARGEST) {
      open = new HrrnBlock();
      this.#blocks.add(open);
      this.#open = open;
    }
    this.#put(entry, open);
  }

  delete(entry: Entry): boolean {
    const block = this.#homes.get(entry);
    if (!block) return false;
    this.#homes.delete(entry);
    if (block.delete(entry)) this.#blocks.replay(block);
    if (block.size === 0) this.#drop(block);
    else if (block.size < SMALLEST && block !== this.#open) this.#refill(block);
    return true;
  }

  first(now: number): Entry | undefined {
    return this.#blocks.first(now);
  }

  entries(): Iterable<Entry> {
    return this.#homes.keys();
  }

  #put(entry: Entry, block: HrrnBlock): void {
    this.#homes.set(entry, block);
    if (block.add(entry)) this.#blocks.replay(block);
  }

  #refill(block: HrrnBlock): void {
    const open = this.#open;
    if (!open || open.size + block.size > LARGEST) {
      this.#open = block;
      return;
    }
    for (const entry of block.entries) this.#put(entry, open);
    this.#drop(block);
  }

  #drop(block: HrrnBlock): void {
    this.#blocks.delete(block);
    if (block === this.#open) this.#open = undefined;
  }
}
