import { type Block, GENESIS, type Head, headOf } from "../ledger/index.ts";
import type { SavedSnapshot, Store } from "./contract.ts";

/** Every feature but durability. */
export class MemoryStore implements Store {
  #head: Head = GENESIS;
  readonly #blocks: Block[] = [];
  #snapshot: SavedSnapshot | undefined;

  get head(): Head {
    return this.#head;
  }

  async commit(block: Block): Promise<boolean> {
    if (!buildsOn(block, this.#head)) return false;
    this.#blocks.push(block);
    this.#head = headOf(block);
    return true;
  }

  async *blocks(after: Head = GENESIS): AsyncGenerator<Block> {
    for (const block of this.#blocks) if (block.seq > after.seq) yield block;
  }

  async saveSnapshot(snapshot: SavedSnapshot): Promise<void> {
    this.#snapshot = snapshot;
  }

  async loadSnapshot(): Promise<SavedSnapshot | undefined> {
    return this.#snapshot;
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

export function buildsOn(block: Block, head: Head): boolean {
  return block.prev === head.hash && block.seq === head.seq + 1 && block.epoch >= head.epoch;
}
