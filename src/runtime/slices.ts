import { isPromiseLike } from "./charges.ts";
import { Panic, RuntimeError } from "./errors.ts";
import { beginFiber, type Fiber } from "./fiber.ts";
import { RETRY, SPECIAL, STARTED, UNWINDING } from "./fiber-table.ts";
import { type Continuation, DONE, Instruction, STUCK } from "./instruction.ts";
import type { Kernel } from "./kernel.ts";
import { rankOf } from "./nursery-core.ts";
import { BLOCKED, CANCELLED, FAILED, PANICKED, RUNNING, SUCCEEDED, WAS_CANCELLED } from "./states.ts";

/** How a fiber's code goes on, or that it does not for now. */
export type How = typeof NEXT | typeof THROW | typeof RETURN | typeof OVER;

export const NEXT = 0;
export const THROW = 1;
export const RETURN = 2;
export const OVER = 3;

const nextOfGenerators: unknown = (function* () {})().next;

/** Runs fibers, a slice at a time: from when one is resumed until it yields, blocks, runs out or ends. */
export class Slices {
  readonly #kernel: Kernel;
  /** What is thrown where the answer is THROW. */
  #error: unknown;
  /** Instructions of this slice that were done at once. */
  #obeyed = 0;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  run(slot: number): void {
    const kernel = this.#kernel;
    kernel.counters.slices++;
    kernel.meter.begin(slot);
    this.#obeyed = 0;
    const { table } = kernel;
    const flags = table.flags[slot] as number;
    if (flags === STARTED) {
      kernel.move(slot, RUNNING);
      this.#drive(slot, table.code[slot] as Continuation, NEXT);
    } else if ((flags & STARTED) === 0 && table.state[slot] !== CANCELLED) {
      this.#start(slot);
    } else {
      this.#drive(slot, table.code[slot] as Continuation, this.#howOtherwise(slot, flags));
    }
    kernel.meter.slot = -1;
  }

  /** How a fiber goes on that is not just to be resumed. */
  #howOtherwise(slot: number, flags: number): How {
    const kernel = this.#kernel;
    const { table } = kernel;
    if (table.state[slot] === CANCELLED) {
      this.#error = kernel.cancellation.error;
      return kernel.cancellation.unwind(slot, flags);
    }
    kernel.move(slot, RUNNING);
    table.flags[slot] = STARTED;
    const signal = table.pending[slot];
    table.pending[slot] = undefined;
    if ((flags & SPECIAL) !== 0) {
      this.#error = kernel.takeThrown(slot);
      kernel.cancellation.interrupted(slot);
      return THROW;
    }
    return (flags & RETRY) === 0 ? NEXT : this.#obey(slot, signal);
  }

  #start(slot: number): void {
    const { table } = this.#kernel;
    this.#kernel.move(slot, RUNNING);
    (table.flags[slot] as number) |= STARTED;
    let begun: unknown;
    let goesOn: boolean;
    try {
      begun = beginFiber(table.fiber[slot] as Fiber);
      goesOn = isContinuation(begun);
    } catch (error) {
      this.#threw(slot, error);
      return;
    }
    if (!goesOn) this.#returned(slot, begun);
    else if (this.#drive(slot, begun as Continuation, NEXT)) table.code[slot] = begun as Continuation;
  }

  /** Goes on, and obeys what the fiber signals, until something ends the slice. Says whether it is to be resumed. */
  #drive(slot: number, code: Continuation, first: How): boolean {
    for (let how = first; how !== OVER; ) {
      let done: boolean | undefined;
      let value: unknown;
      try {
        if (how === NEXT) ({ done, value } = code.next(true));
        else ({ done, value } = how === THROW ? code.throw(this.#error) : code.return(undefined));
      } catch (error) {
        this.#threw(slot, error);
        return false;
      }
      if (done) {
        this.#returned(slot, value);
        return false;
      }
      if (value === undefined) {
        this.#yielded(slot);
        return true;
      }
      how = this.#obey(slot, value);
    }
    return true;
  }

  #obey(slot: number, signal: unknown): How {
    const kernel = this.#kernel;
    if (!(signal instanceof Instruction)) {
      this.#error = new RuntimeError(
        "InvalidArgument",
        "a fiber yields nothing or, by yield*, an instruction of the runtime",
      );
      return THROW;
    }
    let progress: ReturnType<typeof signal.start>;
    try {
      progress = signal.start(kernel, slot);
    } catch (error) {
      this.#error = error;
      return THROW;
    }
    if (progress === DONE && ++this.#obeyed < kernel.settings.yieldInterval) return NEXT;
    kernel.meter.flush(slot);
    if (progress === DONE) return this.#takeTurns(slot);
    if (progress === STUCK) this.#block(slot, signal);
    else kernel.exhaustions.exhaust(slot, progress, signal);
    return OVER;
  }

  /** Some instructions are free; so many of them are a loop, which is charged as one and lets others run. */
  #takeTurns(slot: number): How {
    const uncharged = this.#obeyed - this.#kernel.meter.sliceOps;
    if (uncharged > 0) this.#kernel.meter.chargeAfterwards(slot, uncharged);
    this.#yielded(slot);
    return OVER;
  }

  #block(slot: number, signal: Instruction<unknown>): void {
    const kernel = this.#kernel;
    const { table } = kernel;
    const flags = table.flags[slot] as number;
    table.pending[slot] = signal;
    if ((flags & SPECIAL) !== 0 && !signal.shielded) {
      kernel.cancellation.dontBlock(slot, signal);
      return;
    }
    if (table.state[slot] !== CANCELLED) kernel.move(slot, BLOCKED);
    if ((flags & UNWINDING) !== 0) kernel.cancellation.bound(slot);
    if (table.opened[slot] !== undefined) kernel.exhaustions.blocked(slot);
  }

  #yielded(slot: number): void {
    const kernel = this.#kernel;
    const { table, settings } = kernel;
    kernel.meter.flush(slot);
    if (kernel.meter.sliceOps > 0) table.idle[slot] = 0;
    else if (++(table.idle[slot] as number) > settings.yieldInterval) {
      // A yield is free. Doing nothing else for an interval is a loop, and then each iteration costs an op.
      table.idle[slot] = settings.yieldInterval;
      kernel.meter.chargeAfterwards(slot, 1);
    }
    if (table.state[slot] === CANCELLED) {
      if (((table.flags[slot] as number) & UNWINDING) !== 0) kernel.cancellation.bound(slot);
      kernel.enqueue(slot);
    } else if ((table.ops[slot] as number) < 0 && !kernel.accounts.fund(slot, "ops", 0)) {
      kernel.exhaustions.exhaust(slot, "ops", undefined);
    } else {
      kernel.resume(slot);
    }
  }

  #returned(slot: number, value: unknown): void {
    const kernel = this.#kernel;
    let isPromise: boolean;
    try {
      isPromise = isPromiseLike(value);
    } catch (error) {
      this.#threw(slot, error);
      return;
    }
    if (isPromise) kernel.endings.finish(slot, FAILED, gavePromise());
    else
      kernel.endings.finish(slot, kernel.table.state[slot] === CANCELLED ? WAS_CANCELLED : SUCCEEDED, value);
  }

  #threw(slot: number, error: unknown): void {
    const { endings } = this.#kernel;
    const rank = rankOf(error);
    if (rank === FAILED && isOverflow(error)) {
      const panic = new Panic("the fiber called itself too deeply", "StackOverflow", { cause: error });
      endings.finish(slot, PANICKED, panic);
    } else {
      endings.finish(slot, rank, error);
    }
  }
}

function isOverflow(error: unknown): boolean {
  try {
    return error instanceof RangeError && error.message.includes("call stack");
  } catch {
    return false;
  }
}

function gavePromise(): RuntimeError {
  return new RuntimeError(
    "InvalidArgument",
    "a fiber's function gave a promise; write function* and yield* wait(promise)",
  );
}

function isContinuation(value: unknown): value is Continuation {
  if (typeof value !== "object" || value === null) return false;
  const code = value as Partial<Continuation>;
  // All generators have one method: a look at it is enough.
  if (code.next === nextOfGenerators) return true;
  return (
    typeof code.next === "function" && typeof code.throw === "function" && typeof code.return === "function"
  );
}
