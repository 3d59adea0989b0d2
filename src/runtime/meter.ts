import type { Accounts } from "./accounts.ts";
import type { Component } from "./budget.ts";
import { BudgetExhausted } from "./errors.ts";
import { type FiberTable, UNWINDING } from "./fiber-table.ts";

/**
 * Counts what the fiber that runs spends. During a slice ops are counted down in `left`; what they come to is written back
 * at the switch, or when somebody has to know.
 */
export class Meter {
  /** The slot of the fiber that runs, -1 between slices. */
  slot = -1;
  /** Ops that can be spent before somebody has to look. */
  left = 0;
  /** Ops of this slice that are written back already. */
  sliceOps = 0;
  #granted = 0;
  readonly #table: FiberTable;
  readonly #accounts: Accounts;
  readonly #yieldInterval: number;

  constructor(table: FiberTable, accounts: Accounts, yieldInterval: number) {
    this.#table = table;
    this.#accounts = accounts;
    this.#yieldInterval = yieldInterval;
  }

  /** To be called when a slice begins. */
  begin(slot: number): void {
    this.slot = slot;
    this.sliceOps = 0;
    this.#grant(slot);
  }

  /** Charges one op and an amount of a component, or says what is lacking. */
  charge(slot: number, component: Component, amount: number): Component | undefined {
    const table = this.#table;
    const accounts = this.#accounts;
    this.flush(slot);
    if (((table.flags[slot] as number) & UNWINDING) !== 0) {
      accounts.spend(slot, "ops", 1);
      accounts.spendOrWaive(slot, component, amount);
    } else {
      if ((table.ops[slot] as number) < 1 && !accounts.fund(slot, "ops", 1)) return "ops";
      if ((table[component][slot] as number) < amount && !accounts.fund(slot, component, amount))
        return component;
      accounts.spend(slot, "ops", 1);
      accounts.spend(slot, component, amount);
    }
    this.sliceOps++;
    this.#grant(slot);
    return undefined;
  }

  /** Charges ops to a fiber that has let go, whether it has them or not. */
  chargeAfterwards(slot: number, ops: number): void {
    this.#accounts.spend(slot, "ops", ops);
    this.sliceOps += ops;
  }

  /** Asked when `left` is used up: whether it is time to yield. Refuses who has overdrawn by more than an interval. */
  due(): boolean {
    const { slot } = this;
    const table = this.#table;
    this.flush(slot);
    if ((table.ops[slot] as number) < 0) this.#accounts.fund(slot, "ops", 0);
    this.#grant(slot);
    const ops = table.ops[slot] as number;
    if (ops < -this.#yieldInterval && ((table.flags[slot] as number) & UNWINDING) === 0)
      throw new BudgetExhausted(
        "ops",
        `the fiber has used ${this.#yieldInterval} ops more than it had without yielding`,
      );
    return ops < 0 || this.sliceOps >= this.#yieldInterval;
  }

  /** Writes back what the running fiber has spent. */
  flush(slot: number): void {
    const spent = this.#granted - this.left;
    if (spent === 0 || slot !== this.slot) return;
    (this.#table.ops[slot] as number) -= spent;
    this.#accounts.spent.ops += spent;
    this.sliceOps += spent;
    this.#granted = this.left;
  }

  /** To be called when the budget of a fiber was changed, which may be the one that runs. */
  regrant(slot: number): void {
    if (slot === this.slot) this.#grant(slot);
  }

  #grant(slot: number): void {
    const ops = this.#table.ops[slot] as number;
    const most = this.#yieldInterval - 1 - this.sliceOps;
    this.left = this.#granted = Math.max(0, Math.min(ops, most)) | 0;
  }
}
