import { Account, type Budget, COMPONENTS } from "./budget.ts";
import { aliveSlots } from "./deadlock.ts";
import type { Kernel } from "./kernel.ts";
import type { NurseryCore } from "./nursery-core.ts";
import { FIBER_STATES, type FiberState, type NurseryState } from "./states.ts";

export interface FiberView {
  readonly id: number;
  readonly state: FiberState;
  readonly processor: number;
  readonly budget: Budget;
  readonly waitsFor: string | undefined;
  /** Those that it has open, the outermost first. */
  readonly nurseries: readonly NurseryView[];
}

export interface NurseryView {
  readonly id: number;
  readonly name: string | undefined;
  readonly state: NurseryState;
  readonly pool: Budget;
  readonly live: number;
  readonly children: readonly FiberView[];
}

export interface Snapshot {
  readonly nowMs: number;
  readonly fibers: Readonly<Record<FiberState, number>>;
  /** Where everything that the runtime was started with is: `reserve + held + spent = total + waived`. */
  readonly budget: {
    readonly total: Budget;
    /** What no root has. */
    readonly reserve: Budget;
    /** What roots, nurseries and fibers have. An overdrawn fiber counts as less than nothing. */
    readonly held: Budget;
    readonly spent: Budget;
    /** What was spent without having been there, by `finally` blocks and by fibers that ended overdrawn. */
    readonly waived: Budget;
  };
  readonly processors: readonly { readonly id: number; readonly clock: number; readonly waiting: number }[];
  readonly roots: readonly FiberView[];
  /** Fibers that were too many to be shown. */
  readonly omitted: number;
}

/** What there is at this moment. At most `limit` fibers are shown one by one. */
export function takeSnapshot(kernel: Kernel, limit: number): Snapshot {
  const view = new View(kernel, limit);
  const { table, accounts, root, settings, processors } = kernel;
  const fibers = Object.fromEntries(FIBER_STATES.map((state) => [state, 0])) as Record<FiberState, number>;
  const held = new Account();
  for (const slot of aliveSlots(kernel)) {
    fibers[FIBER_STATES[table.state[slot] as number] as FiberState]++;
    for (const component of COMPONENTS) held[component] += table[component][slot] as number;
    for (let core = table.opened[slot]; core; core = core.below) held.give(core.pool);
  }
  for (const orphan of kernel.cancellation.orphans) held.give(orphan.pool);
  return {
    nowMs: kernel.nowMs(),
    fibers,
    budget: {
      total: settings.budget,
      reserve: root.pool.toBudget(),
      held: held.toBudget(),
      spent: accounts.spent.toBudget(),
      waived: accounts.waived.toBudget(),
    },
    processors: processors.map(({ id, clock, waiting }) => ({ id, clock, waiting })),
    roots: view.childrenOf(root),
    omitted: view.omitted,
  };
}

class View {
  omitted = 0;
  readonly #kernel: Kernel;
  #left: number;

  constructor(kernel: Kernel, limit: number) {
    this.#kernel = kernel;
    this.#left = limit;
  }

  childrenOf(core: NurseryCore): FiberView[] {
    const views: FiberView[] = [];
    for (let slot = core.first; slot >= 0; slot = this.#kernel.table.next[slot] as number)
      if (this.#left-- > 0) views.push(this.#fiber(slot));
      else this.omitted++;
    return views;
  }

  #fiber(slot: number): FiberView {
    const { table, accounts } = this.#kernel;
    const nurseries: NurseryView[] = [];
    for (let core = table.opened[slot]; core; core = core.below) nurseries.unshift(this.#nursery(core));
    return {
      id: table.idOf(slot),
      state: FIBER_STATES[table.state[slot] as number] as FiberState,
      processor: table.home[slot] as number,
      budget: accounts.of(slot),
      waitsFor: table.pending[slot]?.describe(),
      nurseries,
    };
  }

  #nursery(core: NurseryCore): NurseryView {
    const { id, name, state, live } = core;
    return { id, name, state, pool: core.pool.toBudget(), live, children: this.childrenOf(core) };
  }
}
