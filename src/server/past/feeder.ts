import { type Block, GENESIS, type Head, headOf } from "../../ledger/index.ts";
import type { ServiceStore } from "../../store/index.ts";
import type { BlockLine } from "./chronicle.ts";

const BATCH_BLOCKS = 256;
const BATCH_CHARS = 1024 * 1024;

interface Waiter {
  readonly seq: number;
  settle(error: unknown): void;
}

/** Brings the blocks of a store to whoever replays them, in order and no faster than they are taken. */
export class Feeder {
  readonly #store: Pick<ServiceStore, "blocks">;
  readonly #feed: (blocks: readonly BlockLine[]) => Promise<unknown>;
  readonly #waiters = new Set<Waiter>();
  #head: Head = GENESIS;
  #isFeeding = false;

  constructor(store: Pick<ServiceStore, "blocks">, feed: (blocks: readonly BlockLine[]) => Promise<unknown>) {
    this.#store = store;
    this.#feed = feed;
  }

  /** The last event that was taken. */
  get seq(): number {
    return this.#head.seq;
  }

  /** Whether an event that is stored was brought in that time; it goes on in any case. */
  async reaches(seq: number, withinMs: number): Promise<boolean> {
    if (this.#head.seq >= seq) return true;
    return await new Promise<boolean>((resolve, reject) => {
      const waiter: Waiter = {
        seq,
        settle: (error) => {
          clearTimeout(timer);
          this.#waiters.delete(waiter);
          if (error) reject(error as Error);
          else resolve(true);
        },
      };
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter);
        resolve(false);
      }, withinMs);
      this.#waiters.add(waiter);
      if (!this.#isFeeding) void this.#bring();
    });
  }

  async #bring(): Promise<void> {
    this.#isFeeding = true;
    try {
      // What was committed since the last look is looked for again.
      do await this.#bringStored();
      while (this.#waiters.size > 0);
    } catch (error) {
      for (const waiter of [...this.#waiters]) waiter.settle(error);
    } finally {
      this.#isFeeding = false;
    }
  }

  async #bringStored(): Promise<void> {
    let batch: Block[] = [];
    let chars = 0;
    for await (const block of this.#store.blocks(this.#head)) {
      batch.push(block);
      chars += block.line.length;
      if (batch.length < BATCH_BLOCKS && chars < BATCH_CHARS) continue;
      await this.#bringBatch(batch);
      batch = [];
      chars = 0;
    }
    if (batch.length > 0) await this.#bringBatch(batch);
  }

  async #bringBatch(batch: readonly Block[]): Promise<void> {
    await this.#feed(batch.map(({ seq, count, now, line }) => ({ seq, count, now, line })));
    this.#head = headOf(batch.at(-1) as Block);
    for (const waiter of [...this.#waiters]) if (waiter.seq <= this.#head.seq) waiter.settle(undefined);
  }
}
