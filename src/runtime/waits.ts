import { isPromiseLike } from "./charges.ts";
import { RuntimeError } from "./errors.ts";
import { Instruction, type Progress, STUCK } from "./instruction.ts";
import type { Kernel } from "./kernel.ts";
import type { Timer, Timers } from "./timers.ts";

/** Waits for a promise: gives what it is fulfilled with, or throws what it is rejected with. */
export function wait<T>(promise: PromiseLike<T>): Instruction<T> {
  return new Wait<T>(promise);
}

/** Waits for so long on the runtime's clock. */
export function sleep(ms: number): Sleep {
  return new Sleep(ms);
}

class Wait<T> extends Instruction<T> {
  readonly #promise: PromiseLike<T>;
  #value: T | undefined;
  #thrown: { readonly error: unknown } | undefined;
  #forget: (() => void) | undefined;

  constructor(promise: PromiseLike<T>) {
    super();
    if (!isPromiseLike(promise))
      throw new RuntimeError("InvalidArgument", "wait(promise) waits for a promise");
    this.#promise = promise;
  }

  start(kernel: Kernel, slot: number): Progress {
    this.#forget = kernel.outside(slot, this.#promise, (value, thrown) => {
      this.#value = value as T;
      this.#thrown = thrown;
    });
    return STUCK;
  }

  result(): T {
    if (this.#thrown) throw this.#thrown.error;
    return this.#value as T;
  }

  abandon(): void {
    this.#forget?.();
  }

  describe(): string {
    return "a promise";
  }
}

export class Sleep extends Instruction<void> {
  readonly ms: number;
  #timers: Timers | undefined;
  #timer: Timer | undefined;

  constructor(ms: number) {
    super();
    if (!(ms >= 0) || !Number.isFinite(ms))
      throw new RuntimeError("InvalidArgument", `ms is ${String(ms)}; it is a number from 0 on`);
    this.ms = ms;
  }

  start(kernel: Kernel, slot: number): Progress {
    this.watch(kernel, () => kernel.wake(slot));
    return STUCK;
  }

  /** Calls back once the time is over. */
  watch(kernel: Kernel, fire: () => void): void {
    this.#timers = kernel.timers;
    this.#timer = kernel.timers.set(kernel.nowMs() + this.ms, fire);
  }

  result(): void {}

  abandon(): void {
    if (this.#timer) this.#timers?.drop(this.#timer);
  }

  describe(): string {
    return `${this.ms} ms to pass`;
  }
}
