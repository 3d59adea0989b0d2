const TICK_MS = 500;

/** What becomes of an attempt that is given up: it was told to stop, or runs beyond its time. */
export type GivenUp = "AttemptCancelled" | "AttemptTimedOut";

export interface WatchdogOptions {
  /** A worker that is silent for this long is lost. */
  readonly leaseMs: number;
  readonly onSilent: (worker: number) => void;
  readonly onOverdue: (taskId: string, kind: GivenUp) => void;
}

/**
 * Notices who was silent for too long, and what should have ended. Times by a clock of its own, so that a jump of the wall
 * clock loses nobody.
 */
export class Watchdog implements Disposable {
  readonly #options: WatchdogOptions;
  readonly #lastSeen = new Map<number, number>();
  readonly #giveUpAt = new Map<string, { readonly at: number; readonly kind: GivenUp }>();
  readonly #timer: NodeJS.Timeout;
  #tickedAt = performance.now();

  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** The worker was heard of. */
  touch(worker: number): void {
    this.#lastSeen.set(worker, performance.now());
  }

  forgetWorker(worker: number): void {
    this.#lastSeen.delete(worker);
  }

  giveUpIn(ms: number, taskId: string, kind: GivenUp): void {
    this.#giveUpAt.set(taskId, { at: performance.now() + ms, kind });
  }

  /** How an attempt will be given up if it goes on. */
  givesUp(taskId: string): GivenUp | undefined {
    return this.#giveUpAt.get(taskId)?.kind;
  }

  forgetTask(taskId: string): void {
    this.#giveUpAt.delete(taskId);
  }

  #tick(): void {
    const now = performance.now();
    this.#forgiveStall(now);
    for (const [worker, seen] of this.#lastSeen) {
      if (now - seen < this.#options.leaseMs) continue;
      this.#lastSeen.delete(worker);
      this.#options.onSilent(worker);
    }
    for (const [taskId, { at, kind }] of this.#giveUpAt) {
      if (now < at) continue;
      this.#giveUpAt.delete(taskId);
      this.#options.onOverdue(taskId, kind);
    }
  }

  /** While we stood still ourselves nobody could be heard, so nobody was silent. */
  #forgiveStall(now: number): void {
    const stalledMs = now - this.#tickedAt - TICK_MS;
    this.#tickedAt = now;
    if (stalledMs < TICK_MS) return;
    for (const [worker, seen] of this.#lastSeen) this.#lastSeen.set(worker, seen + stalledMs);
    for (const [task, { at, kind }] of this.#giveUpAt) this.#giveUpAt.set(task, { at: at + stalledMs, kind });
  }
}
