import type { Processor } from "./processor.ts";

export type External = "launch" | "cancel" | "recharge";

/** What decides which fiber runs next, and has the clock. */
export interface Loop {
  nowMs(): number;
  /** Told when a processor got a fiber that it alone can run. */
  woken(processor: Processor): void;
  /** Told when there is something that any processor could run: in the deque of this one, or among the roots. */
  offered(processor: Processor | undefined): void;
  /** When the slice ended that was just run. */
  sliceEndMs(): number;
  /** Waits for a promise, and calls back between slices. Gives what forgets it. */
  outside(
    promise: PromiseLike<unknown>,
    settle: (value: unknown, thrown?: { error: unknown }) => void,
  ): () => void;
  /** Told of what is about to be done to a root from outside, by its number. */
  external?(what: External, root: number): void;
  /** Lets go of Node's timers. */
  close(): void;
}
