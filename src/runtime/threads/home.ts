import { Account, COMPONENTS, type Component } from "../budget.ts";
import { Panic } from "../errors.ts";
import { type AnyFunction, type Descriptor, describeFiber, type Fiber } from "../fiber.ts";
import { SPECIAL } from "../fiber-table.ts";
import type { Elsewhere, Kernel } from "../kernel.ts";
import { CANCELLED, PANICKED, READY, RUNNING, SUCCEEDED } from "../states.ts";
import type { Chance } from "./chance.ts";
import { type Copied, reviveError } from "./copied-errors.ts";
import type { Directory } from "./directory.ts";
import { FreeRecords } from "./free-records.ts";
import type { Letter, Post } from "./letters.ts";
import { command } from "./lists.ts";
import { ID, type Memory } from "./memory.ts";
import {
  ASK,
  ASKS,
  CANCEL,
  COMMANDS,
  DEPTH,
  DROP,
  ENDED,
  FAIL,
  FUNCTION,
  GIVEN,
  LACKS,
  MOVED,
  OPEN,
  PAYLOAD,
  PAYLOAD_END,
  POSTED,
  RANK,
  RECHARGE,
  readBudgetInto,
  SERIAL,
  STATE,
  THIEF,
  writeBudget,
} from "./record.ts";
import type { Shop } from "./split-deque.ts";
import type { Station } from "./station.ts";
import { readValue, writeValues } from "./values.ts";

/**
 * The fibers of this thread that others may run. Their slots stay here, Ready, until it is reported how they ended; then
 * they end as if they had run here.
 */
export class Home implements Shop, Elsewhere {
  /** How many are in the deque or away. */
  laid = 0;
  readonly #kernel: Kernel;
  readonly #memory: Memory;
  readonly #me: number;
  readonly #chance: Chance | undefined;
  readonly #directory: Directory;
  readonly #post: Post;
  readonly #free: FreeRecords;
  /** Of each own record the slot, and of each slot the record, both plus one. */
  readonly #slotOf: Int32Array;
  #recordOf: Int32Array = new Int32Array(256);
  readonly #given = new Account();
  readonly #moved = new Account();

  constructor(kernel: Kernel, { memory, me, directory, post, chance }: Station) {
    this.#kernel = kernel;
    this.#memory = memory;
    this.#me = me;
    this.#chance = chance;
    this.#directory = directory;
    this.#post = post;
    this.#free = new FreeRecords(memory, me);
    this.#slotOf = new Int32Array(memory.shared.records);
  }

  isPortable(slot: number): boolean {
    return this.#directory.numberOf(this.#describe(slot).code as AnyFunction) >= 0;
  }

  lay(slot: number): number {
    const { table } = this.#kernel;
    if (table.state[slot] !== READY) return -1;
    const record = this.#free.take();
    if (record < 0) return -1;
    const { words, floats } = this.#memory;
    const at = this.#memory.recordAt(record);
    if (!this.#directory.writeHoldings(at, table.holdingsOf(slot))) {
      this.#free.give(record);
      return -1;
    }
    words[at + STATE] = OPEN;
    words[at + THIEF] = 0;
    const serial = this.#memory.nextSerial(this.#me);
    words[at + SERIAL] = serial;
    this.#chance?.laid(record, serial);
    const { code, args } = this.#describe(slot);
    words[at + FUNCTION] = this.#directory.numberOf(code as AnyFunction);
    words[at + DEPTH] = table.depth[slot] as number;
    floats[(at + ID) >> 1] = table.idOf(slot);
    words[at + ASK] = writeValues(words, at + PAYLOAD, at + PAYLOAD_END, args) ? 0 : 1;
    this.#readAccount(slot, this.#given);
    writeBudget(words, floats, at + GIVEN, this.#given);
    this.#slotOf[this.#free.own(record)] = slot + 1;
    this.#noteRecord(slot, record + 1);
    this.laid++;
    return record;
  }

  unlay(record: number): number {
    const slot = this.#forget(record);
    this.#free.give(record);
    return slot;
  }

  has(slot: number): boolean {
    return this.laid > 0 && (this.#recordOf[slot] ?? 0) > 0;
  }

  isAway(slot: number): boolean {
    if (!this.has(slot)) return false;
    const at = this.#memory.recordAt((this.#recordOf[slot] as number) - 1);
    return Atomics.load(this.#memory.words, at + THIEF) > 0;
  }

  tell(slot: number): void {
    const { table } = this.#kernel;
    const record = (this.#recordOf[slot] as number) - 1;
    if (table.state[slot] === CANCELLED) this.#command(record, CANCEL);
    else if (((table.flags[slot] as number) & SPECIAL) !== 0) {
      this.#kernel.takeThrown(slot);
      this.#command(record, FAIL);
    } else this.#recharge(slot, record);
  }

  /** Told when somebody has written into a record. */
  receive(record: number, state: number): void {
    const { words } = this.#memory;
    const at = this.#memory.recordAt(record);
    const slot = (this.#slotOf[this.#free.own(record)] as number) - 1;
    // Of a thread that was here before and is gone.
    if (slot < 0) {
      if (state === ENDED) this.#free.give(record);
    } else if (state === ENDED) {
      const rank = words[at + RANK] as number;
      const value = readValue(words, at + PAYLOAD);
      // Only what tells of a dead thread is a panic that fits into a record.
      this.#settle(record, slot, rank, rank === PANICKED ? new Panic(String(value), "WorkerPanic") : value);
    } else if (state === ASKS) this.#sendArguments(record, slot);
    else if (state === LACKS) this.#exhausted(record, slot);
  }

  /** Told when an outcome has come that did not fit into its record. */
  receiveLetter({ record, serial, value }: Letter): void {
    if (this.#memory.words[this.#memory.recordAt(record) + SERIAL] !== serial) return;
    const slot = (this.#slotOf[this.#free.own(record)] as number) - 1;
    if (slot < 0) {
      // For a thread that was here before and is gone.
      if (this.#memory.words[this.#memory.recordAt(record) + STATE] === POSTED) this.#free.give(record);
      return;
    }
    const rank = this.#memory.words[this.#memory.recordAt(record) + RANK] as number;
    this.#settle(record, slot, rank, rank === SUCCEEDED ? value : reviveError(value as Copied));
  }

  #settle(record: number, slot: number, rank: number, value: unknown): void {
    const { words, floats } = this.#memory;
    const at = this.#memory.recordAt(record);
    readBudgetInto(words, floats, at + GIVEN, this.#given);
    readBudgetInto(words, floats, at + MOVED, this.#moved);
    const { accounts } = this.#kernel;
    // Given minus unused was spent. What it got here since then was never sent, and goes back as well.
    accounts.take(slot, this.#given);
    accounts.give(slot, this.#moved);
    accounts.spent.give(this.#given);
    accounts.spent.take(this.#moved);
    this.#forget(record);
    this.#free.give(record);
    this.#kernel.endings.settle(slot, rank, value);
  }

  #sendArguments(record: number, slot: number): void {
    const { words } = this.#memory;
    const at = this.#memory.recordAt(record);
    const to = Atomics.load(words, at + THIEF) - 1;
    try {
      const serial = words[at + SERIAL] as number;
      this.#post.send({ to, record, serial, kind: "arguments", value: this.#describe(slot).args });
    } catch {
      // What cannot be copied is run here.
      this.#command(record, DROP);
      this.#forget(record);
      this.#free.give(record);
      this.#kernel.enqueue(slot);
    }
  }

  #exhausted(record: number, slot: number): void {
    const { table, exhaustions } = this.#kernel;
    const { words, floats } = this.#memory;
    const at = this.#memory.recordAt(record);
    const component = COMPONENTS[words[at + RANK] as number] as Component;
    if (table.state[slot] !== READY) return;
    readBudgetInto(words, floats, at + GIVEN, this.#given);
    if ((table[component][slot] as number) > this.#given[component]) {
      this.#recharge(slot, record);
      return;
    }
    this.#kernel.move(slot, RUNNING);
    exhaustions.exhaust(slot, component, undefined);
  }

  /** Sends what it was given here since it went away. */
  #recharge(slot: number, record: number): void {
    const { words, floats } = this.#memory;
    const at = this.#memory.recordAt(record);
    readBudgetInto(words, floats, at + GIVEN, this.#given);
    this.#readAccount(slot, this.#moved);
    writeBudget(words, floats, at + GIVEN, this.#moved);
    this.#moved.take(this.#given);
    writeBudget(words, floats, at + MOVED, this.#moved);
    this.#command(record, RECHARGE);
  }

  /**
   * If nobody has stolen it yet, whoever does will see the command before it starts. If somebody has, it is put into the
   * list of its commands, unless it is still there.
   */
  #command(record: number, what: number): void {
    const { words } = this.#memory;
    const at = this.#memory.recordAt(record);
    const before = Atomics.or(words, at + COMMANDS, what);
    const thief = Atomics.load(words, at + THIEF) - 1;
    if (thief < 0 || before !== 0) return;
    this.#free.isListed(record);
    command(this.#memory, thief, record);
  }

  #describe(slot: number): Descriptor {
    return describeFiber(this.#kernel.table.fiber[slot] as Fiber);
  }

  #readAccount(slot: number, account: Account): void {
    const { table } = this.#kernel;
    account.ops = table.ops[slot] as number;
    account.memory = table.memory[slot] as number;
    account.spawnCount = table.spawnCount[slot] as number;
    account.channelOps = table.channelOps[slot] as number;
    account.syscalls = table.syscalls[slot] as number;
  }

  #forget(record: number): number {
    const own = this.#free.own(record);
    const slot = (this.#slotOf[own] as number) - 1;
    this.#slotOf[own] = 0;
    this.#recordOf[slot] = 0;
    this.laid--;
    return slot;
  }

  #noteRecord(slot: number, record: number): void {
    if (slot >= this.#recordOf.length) {
      const grown = new Int32Array(Math.max(slot + 1, 2 * this.#recordOf.length));
      grown.set(this.#recordOf);
      this.#recordOf = grown;
    }
    this.#recordOf[slot] = record;
  }
}
