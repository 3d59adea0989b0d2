import { endFiber, type Fiber, nurseryOfFiber } from "./fiber.ts";
import { STARTED } from "./fiber-table.ts";
import type { Kernel } from "./kernel.ts";
import type { NurseryCore } from "./nursery-core.ts";
import {
  CANCELLED,
  COMPLETED,
  EXHAUSTED,
  FAILED,
  READY,
  RUNNING,
  SUCCEEDED,
  WAS_CANCELLED,
} from "./states.ts";

/** What became of something within a fiber. */
interface Aftermath {
  readonly rank: number;
  readonly error: unknown;
}

/** How fibers end, and nurseries with the last of theirs: budgets go back, who waited wakes, whoever it concerns is told. */
export class Endings {
  readonly #kernel: Kernel;
  /** What became of nurseries whose openers are cancelled, and still unwinding. */
  readonly #aftermath = new Map<number, Aftermath>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Ends a fiber with what its code came to, or a cancelled one with something worse that happened within it. */
  finish(slot: number, rank: number, value: unknown): void {
    const noted = this.#aftermath.size === 0 ? undefined : this.#takeAftermath(slot, rank);
    if (noted === undefined) this.#end(slot, rank, value);
    else this.#end(slot, noted.rank, noted.error);
  }

  /** Ends a fiber that was run elsewhere, with how it ended there. */
  settle(slot: number, rank: number, value: unknown): void {
    const kernel = this.#kernel;
    const { state } = kernel.table;
    kernel.settling = slot;
    if (state[slot] === EXHAUSTED) {
      kernel.exhaustions.forget(slot);
      kernel.move(slot, READY);
    }
    if (state[slot] === READY) kernel.move(slot, RUNNING);
    this.finish(slot, rank, value);
    kernel.settling = -1;
  }

  #end(slot: number, rank: number, value: unknown): void {
    const kernel = this.#kernel;
    const { table, counters, cancellation } = kernel;
    const fiber = table.fiber[slot] as Fiber;
    const core = nurseryOfFiber(fiber);
    const wasCancelled = table.state[slot] === CANCELLED;
    kernel.meter.flush(slot);
    if (wasCancelled) counters.cancelled++;
    else {
      counters.completed++;
      kernel.move(slot, COMPLETED);
    }
    const orphan = table.opened[slot];
    if (orphan !== undefined) cancellation.orphan(orphan, core);
    kernel.accounts.refund(slot, core.pool);
    table.unlink(slot, core);
    // Of whoever just ran and returned nothing else is kept.
    if (wasCancelled || orphan !== undefined || table.flags[slot] !== STARTED) {
      kernel.forgetThrown(slot);
      cancellation.forget(slot);
    }
    endFiber(fiber, wasCancelled && rank < FAILED ? WAS_CANCELLED : rank, value);
    table.release(slot);
    // A child that ends with a cancellation that was not its own, of a nursery within it, has failed.
    if (rank > SUCCEEDED && !(wasCancelled && rank === WAS_CANCELLED))
      cancellation.childFailed(core, Math.max(rank, rank === WAS_CANCELLED ? FAILED : rank), value);
    this.childEnded(core);
  }

  /** Told when a nursery has one child less. */
  childEnded(core: NurseryCore): void {
    core.live--;
    if (core.live > 0) return;
    if (core.heir !== undefined) this.#kernel.cancellation.orphanEnded(core);
    else if (core.awaited) {
      core.awaited = false;
      this.endNursery(core);
      this.#kernel.wake(core.opener);
    }
  }

  /** Ends a nursery without children: what is left of its pool goes back to its opener. */
  endNursery(core: NurseryCore): void {
    const { table, timers, accounts, meter } = this.#kernel;
    const { opener, pool } = core;
    this.#kernel.moveNursery(core, core.state === "Closing" ? "Closed" : "Cancelled");
    if (core.timer) timers.drop(core.timer);
    meter.flush(opener);
    accounts.give(opener, pool);
    pool.take(pool.toBudget());
    table.opened[opener] = core.below;
    // A cancelled opener cannot throw what its nursery came to.
    if (table.state[opener] === CANCELLED && core.rank > WAS_CANCELLED) this.#noteAftermath(core);
    meter.regrant(opener);
  }

  #noteAftermath({ opener, rank, error }: NurseryCore): void {
    const noted = this.#aftermath.get(opener);
    if (noted === undefined || noted.rank < rank) this.#aftermath.set(opener, { rank, error });
  }

  #takeAftermath(slot: number, rank: number): Aftermath | undefined {
    const noted = this.#aftermath.get(slot);
    this.#aftermath.delete(slot);
    return noted !== undefined && noted.rank > rank ? noted : undefined;
  }
}
