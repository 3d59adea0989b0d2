import type { Budget } from "./budget.ts";
import type { CapBudget, SyscallKind } from "./capabilities.ts";
import { Channel, type ChannelOptions } from "./channel.ts";
import { Allocation, Syscall } from "./charges.ts";
import { Cancelled, RuntimeError } from "./errors.ts";
import type { Capabilities, Holdings } from "./holdings.ts";
import { DONE, Instruction, PAUSE, type Progress, STUCK, type Steps } from "./instruction.ts";
import type { Kernel } from "./kernel.ts";
import type { Nursery } from "./nursery.ts";
import type { NurseryCore, NurseryOptions } from "./nursery-core.ts";
import { FIBER_STATES, type FiberState, READY, SUCCEEDED, WAS_CANCELLED } from "./states.ts";

/** A fiber for who spawned it. */
export interface Handle<T = unknown> {
  readonly id: number;
  readonly state: FiberState;
  readonly budget: Budget;
  /** Waits for its end: gives what it returned, or throws what it threw. */
  join(): Instruction<T>;
  /** Ends it; its `finally` blocks run. */
  cancel(): void;
}

/** Who waits for a fiber's end. */
interface Joiner {
  wake(): void;
}

// biome-ignore lint/suspicious/noExplicitAny: the types of arguments end at spawn, which checks them against the function
export type AnyFunction = (...args: any[]) => unknown;

export const MAX_SLOTS = 2 ** 24;
const NO_ARGUMENTS: readonly unknown[] = [];

type Body<T> = (nursery: Nursery, fiber: Fiber) => Steps<T>;

let slotOf: (fiber: Fiber) => number;
/** Refuses all but the fiber itself, while it runs. */
let ownSlotOf: (fiber: Fiber) => number;
let descriptorOf: (fiber: Fiber) => Descriptor;
let holdingsOf: (fiber: Fiber) => Holdings;
let beginIt: (fiber: Fiber) => unknown;
let endIt: (fiber: Fiber, rank: number, value: unknown) => void;
let addJoiner: (fiber: Fiber, joiner: Joiner) => boolean;
let dropJoiner: (fiber: Fiber, joiner: Joiner) => void;
let rankOf: (fiber: Fiber) => number;
let givenOf: (fiber: Fiber) => unknown;
let coreOf: (fiber: Fiber) => NurseryCore;

/**
 * A fiber: a handle for who spawned it, and for its own code what it acts by. The one is the other because it is the only
 * object that a spawn makes. What only its own code may do is refused to all others.
 */
export class Fiber<T = unknown> implements Handle<T> {
  readonly #kernel: Kernel;
  readonly #core: NurseryCore;
  readonly #place: number;
  readonly #generation: number;
  readonly #holdings: Holdings;
  /** Until it starts. */
  #code: AnyFunction | undefined;
  #args: readonly unknown[];
  /** The state in which it ended; until then the table has it. */
  #ended: number = READY;
  #rank: number = SUCCEEDED;
  #value: unknown = undefined;
  #joiners: Joiner | Set<Joiner> | undefined = undefined;

  constructor(
    kernel: Kernel,
    core: NurseryCore,
    code: AnyFunction,
    args: readonly unknown[],
    holdings: Holdings,
    slot: number,
  ) {
    this.#kernel = kernel;
    this.#core = core;
    this.#place = slot;
    this.#generation = kernel.table.generation[slot] as number;
    this.#holdings = holdings;
    this.#code = code;
    this.#args = args;
  }

  get id(): number {
    const { table } = this.#kernel;
    return this.#ended === READY ? table.idOf(this.#place) : table.idFor(this.#place, this.#generation);
  }

  get state(): FiberState {
    const number = this.#ended === READY ? this.#kernel.table.state[this.#place] : this.#ended;
    return FIBER_STATES[number as number] as FiberState;
  }

  get budget(): Budget {
    return this.#kernel.accounts.of(slotOf(this as unknown as Fiber));
  }

  get capabilities(): Holdings {
    ownSlotOf(this as unknown as Fiber);
    return this.#holdings;
  }

  join(): Instruction<T> {
    return new Join<T>(this);
  }

  cancel(): void {
    if (this.#ended === READY) this.#kernel.cancel(this.#place);
  }

  /** Lets others run. It costs nothing. */
  pause(): typeof PAUSE {
    return PAUSE;
  }

  /**
   * Charges iterations of a loop, and says whether it is time to `yield`. Who does not then may overdraw by one
   * interval, which is deducted at the next recharge.
   */
  loop(iterations = 1): boolean {
    const { meter } = this.#kernel;
    if (meter.slot !== this.#place || this.#ended !== READY) ownSlotOf(this as unknown as Fiber);
    if (iterations >>> 0 !== iterations) refuseCharge(iterations);
    meter.left -= iterations;
    return meter.left < 0 && meter.due();
  }

  /** Charges calls; see `loop`. */
  call(calls = 1): boolean {
    return this.loop(calls);
  }

  /** Makes a channel. Fibers of other threads can use it as well once they are given it. */
  channel<C>(options: ChannelOptions | number = {}): Channel<C> {
    ownSlotOf(this as unknown as Fiber);
    return new Channel<C>(this.#kernel, options);
  }

  /** Charges memory, and waits where there is not enough. */
  alloc(bytes: number): Instruction<void> {
    ownSlotOf(this as unknown as Fiber);
    return new Allocation(bytes);
  }

  /** Reaches outside, with the capability for it: charges, calls, and waits for what that gives. */
  syscall<R>(kind: SyscallKind, call: () => R | PromiseLike<R>): Instruction<R> {
    ownSlotOf(this as unknown as Fiber);
    return new Syscall<R>(kind, call);
  }

  /** The time on the runtime's clock in milliseconds, with the capability for it. */
  time(): Instruction<number> {
    const kernel = this.#kernel;
    return this.syscall("time", () => kernel.nowMs());
  }

  /** A number from 0 to below 1, with the capability for it. The same again where the runtime has a seed. */
  random(): Instruction<number> {
    const kernel = this.#kernel;
    return this.syscall("randomness", () => kernel.random());
  }

  /** Takes more from the nursery's pool by a `CapBudget` that it holds. Says whether there was enough of both. */
  recharge(capability: CapBudget, budget: Partial<Budget>): boolean {
    return this.#kernel.rechargeSelf(ownSlotOf(this as unknown as Fiber), capability, budget);
  }

  /** Opens a nursery, whose pool comes out of what this fiber has, runs the body, and waits for all children. */
  nursery<R>(
    budget: Partial<Budget> | undefined,
    capabilities: Capabilities | undefined,
    body: Body<R>,
    options: NurseryOptions = {},
  ): Steps<R> {
    return this.#kernel.nursery(ownSlotOf(this as unknown as Fiber), this as unknown as Fiber, {
      budget,
      capabilities,
      body,
      options,
    });
  }

  static {
    // No method, for a class with private methods marks each of its objects.
    ownSlotOf = (fiber) => {
      if (fiber.#ended === READY && fiber.#kernel.current === fiber.#place) return fiber.#place;
      throw new RuntimeError("CapabilityDenied", "only the fiber itself may do that, while it runs");
    };
    slotOf = (fiber) => (fiber.#ended === READY ? fiber.#place : -1);
    coreOf = (fiber) => fiber.#core;
    holdingsOf = (fiber) => fiber.#holdings;
    descriptorOf = (fiber) => ({ code: fiber.#code, args: fiber.#args });
    beginIt = (fiber) => {
      const code = fiber.#code as AnyFunction;
      const args = fiber.#args;
      fiber.#code = undefined;
      fiber.#args = NO_ARGUMENTS;
      return call(code, fiber, args);
    };
    rankOf = (fiber) => fiber.#rank;
    givenOf = (fiber) => fiber.#value;
    endIt = (fiber, rank, value) => {
      fiber.#ended = fiber.#kernel.table.state[fiber.#place] as number;
      fiber.#rank = rank;
      fiber.#value = value;
      fiber.#code = undefined;
      fiber.#args = NO_ARGUMENTS;
      const joiners = fiber.#joiners;
      if (joiners === undefined) return;
      fiber.#joiners = undefined;
      if (joiners instanceof Set) wakeAll(joiners);
      else joiners.wake();
    };
    addJoiner = (fiber, joiner) => {
      if (fiber.#ended !== READY) return false;
      const joiners = fiber.#joiners;
      if (joiners === undefined) fiber.#joiners = joiner;
      else if (joiners instanceof Set) joiners.add(joiner);
      else fiber.#joiners = new Set([joiners, joiner]);
      return true;
    };
    dropJoiner = (fiber, joiner) => {
      const joiners = fiber.#joiners;
      if (joiners instanceof Set) joiners.delete(joiner);
      else if (joiners === joiner) fiber.#joiners = undefined;
    };
  }
}

function wakeAll(joiners: ReadonlySet<Joiner>): void {
  for (const joiner of joiners) joiner.wake();
}

function refuseCharge(asked: number): never {
  throw new RuntimeError("InvalidArgument", `a charge is ${String(asked)}; it is a whole number from 0 on`);
}

export function fiberId(slot: number, generation: number): number {
  return generation * MAX_SLOTS + slot;
}

/** Spelled out: spreading costs as much as all the rest of a start. */
function call(code: AnyFunction, fiber: Fiber, args: readonly unknown[]): unknown {
  if (args.length === 0) return code(fiber);
  if (args.length === 1) return code(fiber, args[0]);
  if (args.length === 2) return code(fiber, args[0], args[1]);
  return code(fiber, ...args);
}

/** Calls its function, which it forgets with the arguments. */
export function beginFiber(fiber: Fiber): unknown {
  return beginIt(fiber);
}

/** What a fiber that has not started is to run. */
export interface Descriptor {
  readonly code: AnyFunction | undefined;
  readonly args: readonly unknown[];
}

export function describeFiber(fiber: Fiber): Descriptor {
  return descriptorOf(fiber);
}

export function nurseryOfFiber(fiber: Fiber): NurseryCore {
  return coreOf(fiber);
}

export function holdingsOfFiber(fiber: Fiber): Holdings {
  return holdingsOf(fiber);
}

/** -1 where it is over. */
export function slotOfFiber(fiber: Fiber): number {
  return slotOf(fiber);
}

/** Keeps how a fiber ended, and wakes who joined it. */
export function endFiber(fiber: Fiber, rank: number, value: unknown): void {
  endIt(fiber, rank, value);
}

/** How a fiber ended; undefined while it has not. */
export function outcomeOfFiber(fiber: Fiber): { readonly rank: number; readonly value: unknown } | undefined {
  return slotOf(fiber) >= 0 ? undefined : { rank: rankOf(fiber), value: givenOf(fiber) };
}

/** Calls back when a fiber that is not over is. */
export function whenOver(fiber: Fiber, told: (rank: number, value: unknown) => void): void {
  addJoiner(fiber, {
    wake: () => told(rankOf(fiber), givenOf(fiber)),
  });
}

export class Join<T> extends Instruction<T> {
  readonly target: Fiber;
  #kernel: Kernel | undefined;
  #slot = -1;

  constructor(target: Fiber<T>) {
    super();
    this.target = target as unknown as Fiber;
  }

  start(kernel: Kernel, slot: number): Progress {
    const core = coreOf(this.target);
    if (kernel.table.nurseryOf(slot) !== core && core.openerFiber !== kernel.table.fiber[slot])
      throw new RuntimeError(
        "ResultNotVisible",
        "a fiber's result is for its nursery: its opener, and its other children",
      );
    if (slotOf(this.target) < 0) return DONE;
    if (this.#slot >= 0)
      throw new RuntimeError(
        "InvalidArgument",
        "another fiber waits by the same join: each calls join() itself",
      );
    addJoiner(this.target, this);
    this.#kernel = kernel;
    this.#slot = slot;
    return STUCK;
  }

  wake(): void {
    const slot = this.#slot;
    this.#slot = -1;
    this.#kernel?.wake(slot);
  }

  result(): T {
    const rank = rankOf(this.target);
    const value = givenOf(this.target);
    if (rank === SUCCEEDED) return value as T;
    if (rank === WAS_CANCELLED && !(value instanceof Error))
      throw new Cancelled("the fiber that was joined was cancelled", "FiberCancelled");
    throw value;
  }

  abandon(): void {
    this.#slot = -1;
    dropJoiner(this.target, this);
  }

  describe(): string {
    return `the end of fiber ${this.target.id}`;
  }
}
