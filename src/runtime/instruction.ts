import type { Component } from "./budget.ts";
import type { Kernel } from "./kernel.ts";

/** What a fiber's code yields: an instruction, or nothing, which is a voluntary yield. */
export type Signal = Instruction<unknown> | undefined;

/** The code of a fiber, or a part of it to be called with `yield*`. */
export type Steps<T> = Generator<Signal, T, unknown>;

/**
 * What a started fiber is resumed by. Generators are that; so is whatever else can be suspended and has these methods,
 * such as a plain function that saves its frames.
 */
export interface Continuation {
  next(resumed: true): IteratorResult<unknown, unknown>;
  throw(error: unknown): IteratorResult<unknown, unknown>;
  return(value: undefined): IteratorResult<unknown, unknown>;
}

/** What an instruction came to: done, blocked, or a component of the budget that is lacking. */
export type Progress = typeof DONE | typeof STUCK | Component;

export const DONE: unique symbol = Symbol("done");
export const STUCK: unique symbol = Symbol("blocked");

/** What a fiber waits for. */
export interface Pending {
  /** Cancelling does not interrupt it: it ends by itself, soon. */
  readonly shielded: boolean;
  /** Forgets the fiber, which is being cancelled. */
  abandon(): void;
  /** What it waits for, for people: "to receive from channel 3". */
  describe(): string;
}

/**
 * Something that a fiber asks the kernel for, used as `const value = yield* instruction`. It is its own iterator: the
 * first step hands itself to the kernel, the next one gives what came of it.
 */
export abstract class Instruction<T> implements Pending, Iterator<Signal, T, unknown> {
  get shielded(): boolean {
    return false;
  }

  [Symbol.iterator](): this {
    return this;
  }

  next(resumed: unknown): IteratorResult<Signal, T> {
    return resumed === undefined ? { done: false, value: this } : { done: true, value: this.result() };
  }

  throw(error: unknown): IteratorResult<Signal, T> {
    throw error;
  }

  /** Begins, or begins again once there is budget. What it throws is thrown where the fiber stands. */
  abstract start(kernel: Kernel, slot: number): Progress;

  /** What came of it, or throws. */
  abstract result(): T;

  abstract abandon(): void;

  abstract describe(): string;
}

const YIELDED: IteratorResult<Signal, void> = Object.freeze({ done: false, value: undefined });
const RESUMED: IteratorResult<Signal, void> = Object.freeze({ done: true, value: undefined });

/** It has no state, so there is one of it, and no allocation. */
class Pause implements Iterator<Signal, void, unknown> {
  [Symbol.iterator](): this {
    return this;
  }

  next(resumed: unknown): IteratorResult<Signal, void> {
    return resumed === undefined ? YIELDED : RESUMED;
  }

  throw(error: unknown): IteratorResult<Signal, void> {
    throw error;
  }
}

/** A voluntary yield. */
export const PAUSE: Pause = Object.freeze(new Pause());
