import { invariant } from "../core/index.ts";

/** Into how many steps the window is cut. */
const STEPS = 60;

export interface CostWindowSnapshot {
  readonly windowMs: number;
  readonly steps: readonly (readonly [step: number, micros: number])[];
}

/**
 * What one agent cost within a sliding window.
 *
 * Costs are kept by step of a sixtieth of the window, so that memory is bounded however many tasks complete.
 * The sum counts all of the last window and less than one step more: a cost leaves when the last moment of
 * its step is a window away. Only `add` changes anything, so asking never changes a snapshot.
 */
export class CostWindow {
  readonly #windowMs: number;
  readonly #stepMs: number;
  /** Oldest first: steps in which something was added. */
  #steps: [step: number, micros: number][] = [];
  #total = 0;

  constructor(windowMs: number) {
    invariant(windowMs > 0, "a window has a length");
    this.#windowMs = windowMs;
    this.#stepMs = Math.ceil(windowMs / STEPS);
  }

  add(now: number, micros: number): void {
    this.#drop(now);
    this.#put(now, micros);
  }

  #put(at: number, micros: number): void {
    const step = Math.floor(at / this.#stepMs);
    const last = this.#steps.at(-1);
    if (last && last[0] >= step) last[1] += micros;
    else this.#steps.push([step, micros]);
    this.#total += micros;
  }

  sum(now: number): number {
    let sum = this.#total;
    for (const [step, micros] of this.#steps) {
      if (!this.#isOver(step, now)) break;
      sum -= micros;
    }
    return sum;
  }

  /** What counts now, in a window of another length, each as if it came at the last moment of its step. */
  resized(windowMs: number, now: number): CostWindow {
    const window = new CostWindow(windowMs);
    for (const [step, micros] of this.#steps) {
      // That moment may be still to come: what is older counts until then.
      if (!this.#isOver(step, now)) window.#put((step + 1) * this.#stepMs - 1, micros);
    }
    return window;
  }

  toSnapshot(): CostWindowSnapshot {
    return { windowMs: this.#windowMs, steps: this.#steps.map(([step, micros]) => [step, micros]) };
  }

  static restore(snapshot: CostWindowSnapshot): CostWindow {
    const window = new CostWindow(snapshot.windowMs);
    window.#steps = snapshot.steps.map(([step, micros]) => [step, micros]);
    window.#total = window.#steps.reduce((sum, [, micros]) => sum + micros, 0);
    return window;
  }

  #drop(now: number): void {
    while (this.#steps[0] && this.#isOver(this.#steps[0][0], now)) {
      this.#total -= this.#steps[0][1];
      this.#steps.shift();
    }
  }

  #isOver(step: number, now: number): boolean {
    return (step + 1) * this.#stepMs - 1 <= now - this.#windowMs;
  }
}
