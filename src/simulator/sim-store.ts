import { type Block, GENESIS, type Head, headOf } from "../ledger/index.ts";
import {
  type IdempotencyKey,
  type KeyedTask,
  MemoryStore,
  type RowChanges,
  type SavedSnapshot,
  type Store,
  StoreError,
  type TaskRow,
} from "../store/index.ts";
import type { Agenda } from "./agenda.ts";
import type { Random } from "./random.ts";
import type { Tally } from "./tally.ts";

/** What becomes of the process at its next commit. */
export type Fate = "crash before commit" | "crash in commit" | "crash after commit" | "store failed";

/** What outlives every process. */
export class Disk {
  readonly rows: MemoryStore = new MemoryStore();
  readonly blocks: Block[] = [];
  snapshot: SavedSnapshot | undefined;

  get head(): Head {
    const last = this.blocks.at(-1);
    return last ? headOf(last) : GENESIS;
  }
}

export interface StoreEvents {
  /** The block is there for good, whether or not anybody hears of it. */
  onStored(block: Block, rows: RowChanges | undefined): void;
  onCrash(): void;
}

/** Never settles: whoever waited for it is dead. */
const NEVER: Promise<never> = new Promise(() => {});

/** A store as one process has it open: everything takes time, and the process can die in the middle of it. */
export class SimStore implements Store {
  readonly #disk: Disk;
  readonly #agenda: Agenda;
  readonly #random: Random;
  readonly #tally: Tally;
  readonly #events: StoreEvents;
  /** The ledger's time when it was opened. */
  readonly openedAt: number;
  #head: Head;
  /** What writes the blocks that were sent, in their order. */
  readonly #underWay: (() => void)[] = [];
  #last: Promise<unknown> = Promise.resolve();
  #pending = 0;
  #dead = false;
  fate: Fate | undefined;
  /** Until this is over, nobody can ask for keys. */
  unavailable = false;
  /** It has given its process cause to give up. */
  hasFailed = false;

  constructor(disk: Disk, agenda: Agenda, random: Random, tally: Tally, events: StoreEvents) {
    this.#disk = disk;
    this.#agenda = agenda;
    this.#random = random;
    this.#tally = tally;
    this.#events = events;
    this.#head = disk.head;
    this.openedAt = disk.blocks.at(-1)?.now ?? 0;
  }

  get head(): Head {
    return this.#head;
  }

  get isBusy(): boolean {
    return this.#pending > 0;
  }

  /** Another process has written since. */
  get isStale(): boolean {
    return this.#disk.head.hash !== this.#head.hash;
  }

  /** The process is gone; what it had sent may still arrive. */
  kill(): void {
    this.#dead = true;
    if (this.#underWay.length === 0) return;
    this.#tally.count("commit outcome unknown");
    if (this.#underWay.length > 1) this.#tally.count("outcome of several commits unknown");
    for (const write of this.#underWay.splice(0)) {
      if (this.#random.chance(0.5)) write();
      else {
        // Nothing that builds on it can be taken.
        this.#tally.count("block lost");
        break;
      }
    }
  }

  commit(block: Block, rows?: RowChanges): Promise<boolean> {
    if (this.#dead) return NEVER;
    const { fate } = this;
    this.fate = undefined;
    if (fate) this.#tally.count(fate);
    if (fate === "crash before commit") {
      this.#agenda.in(0, () => this.#events.onCrash());
      return NEVER;
    }
    let refusal: Promise<boolean> | undefined;
    this.#underWay.push(() => {
      refusal = this.#write(block, rows);
    });
    const before = this.#last;
    const slow = this.#random.chance(0.03);
    const result = this.#after(slow ? this.#random.int(50, 3_000) : this.#random.int(1, 4), async () => {
      await before;
      if (this.#dead) return NEVER;
      if (fate === "crash in commit") {
        this.#events.onCrash();
        return NEVER;
      }
      const write = this.#underWay.shift();
      if (fate !== "store failed" || this.#random.chance(0.5)) write?.();
      if (fate === "crash after commit") {
        this.#events.onCrash();
        return NEVER;
      }
      if (fate === "store failed") return this.#fail();
      const stored = await (refusal ?? false);
      if (!stored) {
        this.#tally.count("commit refused");
        this.hasFailed = true;
      }
      return stored;
    });
    this.#last = result.catch(() => {});
    return result;
  }

  async probe(): Promise<undefined> {}

  async *blocks(after: Head = GENESIS): AsyncGenerator<Block> {
    const until = this.#head.seq;
    for (const block of this.#disk.blocks) if (block.seq > after.seq && block.seq <= until) yield block;
  }

  saveSnapshot(snapshot: SavedSnapshot): Promise<void> {
    const text = JSON.stringify(snapshot);
    return this.#after(this.#random.int(1, 30), async () => {
      if (this.#random.chance(0.1)) throw new StoreError("unwritable", "no room for a snapshot");
      const saved = JSON.parse(text) as SavedSnapshot;
      this.#tally.count("snapshot saved");
      if (saved.head.seq >= (this.#disk.snapshot?.head.seq ?? 0)) this.#disk.snapshot = saved;
    });
  }

  /** Sometimes there is none any more, or it is not what it was: then everything is replayed. */
  loadSnapshot(): Promise<SavedSnapshot | undefined> {
    return this.#after(this.#random.int(1, 40), async () => {
      const saved = this.#disk.snapshot;
      if (!saved || saved.head.seq > this.#head.seq || this.#random.chance(0.3)) return undefined;
      if (this.#random.chance(0.1)) return { ...saved, stateHash: saved.stateHash.replace(/^./, "x") };
      this.#tally.count("recovered from a snapshot");
      return saved;
    });
  }

  task(id: string): Promise<TaskRow | undefined> {
    return this.#disk.rows.task(id);
  }

  keyed(keys: readonly IdempotencyKey[]): Promise<readonly KeyedTask[]> {
    return this.#after(this.#random.int(0, 5), async () => {
      if (!this.unavailable) return this.#disk.rows.keyed(keys);
      this.#tally.count("keys not found out");
      throw new StoreError("unavailable", "the store cannot be reached");
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #fail(): never {
    this.hasFailed = true;
    throw new StoreError("unavailable", "the store cannot be reached");
  }

  /** At once, though its answer is a promise: a block is stored or it is not, there is nothing in between. */
  #write(block: Block, rows: RowChanges | undefined): Promise<boolean> {
    const before = this.#disk.rows.head;
    const written = this.#disk.rows.commit(block, rows);
    if (this.#disk.rows.head !== before) {
      this.#disk.blocks.push(block);
      this.#head = headOf(block);
      this.#events.onStored(block, rows);
    }
    return written;
  }

  #after<Value>(delayMs: number, act: () => Promise<Value>): Promise<Value> {
    if (this.#dead) return NEVER;
    this.#pending++;
    return new Promise((resolve, reject) => {
      this.#agenda.in(delayMs, () => {
        this.#pending--;
        if (!this.#dead) act().then(resolve, reject);
      });
    });
  }
}
