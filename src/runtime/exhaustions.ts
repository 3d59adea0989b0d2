import {
  type Account,
  type Budget,
  CHILD_BUDGET,
  type Component,
  least,
  NOTHING,
  readBudget,
} from "./budget.ts";
import { type CapBudget, isLive, useBudget } from "./capabilities.ts";
import { BudgetExhausted, Panic, RuntimeError } from "./errors.ts";
import { type Fiber, Join, slotOfFiber } from "./fiber.ts";
import { RETRY, SPECIAL } from "./fiber-table.ts";
import type { Instruction, Pending } from "./instruction.ts";
import type { Kernel } from "./kernel.ts";
import type { Exhaustion, NurseryCore } from "./nursery-core.ts";
import { BUDGET_EXCEEDED, EXHAUSTED } from "./states.ts";

/** How often a fiber is told that it has run out before it is ended. */
const TRIES = 8;

/** What an exhausted fiber waits for. */
class Lack implements Pending {
  readonly shielded = false;
  readonly component: Component;
  /** To be started again once there is enough. */
  readonly retry: Instruction<unknown> | undefined;
  /** Somebody has said that it will be recharged. */
  held = false;
  /** And that is not a fiber. */
  fromOutside = false;

  constructor(component: Component, retry: Instruction<unknown> | undefined) {
    this.component = component;
    this.retry = retry;
  }

  abandon(): void {}

  describe(): string {
    return `more ${this.component}`;
  }
}

/**
 * Fibers that ran out of a component. Each waits while somebody could recharge it, and fails as soon as nobody can:
 * neither its nursery's `onExhausted`, nor who watches over it, nor the nursery's body.
 */
export class Exhaustions {
  readonly #kernel: Kernel;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  exhaust(slot: number, component: Component, retry: Instruction<unknown> | undefined): void {
    const { table, counters, cancellation } = this.#kernel;
    if (((table.flags[slot] as number) & SPECIAL) !== 0) {
      cancellation.dontBlock(slot, undefined);
      return;
    }
    this.#kernel.move(slot, EXHAUSTED);
    counters.exhausted++;
    const lack = new Lack(component, retry);
    table.pending[slot] = lack;
    const core = table.nurseryOf(slot);
    core.exhausted++;
    this.#ask(slot, lack, this.#policyOf(slot, core));
    if (table.pending[slot] === lack && !lack.held && !this.#openerHelps(core)) this.#fail(slot, lack);
  }

  /** Who decides for a root is the nursery that it has opened. */
  #policyOf(slot: number, core: NurseryCore): NurseryCore {
    if (core !== this.#kernel.root) return core;
    let policy = this.#kernel.table.opened[slot];
    while (policy?.below) policy = policy.below;
    return policy ?? core;
  }

  #ask(slot: number, lack: Lack, policy: NurseryCore): void {
    const exhaustion: Exhaustion = {
      fiber: this.#kernel.table.fiber[slot] as Fiber,
      component: lack.component,
    };
    if (policy.watch !== undefined && policy.state === "Open") {
      lack.held = true;
      policy.watch.found.push(exhaustion);
      const { waiting } = policy.watch;
      policy.watch.waiting = -1;
      if (waiting >= 0) this.#kernel.wake(waiting);
    }
    if (policy.onExhausted === undefined) return;
    try {
      const answer = policy.onExhausted(exhaustion);
      if (answer === "wait") {
        lack.held = true;
        lack.fromOutside = this.#isRoots(policy);
      }
      if (answer !== "wait" && answer !== undefined && this.#isExhausted(slot))
        this.grant(slot, answer, policy.pool);
    } catch (error) {
      this.#throw(slot, new Panic("onExhausted threw", "Panic", { cause: error }));
    }
  }

  /** Gives what there is of a grant. */
  grant(slot: number, grant: Partial<Budget>, pool: Account): void {
    this.recharge(slot, least(readBudget(grant, NOTHING, "what onExhausted gives"), pool), pool);
  }

  /** Moves budget from a pool to a fiber, which goes on if that is what it waited for. */
  recharge(slot: number, budget: Budget, pool: Account): void {
    const { table, accounts, counters } = this.#kernel;
    const lacking = pool.lacksFor(budget);
    if (lacking !== undefined)
      throw new BudgetExhausted(
        lacking,
        `the pool has ${pool[lacking]} ${lacking}, less than the ${budget[lacking]} of the recharge`,
      );
    pool.take(budget);
    accounts.give(slot, budget);
    counters.recharged++;
    if (!this.#isExhausted(slot)) return;
    const lack = table.pending[slot] as Lack;
    if ((table[lack.component][slot] as number) < 1) return;
    this.forget(slot);
    if (lack.retry !== undefined) {
      table.pending[slot] = lack.retry;
      (table.flags[slot] as number) |= RETRY;
    }
    this.#kernel.resume(slot);
  }

  /** Lets a root and the exhausted children of its nursery have of a pool that was recharged from outside. */
  refill(core: NurseryCore, root: number): void {
    const { table } = this.#kernel;
    if (root >= 0 && this.#isExhausted(root)) {
      const { component } = table.pending[root] as Lack;
      if (this.#kernel.accounts.fund(root, component, 1)) this.recharge(root, NOTHING, core.pool);
    }
    for (let slot = core.first; slot >= 0 && core.exhausted > 0; slot = table.next[slot] as number)
      if (this.#isExhausted(slot)) this.recharge(slot, least(core.pool, CHILD_BUDGET), core.pool);
  }

  rechargeSelf(slot: number, capability: CapBudget, given: Partial<Budget>): boolean {
    const { table } = this.#kernel;
    if (table.holdingsOf(slot).budget !== capability || !isLive(capability))
      throw new RuntimeError(
        "CapabilityDenied",
        "a fiber recharges itself by the CapBudget that it holds, until that is revoked",
      );
    const budget = readBudget(given, NOTHING, "budget");
    const { pool } = table.nurseryOf(slot);
    if (pool.lacksFor(budget) !== undefined) return false;
    if (!useBudget(capability, budget)) return false;
    this.recharge(slot, budget, pool);
    return true;
  }

  /** Told when a fiber is no longer exhausted, for whatever reason. */
  forget(slot: number): void {
    this.#kernel.table.nurseryOf(slot).exhausted--;
    this.#kernel.table.pending[slot] = undefined;
  }

  /** Told when a fiber blocks: it may have been the last that could have recharged another one. */
  blocked(slot: number): void {
    for (let core = this.#kernel.table.opened[slot]; core; core = core.below)
      if (core.exhausted > 0) this.failHopeless(core);
  }

  /** Fails those children that nobody can recharge any more. */
  failHopeless(core: NurseryCore): void {
    if (core.exhausted === 0 || this.#openerHelps(core)) return;
    this.#failAll(core, (lack) => !lack.held);
  }

  /** Fails all children that are exhausted, but those that somebody outside has promised to recharge. */
  failStalled(core: NurseryCore): boolean {
    return this.#failAll(core, (lack) => !lack.fromOutside);
  }

  #failAll(core: NurseryCore, which: (lack: Lack) => boolean): boolean {
    const { table } = this.#kernel;
    let any = false;
    for (let slot = core.first; slot >= 0 && core.exhausted > 0; slot = table.next[slot] as number) {
      if (!this.#isExhausted(slot) || !which(table.pending[slot] as Lack)) continue;
      this.#fail(slot, table.pending[slot] as Lack);
      any = true;
    }
    return any;
  }

  /** Whether the nursery's body can be hoped to recharge children: it has not ended, and does not wait for one of them. */
  #openerHelps(core: NurseryCore): boolean {
    if (core.opener < 0 || core.bodyEnded || core.state !== "Open") return false;
    const pending = this.#kernel.table.pending[core.opener];
    if (!(pending instanceof Join)) return true;
    const target = slotOfFiber(pending.target);
    return target < 0 || !this.#isExhausted(target);
  }

  /** Whether a nursery is the one that the runtime opened for a root. */
  #isRoots({ opener, below }: NurseryCore): boolean {
    return opener >= 0 && below === undefined && this.#kernel.table.nurseryOf(opener) === this.#kernel.root;
  }

  #fail(slot: number, { component }: Lack): void {
    const { table, cancellation } = this.#kernel;
    const error = new BudgetExhausted(
      component,
      `the fiber has no ${component} left, and nobody can recharge it: give it more when it is spawned, or let onExhausted or a CapBudget give it of a pool that has some`,
    );
    if (++(table.forced[slot] as number) > TRIES) {
      cancellation.childFailed(table.nurseryOf(slot), BUDGET_EXCEEDED, error);
      cancellation.cancelFiber(slot);
    } else {
      this.#throw(slot, error);
    }
  }

  #throw(slot: number, error: unknown): void {
    if (!this.#isExhausted(slot)) return;
    this.forget(slot);
    this.#kernel.throwInto(slot, error);
    this.#kernel.resume(slot);
  }

  #isExhausted(slot: number): boolean {
    return this.#kernel.table.state[slot] === EXHAUSTED;
  }
}
