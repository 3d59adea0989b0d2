import type { Waiting } from "./request.ts";

/** The driver stays careful for this time, in ms, after the last refusal. */
const CAREFUL_MS = 3_600_000;

/**
 * How careful the driver is about what its inputs bring, after the store refused the content of a block.
 *
 * While it is careful, it lets the store check the content of inputs before it decides them, so that another refusal costs no
 * rebuild of the state. If a block is refused although its content was checked, the cause is a row that was decided. Then
 * the turns get smaller, down to an empty one and one with a single input, which is the cause.
 */
export class Suspicion {
  #untilMs = Number.NEGATIVE_INFINITY;
  /** The largest number of inputs that the next turn may take. */
  #most = Number.POSITIVE_INFINITY;
  /** True if a turn without inputs was committed since the last refusal. */
  #emptyPassed = false;
  #culprit: Waiting | undefined;

  get isCareful(): boolean {
    return performance.now() < this.#untilMs;
  }

  get most(): number {
    return this.#most;
  }

  /** Whether halving has shown that this input alone is refused. */
  isCulprit(waiting: Waiting): boolean {
    return waiting === this.#culprit;
  }

  /** The content of an input was refused by a check. */
  renew(): void {
    this.#untilMs = performance.now() + CAREFUL_MS;
  }

  /** A block was refused. Returns false if no input can be the cause. */
  noteRefused(taken: readonly Waiting[], wasChecked: boolean): boolean {
    this.renew();
    if (!wasChecked) return true;
    if (taken.length === 0) return false;
    if (taken.length === 1 && this.#emptyPassed) this.#culprit = taken[0];
    else this.#most = Math.floor(taken.length / 2);
    this.#emptyPassed = false;
    return true;
  }

  noteCommitted(taken: readonly Waiting[]): void {
    if (this.#most === Number.POSITIVE_INFINITY) return;
    this.#emptyPassed = taken.length === 0;
    this.#most = this.#emptyPassed ? 1 : 2 * taken.length;
  }
}
