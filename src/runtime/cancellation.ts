import { Cancelled, Panic } from "./errors.ts";
import { FORCED, SPECIAL, STARTED, UNWINDING } from "./fiber-table.ts";
import type { Pending } from "./instruction.ts";
import type { Kernel } from "./kernel.ts";
import type { NurseryCore } from "./nursery-core.ts";
import { type How, NEXT, OVER, RETURN, THROW } from "./slices.ts";
import { BLOCKED, CANCELLED, EXHAUSTED, PANICKED, READY, WAS_CANCELLED } from "./states.ts";
import type { Timer } from "./timers.ts";

/** How often a fiber that will not end is thrown out of what it does, a grace after the other. */
const TRIES = 8;
/** What `finally` blocks may use beyond what the fiber had, each time. */
const GRACE_OPS = 10_000;

/** The body of a nursery that is being cancelled has this thrown into it. */
interface Interruption {
  readonly core: NurseryCore;
  readonly error: Cancelled;
  times: number;
  timer: Timer | undefined;
}

/**
 * Cancelling is told to all at once and done by each in its turn: a fiber is Cancelled from the moment that it is told,
 * its `finally` blocks run when it is next resumed, and only then it is over for its nursery. `finally` blocks may wait;
 * a grace at a time, for so many times, after which the fiber is dropped.
 *
 * It is done by an exception, not by the generator's `return`: a `yield*` forgets that it was to return as soon as something
 * within it yields, so the code behind it would run.
 */
export class Cancellation {
  readonly #kernel: Kernel;
  /** One for all: it says nothing of where it came from, and making a million of them takes long. */
  readonly #cancelled = new Cancelled("the fiber was cancelled", "FiberCancelled");
  readonly #interruptions = new Map<number, Interruption>();
  readonly #graces = new Map<number, Timer>();
  /** Nurseries whose opener is over, until they are. */
  readonly orphans = new Set<NurseryCore>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  cancelFiber(slot: number): void {
    const nurseries: NurseryCore[] = [];
    this.#cancelOne(slot, nurseries);
    this.#cancelAll(nurseries, this.#cancelled);
  }

  cancelNursery(core: NurseryCore, error: Cancelled): void {
    this.#cancelAll([core], error);
  }

  /** The first error of the highest rank is the nursery's; the other children are cancelled. */
  childFailed(core: NurseryCore, rank: number, error: unknown): void {
    core.note(rank, error);
    if (this.#kernel.tops.includes(core)) return;
    if (core.state === "Open" || core.state === "Closing")
      this.cancelNursery(
        core,
        new Cancelled("another fiber of the nursery failed", "NurseryCancelled", { cause: error }),
      );
  }

  /** No recursion: fibers may be nested deeply. */
  #cancelAll(nurseries: NurseryCore[], error: Cancelled): void {
    const { next } = this.#kernel.table;
    for (let core = nurseries.pop(); core; core = nurseries.pop()) {
      if (core.state !== "Open" && core.state !== "Closing") continue;
      core.note(WAS_CANCELLED, error);
      this.#kernel.moveNursery(core, "Cancelling");
      for (let child = core.first; child >= 0; child = next[child] as number)
        this.#cancelOne(child, nurseries);
      if (!core.bodyEnded && core.opener >= 0) this.#interrupt(core, error, nurseries);
    }
  }

  #cancelOne(slot: number, nurseries: NurseryCore[]): void {
    const { table } = this.#kernel;
    const state = table.state[slot] as number;
    if (state === CANCELLED) return;
    this.#kernel.move(slot, CANCELLED);
    (table.flags[slot] as number) |= SPECIAL;
    for (let core = table.opened[slot]; core; core = core.below) nurseries.push(core);
    this.#letGo(slot, state);
  }

  /** Has a fiber that waits run, so that it can be told. */
  #letGo(slot: number, state: number): void {
    const { table } = this.#kernel;
    if (state === EXHAUSTED) {
      this.#kernel.exhaustions.forget(slot);
      this.#kernel.resume(slot);
    } else if (state === BLOCKED || (state === CANCELLED && table.pending[slot] !== undefined)) {
      const pending = table.pending[slot] as Pending;
      if (pending.shielded) return;
      pending.abandon();
      this.#kernel.wake(slot);
    } else if (state === READY && this.#kernel.elsewhere?.has(slot)) {
      this.#kernel.elsewhere.tell(slot);
    }
  }

  /** The body of a nursery runs in its opener, which goes on when the nursery has ended: it is not cancelled itself. */
  #interrupt(core: NurseryCore, error: Cancelled, nurseries: NurseryCore[]): void {
    const { table } = this.#kernel;
    const slot = core.opener;
    const state = table.state[slot] as number;
    if (state === CANCELLED) return;
    for (let inner = table.opened[slot]; inner && inner !== core; inner = inner.below) nurseries.push(inner);
    const other = this.#interruptions.get(slot);
    if (other !== undefined && isBelow(other.core, core)) return;
    if (other?.timer) this.#kernel.timers.drop(other.timer);
    this.#interruptions.set(slot, { core, error, times: 0, timer: undefined });
    this.#kernel.throwInto(slot, error);
    this.#letGo(slot, state);
  }

  /** Told when an interruption was thrown. If the body is still there after a grace, it is thrown again. */
  interrupted(slot: number): void {
    const interruption = this.#interruptions.get(slot);
    if (interruption === undefined) return;
    const { timers, settings, table } = this.#kernel;
    if (interruption.timer) timers.drop(interruption.timer);
    interruption.timer = timers.set(this.#kernel.nowMs() + settings.graceMs, () => {
      if (this.#interruptions.get(slot) !== interruption) return;
      if (++interruption.times > TRIES) {
        interruption.core.note(
          PANICKED,
          new Panic("the body of a nursery would not end when it was cancelled"),
        );
        this.cancelFiber(slot);
        return;
      }
      this.#kernel.throwInto(slot, interruption.error);
      this.#letGo(slot, table.state[slot] as number);
    });
  }

  /** The body of a nursery has ended, by itself or by an interruption; none that is still to come concerns it. */
  bodyEnded(core: NurseryCore): void {
    core.bodyEnded = true;
    const interruption = this.#interruptions.get(core.opener);
    if (interruption?.core !== core) return;
    this.#dropInterruption(core.opener);
    this.#kernel.takeThrown(core.opener);
  }

  #dropInterruption(slot: number): void {
    const timer = this.#interruptions.get(slot)?.timer;
    if (timer) this.#kernel.timers.drop(timer);
    this.#interruptions.delete(slot);
  }

  /** For who would block although it is to be told something. */
  dontBlock(slot: number, pending: Pending | undefined): void {
    pending?.abandon();
    this.#kernel.wake(slot);
  }

  /** How a cancelled fiber goes on. */
  unwind(slot: number, flags: number): How {
    const { table } = this.#kernel;
    if ((flags & STARTED) === 0) {
      this.#kernel.endings.finish(slot, WAS_CANCELLED, undefined);
      return OVER;
    }
    table.flags[slot] = STARTED | UNWINDING;
    if ((flags & UNWINDING) === 0) {
      this.#dropInterruption(slot);
      this.#kernel.takeThrown(slot);
      table.forced[slot] = 0;
      return THROW;
    }
    if ((flags & FORCED) === 0) return NEXT;
    const tries = ++(table.forced[slot] as number);
    if (tries <= TRIES) return tries <= TRIES / 2 ? THROW : RETURN;
    this.#kernel.endings.finish(
      slot,
      PANICKED,
      new Panic("the finally blocks of a cancelled fiber did not end"),
    );
    return OVER;
  }

  /** What is thrown into a fiber that is to unwind. */
  get error(): Cancelled {
    return this.#cancelled;
  }

  /** Sees to it that `finally` blocks that wait or yield do not do so for long. */
  bound(slot: number): void {
    const { timers, settings, table } = this.#kernel;
    if ((table.ops[slot] as number) < -GRACE_OPS) {
      this.#kernel.accounts.waive(slot);
      (table.flags[slot] as number) |= FORCED;
    }
    if (this.#graces.has(slot)) return;
    const timer = timers.set(this.#kernel.nowMs() + settings.graceMs, () => {
      this.#graces.delete(slot);
      const pending = table.pending[slot];
      // Children end by themselves, each within its own bounds.
      if (pending?.shielded) {
        this.bound(slot);
        return;
      }
      (table.flags[slot] as number) |= FORCED;
      if (pending !== undefined) this.#letGo(slot, CANCELLED);
    });
    this.#graces.set(slot, timer);
  }

  /** Told when a fiber is over. */
  forget(slot: number): void {
    this.#dropInterruption(slot);
    const grace = this.#graces.get(slot);
    if (grace === undefined) return;
    this.#kernel.timers.drop(grace);
    this.#graces.delete(slot);
  }

  /** Leaves nothing behind of nurseries whose opener is over before they are: they are cancelled, and `heir` waits. */
  orphan(innermost: NurseryCore, heir: NurseryCore): void {
    const error = new Cancelled("the fiber that had opened the nursery is over", "NurseryCancelled");
    for (let core: NurseryCore | undefined = innermost; core; core = core.below) {
      core.bodyEnded = true;
      core.awaited = false;
      this.cancelNursery(core, error);
      core.heir = heir;
      this.orphans.add(core);
      heir.live++;
      if (core.live === 0) this.orphanEnded(core);
    }
  }

  orphanEnded(core: NurseryCore): void {
    const heir = core.heir as NurseryCore;
    this.orphans.delete(core);
    this.#kernel.moveNursery(core, "Cancelled");
    heir.pool.give(core.pool);
    core.pool.take(core.pool.toBudget());
    this.#kernel.endings.childEnded(heir);
  }
}

function isBelow(one: NurseryCore, other: NurseryCore): boolean {
  for (let core = other.below; core; core = core.below) if (core === one) return true;
  return one === other;
}
