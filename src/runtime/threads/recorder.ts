import { type Chance, RAN } from "./chance.ts";

/** A recording of more numbers than that is given up. */
const MOST = 20_000_000;

/** Writes down what happens to a processor. Its clock stands still within a step. */
export class Recorder implements Chance {
  readonly #clock: () => number;
  #log: number[] = [];
  #nowUs = 0;
  #isFull = false;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  get nowMs(): number {
    return this.#nowUs / 1_000;
  }

  /** What was written, or nothing where it was too much. */
  get log(): readonly number[] | undefined {
    return this.#isFull ? undefined : this.#log;
  }

  step(kind: number, ...args: readonly number[]): void {
    this.#nowUs = Math.max(this.#nowUs, Math.floor(this.#clock() * 1_000));
    this.#note(kind, this.#nowUs, ...args);
  }

  decide(kind: number, actual: () => number): number {
    const value = actual();
    this.#note(kind, value);
    return value;
  }

  arrive(kind: number, a: number, b: number, act: () => void): void {
    this.step(kind, ...[a, b].slice(0, b < 0 ? 1 : 2));
    act();
  }

  laid(): void {}

  ran(fiber: number, ops: number, state: number, digest: number): void {
    this.#note(RAN, fiber, ops, state, digest);
  }

  /** Where it is now, to come back to if a step was none. */
  get length(): number {
    return this.#log.length;
  }

  undo(length: number): void {
    this.#log.length = length;
  }

  #note(...numbers: readonly number[]): void {
    if (this.#isFull) return;
    this.#log.push(...numbers);
    if (this.#log.length <= MOST) return;
    this.#isFull = true;
    this.#log = [];
  }
}
