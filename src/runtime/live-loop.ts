import type { Kernel } from "./kernel.ts";
import type { Loop } from "./loop.ts";
import { Outside } from "./outside.ts";
import type { Processor } from "./processor.ts";

/** For so long fibers run before Node's own loop has its turn. */
const TURN_MS = 5;
/** Slices between looks at the clock. */
const SLICES = 128;
/** Turns that may follow one another without Node's loop having one in between. */
const TURNS = 32;

/** Runs fibers on this thread, by its real clock, beside whatever else Node does. */
export class LiveLoop implements Loop {
  readonly #kernel: Kernel;
  readonly #originMs = performance.now();
  readonly #outside = new Outside();
  #turns = 0;
  #scheduled = false;
  #turning = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  nowMs(): number {
    return performance.now() - this.#originMs;
  }

  sliceEndMs(): number {
    return this.nowMs();
  }

  woken(): void {
    if (!this.#turning && !this.#scheduled) this.#schedule();
  }

  offered(_processor: Processor | undefined): void {
    if (!this.#turning && !this.#scheduled) this.#schedule();
  }

  outside(
    promise: PromiseLike<unknown>,
    settle: (value: unknown, thrown?: { error: unknown }) => void,
  ): () => void {
    return this.#outside.await(promise, settle);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    this.#scheduled = true;
    if (++this.#turns % TURNS === 0) setImmediate(() => this.#turn());
    else queueMicrotask(() => this.#turn());
  }

  #turn(): void {
    this.#scheduled = false;
    this.#turning = true;
    clearTimeout(this.#timer);
    const busy = this.#runFor(TURN_MS);
    this.#turning = false;
    if (busy) {
      this.#scheduled = true;
      setImmediate(() => this.#turn());
    } else {
      this.#rest();
    }
  }

  /** Whether there is more to run. */
  #runFor(ms: number): boolean {
    const { timers, processor } = this.#kernel;
    const kernel = this.#kernel;
    const untilMs = this.nowMs() + ms;
    for (;;) {
      const nowMs = this.nowMs();
      timers.fireUntil(nowMs);
      if (nowMs >= untilMs) return processor.waiting > 0 || kernel.global.size > 0;
      for (let slices = 0; slices < SLICES; slices++) {
        const slot = processor.pick();
        if (slot < 0) return false;
        kernel.run(slot);
      }
    }
  }

  #rest(): void {
    const nextMs = this.#kernel.timers.nextMs();
    if (nextMs !== undefined)
      this.#timer = setTimeout(() => this.#turn(), Math.min(Math.max(0, nextMs - this.nowMs()), 2 ** 31 - 1));
    else if (this.#outside.isEmpty) this.#kernel.stalled();
  }
}
