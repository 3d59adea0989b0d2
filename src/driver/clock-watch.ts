import type { Driver } from "./driver.ts";

export interface ClockWatchOptions {
  readonly driver: Pick<Driver, "submit" | "now" | "timeOfDay">;
  readonly warn: (message: string) => void;
  /** The machine's clock, in milliseconds since 1970. */
  readonly wallClock?: () => number;
  /** A clock that nobody sets, in milliseconds. */
  readonly steadyClock?: () => number;
}

/** How often the machine's clock is looked at, in ms. */
const LOOK_EVERY_MS = 500;
/** A smaller difference is not a correction: the two clocks are not read at the same moment. */
const TOLERANCE_MS = 100;
/** A clock that was set is followed when it has stayed so for this long, in ms. */
const SETTLED_AFTER_MS = 1_000;
/** A larger difference than this is a jump. Many jumps are mistakes that somebody undoes at once. */
const JUMP_MS = 60_000;
/** A jump is followed when the clock has stayed there for this long, in ms. */
const JUMP_SETTLED_AFTER_MS = 30_000;

/**
 * Keeps the scheduler's time of day equal to the leader's clock.
 *
 * The ledger's time only measures durations: it is driven by a steady clock and never goes back. The time of day is the
 * ledger's time plus an offset, which is part of the state and changes by the event `ClockCorrected` alone. This class
 * compares the time of day with the machine's clock and submits that event when they differ:
 *
 * - at once when the service opens, because an earlier leader may have had another clock;
 * - later only if the difference lasts, so that a clock that is set by mistake and set back expires nothing.
 */
export class ClockWatch implements Disposable {
  readonly #options: ClockWatchOptions;
  readonly #wallClock: () => number;
  readonly #steadyClock: () => number;
  #timer: NodeJS.Timeout | undefined;
  /** The difference that was seen last and is not followed yet, and since when it has been about the same. */
  #seen: { readonly differenceMs: number; readonly sinceMs: number } | undefined;

  private constructor(options: ClockWatchOptions) {
    this.#options = options;
    this.#wallClock = options.wallClock ?? Date.now;
    this.#steadyClock = options.steadyClock ?? (() => performance.now());
  }

  /** Corrects the time of day if the ledger was left with another one, then watches the clock. */
  static async open(options: ClockWatchOptions): Promise<ClockWatch> {
    const watch = new ClockWatch(options);
    const differenceMs = watch.#difference();
    if (Math.abs(differenceMs) > TOLERANCE_MS) {
      const words = `${seconds(differenceMs)} ${differenceMs < 0 ? "behind" : "ahead of"}`;
      options.warn(
        `the clock of this server is ${words} the one that led before; times of day follow this one`,
      );
      await watch.#correct();
    }
    watch.#timer = setInterval(() => watch.look(), LOOK_EVERY_MS).unref();
    return watch;
  }

  /** Compares the clocks. It is called by a timer; tests call it themselves. */
  look(): void {
    const differenceMs = this.#difference();
    if (Math.abs(differenceMs) <= TOLERANCE_MS) {
      if (this.#seen && isJump(this.#seen.differenceMs))
        this.#options.warn("the clock was set back to where it was");
      this.#seen = undefined;
      return;
    }
    const nowMs = this.#steadyClock();
    if (!this.#seen || Math.abs(differenceMs - this.#seen.differenceMs) > TOLERANCE_MS) {
      this.#seen = { differenceMs, sinceMs: nowMs };
      const waits = `times of day follow it in ${JUMP_SETTLED_AFTER_MS / 1000} s if it stays so`;
      if (isJump(differenceMs)) this.#options.warn(`the clock jumped ${moved(differenceMs)}; ${waits}`);
      return;
    }
    const settledAfterMs = isJump(differenceMs) ? JUMP_SETTLED_AFTER_MS : SETTLED_AFTER_MS;
    if (nowMs - this.#seen.sinceMs < settledAfterMs) return;
    this.#seen = undefined;
    this.#options.warn(`the clock was set ${moved(differenceMs)}; times of day follow it`);
    // A refused commit ends the driver, which reports it itself.
    this.#correct().catch(() => {});
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #difference(): number {
    return Math.trunc(this.#wallClock()) - this.#options.driver.timeOfDay();
  }

  async #correct(): Promise<void> {
    const { driver } = this.#options;
    await driver.submit({ kind: "ClockCorrected", offsetMs: Math.trunc(this.#wallClock()) - driver.now() });
  }
}

function isJump(differenceMs: number): boolean {
  return Math.abs(differenceMs) > JUMP_MS;
}

function moved(differenceMs: number): string {
  return `${differenceMs < 0 ? "back" : "forward"} by ${seconds(differenceMs)}`;
}

function seconds(ms: number): string {
  return `${(Math.abs(ms) / 1000).toFixed(1)} s`;
}
