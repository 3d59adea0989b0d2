import { failAll, failExhausted, type Waits, waitsOf } from "../deadlock.ts";
import type { Kernel } from "../kernel.ts";
import { DEADLOCKED, FAILED_EXHAUSTED } from "./chance.ts";
import type { Inquiries } from "./inquiries.ts";
import type { Memory } from "./memory.ts";
import type { Recorder } from "./recorder.ts";

/** What a thread says when no thread can go on: whether it could do something about it, and who waits there. */
export interface Stalled {
  /** Undefined where nobody had run out of budget. */
  readonly failed: boolean | undefined;
  readonly waits: Waits;
}

/** Fails those of a thread that ran out of budget, and says who waits. */
export function seeToStall(kernel: Kernel, recorder: Recorder | undefined): Stalled {
  const length = recorder?.length ?? 0;
  recorder?.step(FAILED_EXHAUSTED);
  const failed = failExhausted(kernel);
  if (failed !== true) recorder?.undo(length);
  return { failed, waits: waitsOf(kernel) };
}

/**
 * Finds out, on the main thread, that no thread can go on by itself, and does something about it: first who ran out of budget
 * is told so, wherever it is; if there are none, it is a deadlock.
 */
export class StallWatch {
  readonly #kernel: Kernel;
  readonly #memory: Memory;
  readonly #inquiries: Inquiries;
  readonly #recorder: Recorder | undefined;
  #isAsking = false;
  /** How much had happened when it was last asked about: without more the answer is the same. */
  #askedAt = -1;

  constructor(kernel: Kernel, memory: Memory, inquiries: Inquiries, recorder: Recorder | undefined) {
    this.#kernel = kernel;
    this.#memory = memory;
    this.#inquiries = inquiries;
    this.#recorder = recorder;
  }

  look(): void {
    const activity = this.#activity();
    // Twice: somebody that was looked at first may have been sent something by somebody that was looked at last.
    if (this.#isAsking || activity === this.#askedAt || !this.#areStuck() || !this.#areStuck()) return;
    this.#isAsking = true;
    this.#askedAt = activity;
    void this.#inquiries.ask("stall").then((answers) => {
      this.#isAsking = false;
      this.#settle(answers.filter((answer) => answer !== undefined) as Stalled[], activity);
    });
  }

  #areStuck(): boolean {
    for (let other = 1; other < this.#memory.shared.processors; other++)
      if (!this.#memory.isStuck(other)) return false;
    return true;
  }

  #activity(): number {
    let slices = this.#kernel.counters.slices;
    for (let other = 1; other < this.#memory.shared.processors; other++)
      slices += this.#memory.published(other).slices;
    return slices;
  }

  #settle(others: readonly Stalled[], activity: number): void {
    if (others.some(({ failed }) => failed === true) || this.#activity() !== activity) return;
    const here = seeToStall(this.#kernel, this.#recorder);
    const all = [here, ...others];
    // What is left of those that ran out is to be recharged from outside.
    if (all.some(({ failed }) => failed !== undefined)) return;
    this.#recorder?.step(DEADLOCKED);
    failAll(
      this.#kernel,
      all.map(({ waits }) => waits),
    );
  }
}
