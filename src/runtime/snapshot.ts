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
  /** Processors whose threads did not answer in time; what they run is missing. */
  readonly silent: readonly number[];
}

/** What a kernel shows of the fibers of a nursery, and of all that it has. */
export interface KernelView {
  readonly fibers: Readonly<Record<FiberState, number>>;
  readonly tops: readonly FiberView[];
  readonly processors: Snapshot["processors"];
  readonly omitted: number;
}

export function viewKernel(kernel: Kernel, core: NurseryCore, limit: number): KernelView {
  const view = new View(kernel, limit);
  const { table, elsewhere, firstProcessor } = kernel;
  const fibers = noFibers();
  for (const slot of aliveSlots(kernel))
    if (elsewhere?.isAway(slot) !== true) fibers[FIBER_STATES[table.state[slot] as number] as FiberState]++;
  const processors = kernel.processors.map(({ id, clock, waiting }) => ({
    id: firstProcessor + id,
    clock,
    waiting,
  }));
  return { fibers, tops: view.childrenOf(core), processors, omitted: view.omitted };
}

/** What there is at this moment, here and on other threads. At most `limit` fibers are shown one by one. */
export function takeSnapshot(
  kernel: Kernel,
  limit: number,
  others: readonly KernelView[] = [],
  silent: readonly number[] = [],
): Snapshot {
  const here = viewKernel(kernel, kernel.root, limit);
  const { accounts, root, settings } = kernel;
  const all = [here, ...others];
  const fibers = noFibers();
  for (const view of all) for (const state of FIBER_STATES) fibers[state] += view.fibers[state];
  const away = new Map(others.flatMap(({ tops }) => tops.map((fiber) => [fiber.id, fiber] as const)));
  return {
    nowMs: kernel.nowMs(),
    fibers,
    budget: {
      total: settings.budget,
      reserve: root.pool.toBudget(),
      held: heldBy(kernel).toBudget(),
      spent: accounts.spent.toBudget(),
      waived: accounts.waived.toBudget(),
    },
    processors: all.flatMap(({ processors }) => processors),
    roots: here.tops.map((fiber) => graft(fiber, away)),
    omitted: all.reduce((sum, { omitted }) => sum + omitted, 0),
    silent,
  };
}

function noFibers(): Record<FiberState, number> {
  return Object.fromEntries(FIBER_STATES.map((state) => [state, 0])) as Record<FiberState, number>;
}

function heldBy(kernel: Kernel): Account {
  const { table } = kernel;
  const held = new Account();
  for (const slot of aliveSlots(kernel)) {
    for (const component of COMPONENTS) held[component] += table[component][slot] as number;
    for (let core = table.opened[slot]; core; core = core.below) held.give(core.pool);
  }
  for (const orphan of kernel.cancellation.orphans) held.give(orphan.pool);
  return held;
}

/** Puts fibers that other threads run where they were spawned. */
function graft(fiber: FiberView, away: ReadonlyMap<number, FiberView>): FiberView {
  const there = away.get(fiber.id) ?? fiber;
  if (there.nurseries.length === 0) return there;
  const nurseries = there.nurseries.map((nursery) => ({
    ...nursery,
    children: nursery.children.map((child) => graft(child, away)),
  }));
  return { ...there, nurseries };
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
    const { table, accounts, firstProcessor } = this.#kernel;
    const nurseries: NurseryView[] = [];
    for (let core = table.opened[slot]; core; core = core.below) nurseries.unshift(this.#nursery(core));
    return {
      id: table.idOf(slot),
      state: FIBER_STATES[table.state[slot] as number] as FiberState,
      processor: firstProcessor + (table.home[slot] as number),
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
