import { Heap } from "../core/index.ts";

export interface Timer {
  readonly atMs: number;
  readonly order: number;
  fire: (() => void) | undefined;
}

/** What is due when, on the clock of whoever turns the loop; of the same time in the order in which it was set. */
export class Timers {
  readonly #heap = new Heap<Timer>((a, b) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order));
  #order = 0;
  #dropped = 0;

  set(atMs: number, fire: () => void): Timer {
    const timer: Timer = { atMs, order: this.#order++, fire };
    this.#heap.push(timer);
    return timer;
  }

  /** What was set for long and is dropped in masses must not be held until it would have been due. */
  drop(timer: Timer): void {
    if (timer.fire === undefined) return;
    timer.fire = undefined;
    if (++this.#dropped <= 64 || this.#dropped * 2 < this.#heap.size) return;
    this.#heap.keep(({ fire }) => fire !== undefined);
    this.#dropped = 0;
  }

  /** When the next one is due. */
  nextMs(): number | undefined {
    this.#skipDropped();
    return this.#heap.peek()?.atMs;
  }

  /** Fires what is due. */
  fireUntil(nowMs: number): void {
    for (;;) {
      this.#skipDropped();
      const first = this.#heap.peek();
      if (first === undefined || first.atMs > nowMs) return;
      this.#heap.pop();
      const { fire } = first;
      first.fire = undefined;
      fire?.();
    }
  }

  #skipDropped(): void {
    for (let first = this.#heap.peek(); first && first.fire === undefined; first = this.#heap.peek()) {
      this.#heap.pop();
      if (this.#dropped > 0) this.#dropped--;
    }
  }
}
