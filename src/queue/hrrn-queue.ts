import { Heap } from "../core/index.ts";
import type { Entry } from "./entry.ts";
import { HrrnBlock } from "./hrrn-block.ts";
import type { ClassOf, Rung } from "./rung.ts";
import { Tournament } from "./tournament.ts";

/** A pop looks through a part of one block, so blocks are small; but every block plays in the tournament. */
const LARGEST = 512;
const SMALLEST = 128;

/** So few listings that no longer hold are not worth clearing away. */
const FEW = 32;

/** A block, by the time that its oldest entry became ready. */
interface Listing {
  readonly readyAt: number;
  readonly block: HrrnBlock;
}

/**
 * Entries by response ratio, which changes all the time: the first is found without looking at the others.
 *
 * New entries go into the open block. When it is full another is opened, and a block that has become small
 * is poured into it or becomes the open one itself. So all but the open block hold at least a quarter of what
 * they could, and a block loses more entries before it is poured than are poured then.
 *
 * Old entries are handed over to another queue in whole blocks where possible: a million that were submitted
 * together also starve together, and moving each of them would take seconds.
 */
export class HrrnQueue implements Rung {
  readonly #blocks = new Tournament();
  #open: HrrnBlock | undefined;
  #size = 0;
  /** Every block stands here with its `listedAt`, which is never later than its oldest entry. */
  readonly #listings = new Heap<Listing>((a, b) => a.readyAt < b.readyAt);

  get size(): number {
    return this.#size;
  }

  add(entry: Entry): void {
    let open = this.#open;
    if (!open || open.size >= LARGEST) {
      open = new HrrnBlock(this);
      this.#blocks.add(open);
      this.#open = open;
    }
    this.#size++;
    this.#put(entry, open);
  }

  delete(entry: Entry): boolean {
    const block = entry.home;
    if (block?.owner !== this) return false;
    entry.home = undefined;
    this.#size--;
    if (block.delete(entry)) this.#blocks.replay(block);
    if (block.size === 0) this.#drop(block);
    else if (block.size < SMALLEST && block !== this.#open) this.#refill(block);
    return true;
  }

  /** When the oldest entry became ready; infinity without one. Looks at the blocks, not at the entries. */
  get oldestReadyAt(): number {
    return this.#blocks.blocks.reduce(
      (oldest, block) => Math.min(oldest, block.oldestReadyAt),
      Number.POSITIVE_INFINITY,
    );
  }

  first(now: number): Entry | undefined {
    return this.#blocks.first(now);
  }

  *entries(every = 1, from = 0): Iterable<Entry> {
    let at = from;
    for (const { entries } of this.#blocks.blocks) {
      for (; at < entries.length; at += every) yield entries[at] as Entry;
      at -= entries.length;
    }
  }

  each(visit: (entry: Entry) => void): void {
    for (const { entries } of this.#blocks.blocks) for (const entry of entries) visit(entry);
  }

  /**
   * Within a queue of one class a longer wait never lowers the class. So a block without deadlines has one class if its oldest
   * and its youngest entry have the same.
   */
  tally(visit: (entry: Entry, count: number, sumOfReadyAt: number) => void, classOf: ClassOf): void {
    for (const block of this.#blocks.blocks) {
      const { entries, size } = block;
      const oldest = entries[0] as Entry;
      if (block.isWithoutDeadlines && classOf(oldest) === classOf(entries[size - 1] as Entry))
        visit(oldest, size, block.sumOfReadyAt());
      else for (const entry of entries) visit(entry, 1, entry.readyAt);
    }
  }

  /** Whether there may be something to hand over. */
  hasReadyBefore(time: number): boolean {
    const top = this.#listings.peek();
    return top !== undefined && top.readyAt < time;
  }

  /** Gives another queue of the line all that became ready before a time. */
  handOver(readyBefore: number, to: HrrnQueue): void {
    while (this.hasReadyBefore(readyBefore)) {
      const { block, readyAt } = this.#listings.pop() as Listing;
      if (block.owner !== this || block.listedAt !== readyAt) continue;
      if (block.youngestReadyAt < readyBefore) this.#give(block, to);
      else this.#giveOldest(block, readyBefore, to);
    }
  }

  #give(block: HrrnBlock, to: HrrnQueue): void {
    this.#drop(block);
    this.#size -= block.size;
    block.owner = to;
    to.#size += block.size;
    to.#blocks.add(block);
    to.#list(block);
    if (block.size < SMALLEST) to.#refill(block);
  }

  /** What is left of the block may have been poured into another by then. */
  #giveOldest(block: HrrnBlock, readyBefore: number, to: HrrnQueue): void {
    while (block.owner === this && block.oldestReadyAt < readyBefore) {
      const oldest = block.entries[0] as Entry;
      this.delete(oldest);
      to.add(oldest);
    }
    if (block.owner === this) this.#list(block);
  }

  #put(entry: Entry, block: HrrnBlock): void {
    entry.home = block;
    if (block.add(entry)) this.#blocks.replay(block);
    if (entry.readyAt < block.listedAt) this.#list(block);
  }

  #refill(block: HrrnBlock): void {
    const open = this.#open;
    if (!open || open.size + block.size > LARGEST) {
      this.#open = block;
      return;
    }
    this.#drop(block);
    for (const entry of block.entries) this.#put(entry, open);
  }

  #drop(block: HrrnBlock): void {
    this.#blocks.delete(block);
    block.owner = undefined;
    if (block === this.#open) this.#open = undefined;
  }

  #list(block: HrrnBlock): void {
    block.listedAt = block.oldestReadyAt;
    this.#listings.push({ readyAt: block.listedAt, block });
    if (this.#listings.size <= 2 * this.#blocks.blocks.length + FEW) return;
    this.#listings.keep((kept) => kept.block.owner === this && kept.block.listedAt === kept.readyAt);
  }
}
