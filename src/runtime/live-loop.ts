import type { Kernel } from "./kernel.ts";
import type { Loop } from "./loop.ts";
import { Outside } from "./outside.ts";
import type { Processor } from "./processor.ts";
import { Turns } from "./turns.ts";

/** For so long fibers run before Node's own loop has its turn. */
const TURN_MS = 5;
/** Slices between looks at the clock. */
const SLICES = 128;

/** Runs fibers on this thread, by its real clock, beside whatever else Node does. */
export class LiveLoop implements Loop {
  readonly #kernel: Kernel;
  readonly #originMs = performance.now();
  readonly #outside = new Outside();
  readonly #turns = new Turns(() => this.#turn());
  #turning = false;
  #isOver = false;
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
    if (!this.#turning) this.#turns.soon();
  }

  offered(_processor: Processor | undefined): void {
    if (!this.#turning) this.#turns.soon();
  }

  /** Leaves everything to another loop, which is to go by the same clock, and knows what is awaited here. */
  handOver(): { readonly startedMs: number; readonly outside: Outside } {
    this.#isOver = true;
    clearTimeout(this.#timer);
    return { startedMs: performance.timeOrigin + this.#originMs, outside: this.#outside };
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

  #turn(): void {
    if (this.#isOver) return;
    this.#turning = true;
    clearTimeout(this.#timer);
    const busy = this.#runFor(TURN_MS);
    this.#turning = false;
    if (this.#isOver) this.#kernel.loop.offered(undefined);
    else if (busy) this.#turns.later();
    else this.#rest();
  }

  /** Whether there is more to run. */
  #runFor(ms: number): boolean {
    const { timers, processor } = this.#kernel;
    const kernel = this.#kernel;
    const untilMs = this.nowMs() + ms;
    for (;;) {
      const nowMs = this.nowMs();
      timers.fireUntil(nowMs);
      if (nowMs >= untilMs || this.#isOver) return processor.waiting > 0 || kernel.global.size > 0;
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
