import { Account, type Budget, CHILD_BUDGET, COMPONENTS, type Component, least, NOTHING } from "./budget.ts";
import { isLive, useBudget } from "./capabilities.ts";
import type { FiberTable } from "./fiber-table.ts";
import type { NurseryCore } from "./nursery-core.ts";

/** What an opener takes of its nursery's pool beyond what it needs now, at most. */
const CHUNK = 64;

const {
  ops: CHILD_OPS,
  memory: CHILD_MEMORY,
  channelOps: CHILD_CHANNEL_OPS,
  syscalls: CHILD_SYSCALLS,
} = CHILD_BUDGET;

/**
 * Who has how much. Nothing is made and nothing is lost: what all pools and fibers have, with what was spent, is what the
 * runtime was started with, but for what was waived (used by `finally` blocks of fibers that had nothing left, or by a
 * fiber that ended overdrawn).
 */
export class Accounts {
  readonly spent = new Account();
  readonly waived = new Account();
  readonly #table: FiberTable;

  constructor(table: FiberTable) {
    this.#table = table;
  }

  /** What a fiber has; nothing where it is over. */
  of(slot: number): Budget {
    if (slot < 0) return NOTHING;
    const table = this.#table;
    return {
      ops: Math.max(0, table.ops[slot] as number),
      memory: table.memory[slot] as number,
      spawnCount: table.spawnCount[slot] as number,
      channelOps: table.channelOps[slot] as number,
      syscalls: table.syscalls[slot] as number,
    };
  }

  /** What a nursery gets whose opener says nothing: all that it has, and half of what the nurseries have that it has open. */
  available(slot: number): Budget {
    const last = this.#table.opened[slot];
    if (last === undefined) return this.of(slot);
    const sum = new Account();
    for (let core: NurseryCore | undefined = last; core; core = core.below) sum.give(core.pool);
    for (const component of COMPONENTS) sum[component] = Math.floor(sum[component] / 2);
    sum.give(this.of(slot));
    return sum.toBudget();
  }

  /** Whether a fiber itself has as much. */
  has(slot: number, budget: Budget): boolean {
    const table = this.#table;
    return (
      (table.ops[slot] as number) >= budget.ops &&
      (table.memory[slot] as number) >= budget.memory &&
      (table.spawnCount[slot] as number) >= budget.spawnCount &&
      (table.channelOps[slot] as number) >= budget.channelOps &&
      (table.syscalls[slot] as number) >= budget.syscalls
    );
  }

  give(slot: number, budget: Budget): void {
    const table = this.#table;
    (table.ops[slot] as number) += budget.ops;
    (table.memory[slot] as number) += budget.memory;
    (table.spawnCount[slot] as number) += budget.spawnCount;
    (table.channelOps[slot] as number) += budget.channelOps;
    (table.syscalls[slot] as number) += budget.syscalls;
  }

  set(slot: number, budget: Budget): void {
    const table = this.#table;
    table.ops[slot] = budget.ops;
    table.memory[slot] = budget.memory;
    table.spawnCount[slot] = budget.spawnCount;
    table.channelOps[slot] = budget.channelOps;
    table.syscalls[slot] = budget.syscalls;
  }

  take(slot: number, budget: Budget): void {
    const table = this.#table;
    (table.ops[slot] as number) -= budget.ops;
    (table.memory[slot] as number) -= budget.memory;
    (table.spawnCount[slot] as number) -= budget.spawnCount;
    (table.channelOps[slot] as number) -= budget.channelOps;
    (table.syscalls[slot] as number) -= budget.syscalls;
  }

  /** Gives a new child its default, or what the pool still has. */
  fillFrom(slot: number, pool: Account): void {
    if (
      pool.ops < CHILD_OPS ||
      pool.memory < CHILD_MEMORY ||
      pool.channelOps < CHILD_CHANNEL_OPS ||
      pool.syscalls < CHILD_SYSCALLS
    ) {
      const rest = least(pool, CHILD_BUDGET);
      pool.take(rest);
      this.set(slot, rest);
      return;
    }
    const table = this.#table;
    table.ops[slot] = CHILD_OPS;
    table.memory[slot] = CHILD_MEMORY;
    table.spawnCount[slot] = 0;
    table.channelOps[slot] = CHILD_CHANNEL_OPS;
    table.syscalls[slot] = CHILD_SYSCALLS;
    pool.ops -= CHILD_OPS;
    pool.memory -= CHILD_MEMORY;
    pool.channelOps -= CHILD_CHANNEL_OPS;
    pool.syscalls -= CHILD_SYSCALLS;
  }

  /** Gives back what a fiber that is over did not use. */
  refund(slot: number, pool: Account): void {
    const table = this.#table;
    const ops = table.ops[slot] as number;
    if (ops >= 0) pool.ops += ops;
    else this.waived.ops -= ops;
    pool.memory += table.memory[slot] as number;
    pool.spawnCount += table.spawnCount[slot] as number;
    pool.channelOps += table.channelOps[slot] as number;
    pool.syscalls += table.syscalls[slot] as number;
  }

  /**
   * Sees to it that a fiber has an amount: out of the pools of the nurseries that it has open, whose body it runs, or out
   * of its own nursery's by a `CapBudget`.
   */
  fund(slot: number, component: Component, amount: number): boolean {
    const balances = this.#table[component];
    for (
      let core = this.#table.opened[slot];
      core && (balances[slot] as number) < amount;
      core = core.below
    ) {
      const available = core.pool[component];
      const missing = amount - (balances[slot] as number);
      const spare = component === "ops" ? Math.min(CHUNK, Math.floor(available / 2)) : 0;
      const taken = Math.min(available, Math.max(missing, spare));
      core.pool[component] -= taken;
      (balances[slot] as number) += taken;
    }
    const missing = amount - (balances[slot] as number);
    return missing <= 0 || this.#draw(slot, component, missing);
  }

  #draw(slot: number, component: Component, amount: number): boolean {
    const capability = this.#table.holdingsOf(slot).budget;
    const { pool } = this.#table.nurseryOf(slot);
    if (capability === undefined || pool[component] < amount) return false;
    if (!isLive(capability) || !useBudget(capability, { [component]: amount })) return false;
    pool[component] -= amount;
    (this.#table[component][slot] as number) += amount;
    return true;
  }

  /** Takes an amount that is there. */
  spend(slot: number, component: Component, amount: number): void {
    (this.#table[component][slot] as number) -= amount;
    this.spent[component] += amount;
  }

  /** Lets an overdrawn fiber off. */
  waive(slot: number): void {
    const ops = this.#table.ops[slot] as number;
    if (ops >= 0) return;
    this.waived.ops -= ops;
    this.#table.ops[slot] = 0;
  }

  /** Takes what is there of an amount, and waives the rest. */
  spendOrWaive(slot: number, component: Component, amount: number): void {
    const covered = Math.min(amount, Math.max(0, this.#table[component][slot] as number));
    this.spend(slot, component, covered);
    this.spent[component] += amount - covered;
    this.waived[component] += amount - covered;
  }
}
