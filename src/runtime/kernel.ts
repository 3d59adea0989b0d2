import { mix32 } from "../core/index.ts";
import { Accounts } from "./accounts.ts";
import { Account, type Budget } from "./budget.ts";
import { Cancellation } from "./cancellation.ts";
import { type Capability, type CapBudget, isLive } from "./capabilities.ts";
import type { Channel } from "./channel.ts";
import { settleStall } from "./deadlock.ts";
import { Endings } from "./endings.ts";
import { Panic, RuntimeError } from "./errors.ts";
import { Exhaustions } from "./exhaustions.ts";
import { type AnyFunction, Fiber } from "./fiber.ts";
import { FiberTable, SPECIAL } from "./fiber-table.ts";
import { type Holdings, NO_HOLDINGS } from "./holdings.ts";
import type { Steps } from "./instruction.ts";
import type { Loop } from "./loop.ts";
import { Meter } from "./meter.ts";
import { type Opening, runNursery } from "./nursery.ts";
import { NurseryCore } from "./nursery-core.ts";
import type { CapabilityCheck, Observer } from "./observer.ts";
import { Processor } from "./processor.ts";
import type { Profile } from "./profiles.ts";
import { Ring } from "./rings.ts";
import { Slices } from "./slices.ts";
import { CANCELLED, checkFiberMove, type NurseryState, READY } from "./states.ts";
import { Timers } from "./timers.ts";

export interface KernelSettings {
  readonly profile: Profile;
  readonly processors: number;
  readonly budget: Budget;
  readonly yieldInterval: number;
  /** How long the `finally` blocks of a cancelled fiber may take each time that they wait. */
  readonly graceMs: number;
  /** How deep fibers may be nested. */
  readonly maxDepth: number;
  /** For what fibers ask of randomness. */
  readonly seed: number;
  readonly observer: Observer;
}

/** Fibers that another thread may have taken. */
export interface Elsewhere {
  has(slot: number): boolean;
  /** Whether another thread has it. */
  isAway(slot: number): boolean;
  /** Tells whoever runs it what has become of it here: that it is cancelled, has failed, or was recharged. */
  tell(slot: number): void;
}

/** What channels pass on their way to other threads. */
export interface Border {
  /** Has a channel kept by a thread that all others can reach. */
  send(channel: Channel<unknown>): void;
  /** Has who waits at a channel looked after, soon. */
  nudge(channel: Channel<unknown>): void;
}

/**
 * What all parts of a runtime act on: the table of fibers and what happens to one of them. Which fiber runs next is not
 * decided here but by a loop, which calls `run`; what they spend is counted by the meter.
 */
export class Kernel {
  readonly settings: KernelSettings;
  readonly table = new FiberTable();
  readonly accounts: Accounts;
  readonly meter: Meter;
  readonly timers = new Timers();
  readonly cancellation: Cancellation;
  readonly #slices: Slices;
  readonly exhaustions: Exhaustions;
  readonly endings: Endings;
  readonly processors: readonly Processor[];
  /** Roots, for whichever processor is free first. */
  readonly global = new Ring();
  readonly root: NurseryCore;
  /** Nurseries that no fiber of this thread has opened: that of the roots, and that of fibers from other threads. */
  readonly tops: NurseryCore[];
  /** Where fibers of this thread may be run by others. */
  elsewhere: Elsewhere | undefined;
  border: Border | undefined;
  /** Which one of all processors its first one is. */
  firstProcessor = 0;
  loop: Loop;
  /** Asked of each new fiber as long as the runtime has only one thread, in case that others could run it. */
  shares: ((slot: number) => void) | undefined;
  readonly counters = { spawned: 0, slices: 0, completed: 0, cancelled: 0, exhausted: 0, recharged: 0 };
  /** The processor that acts. */
  processor: Processor;
  #nurseries = 0;
  #selects = 0;
  #drawn: number;
  /** A fiber that has ended on another thread, which has told of that already. */
  settling = -1;
  /** What is thrown into fibers when they run next. */
  readonly #thrown = new Map<number, unknown>();

  constructor(settings: KernelSettings, loopFor: (kernel: Kernel) => Loop) {
    this.settings = settings;
    this.#drawn = mix32(settings.seed);
    this.accounts = new Accounts(this.table);
    this.meter = new Meter(this.table, this.accounts, settings.yieldInterval);
    this.cancellation = new Cancellation(this);
    this.#slices = new Slices(this);
    this.exhaustions = new Exhaustions(this);
    this.endings = new Endings(this);
    this.processors = Array.from({ length: settings.processors }, (_, id) => new Processor(id, this.global));
    this.processor = this.processors[0] as Processor;
    const nobody = { slot: -1, fiber: undefined, below: undefined };
    this.root = new NurseryCore(this.nextNurseryId(), nobody, new Account(settings.budget), NO_HOLDINGS, {});
    this.tops = [this.root];
    this.loop = loopFor(this);
  }

  /** The slot of the fiber that runs, -1 between slices. */
  get current(): number {
    return this.meter.slot;
  }

  nowMs(): number {
    return this.loop.nowMs();
  }

  /** A number from 0 to below 1, of a sequence that the seed decides. */
  random(): number {
    this.#drawn = mix32((this.#drawn + 0x9e3779b9) | 0);
    return this.#drawn / 2 ** 32;
  }

  /** Where a `select` begins to look. */
  nextSelect(): number {
    return this.#selects++;
  }

  nextNurseryId(): number {
    return this.#nurseries++;
  }

  /** Runs a fiber that the loop took from a queue, until it lets go. */
  run(slot: number): void {
    const { ran } = this.settings.observer;
    if (ran === undefined) {
      this.#slices.run(slot);
      return;
    }
    const fiber = this.table.idOf(slot);
    const processor = this.firstProcessor + this.processor.id;
    const startMs = this.nowMs();
    this.#slices.run(slot);
    ran({ fiber, processor, startMs, endMs: this.loop.sliceEndMs(), ops: this.meter.sliceOps });
  }

  move(slot: number, to: number): void {
    const { state } = this.table;
    const from = state[slot] as number;
    checkFiberMove(from, to);
    state[slot] = to;
    const { moved } = this.settings.observer;
    if (moved !== undefined && slot !== this.settling) moved(this.table.idOf(slot), from, to);
  }

  /** Goes on after what a fiber waited for has come. */
  wake(slot: number): void {
    this.table.pending[slot] = undefined;
    this.resume(slot);
  }

  /** Puts a fiber that waited, for whatever, among those that are to run. */
  resume(slot: number): void {
    if (this.table.state[slot] !== CANCELLED) this.move(slot, READY);
    this.enqueue(slot);
  }

  enqueue(slot: number): void {
    if (this.elsewhere?.has(slot)) {
      this.elsewhere.tell(slot);
      return;
    }
    const home = this.processors[this.table.home[slot] as number] as Processor;
    home.pushWoken(slot, this.table.priority[slot] as number);
    this.loop.woken(home);
  }

  /** Throws into a fiber when it runs next. */
  throwInto(slot: number, error: unknown): void {
    this.#thrown.set(slot, error);
    (this.table.flags[slot] as number) |= SPECIAL;
  }

  takeThrown(slot: number): unknown {
    const error = this.#thrown.get(slot);
    this.#thrown.delete(slot);
    if (this.table.state[slot] !== CANCELLED) (this.table.flags[slot] as number) &= ~SPECIAL;
    return error;
  }

  forgetThrown(slot: number): void {
    this.#thrown.delete(slot);
  }

  /** Opens a nursery in the fiber that runs. */
  nursery<R>(slot: number, fiber: Fiber, opening: Opening<R>): Steps<R> {
    return runNursery(this, slot, fiber, opening);
  }

  /** Told when nothing can run and nothing is awaited. Says whether something can now. */
  stalled(): boolean {
    return settleStall(this);
  }

  cancel(slot: number): void {
    this.cancellation.cancelFiber(slot);
  }

  /** Says what a fiber may do, or refuses and says why. */
  check<C extends Capability, O extends string>(
    slot: number,
    kind: CapabilityCheck["capability"],
    operation: O,
    capability: C | undefined,
    allows: (capability: C, operation: O) => boolean,
  ): void {
    const because = denial(capability, operation, allows);
    const { checked } = this.settings.observer;
    if (checked !== undefined)
      checked({ fiber: this.table.idOf(slot), capability: kind, operation, allowed: because === undefined });
    if (because !== undefined) throw denied(operation, kind, because);
  }

  holdingsOf(slot: number): Holdings {
    return this.table.holdingsOf(slot);
  }

  rechargeSelf(slot: number, capability: CapBudget, budget: Partial<Budget>): boolean {
    this.meter.flush(slot);
    const done = this.exhaustions.rechargeSelf(slot, capability, budget);
    this.meter.regrant(slot);
    return done;
  }

  /** Waits for a promise. What it comes to is told to `settle` in the order that the loop decides; then the fiber wakes. */
  outside(
    slot: number,
    promise: PromiseLike<unknown>,
    settle: (value: unknown, thrown?: { error: unknown }) => void,
  ): () => void {
    return this.loop.outside(promise, (value, thrown) => {
      settle(value, thrown);
      this.wake(slot);
    });
  }

  /** Makes a fiber, whose budget is still to be set, and which is not offered to any processor yet. */
  admit(
    core: NurseryCore,
    code: AnyFunction,
    args: readonly unknown[],
    holdings: Holdings,
    depth: number,
  ): Fiber {
    const { table } = this;
    const slot = table.take();
    const fiber = new Fiber(this, core, code, args, holdings, slot);
    table.fiber[slot] = fiber;
    table.state[slot] = READY;
    table.depth[slot] = depth;
    table.link(slot, core);
    core.live++;
    this.counters.spawned++;
    return fiber;
  }

  /** Lets a new fiber be run. */
  offer(slot: number, priority: number): void {
    const { processor, table } = this;
    table.home[slot] = processor.id;
    table.priority[slot] = priority;
    if (this.shares !== undefined) this.shares(slot);
    processor.pushNew(slot, priority);
    this.loop.offered(processor);
  }

  depthBelow(slot: number): number {
    const depth = (this.table.depth[slot] as number) + 1;
    if (depth > this.settings.maxDepth) throw tooDeep(this.settings.maxDepth);
    return depth;
  }

  moveNursery(core: NurseryCore, to: NurseryState): void {
    const from = core.state;
    core.move(to);
    this.settings.observer.nurseryMoved?.(core.id, from, to);
  }
}

function tooDeep(maxDepth: number): Panic {
  return new Panic(`fibers are nested ${maxDepth} deep; more are not allowed (maxDepth)`, "StackOverflow");
}

function denied(operation: string, kind: string, because: string): RuntimeError {
  return new RuntimeError("CapabilityDenied", `${operation} needs the capability ${kind}, ${because}`);
}

function denial<C extends Capability, O>(
  capability: C | undefined,
  operation: O,
  allows: (capability: C, operation: O) => boolean,
): string | undefined {
  if (capability === undefined) return "which the fiber does not hold";
  if (!isLive(capability)) return "which was revoked";
  return allows(capability, operation) ? undefined : "which does not go so far";
}
