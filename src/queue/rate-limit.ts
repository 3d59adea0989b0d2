import { invariant } from "../core/index.ts";

export interface LimitConfig {
  /** How much runs at once, in the amounts that tasks count with; null: no limit. */
  readonly concurrency: number | null;
  /** How many start per period; null: no limit. */
  readonly rateCount: number | null;
  readonly ratePeriodMs: number;
}

export interface LimitSnapshot extends LimitConfig {
  readonly running: number;
  readonly debt: number;
  readonly debtAt: number;
}

/**
 * Concurrency and rate of one named limit.
 *
 * The rate is a token bucket that holds `rateCount` and fills at `rateCount` per period. What it guarantees,
 * if every start was admitted: within any w milliseconds (both ends counted) at most
 * `rateCount + floor(w × rateCount / ratePeriodMs)` starts. So a limit that was idle lets a whole period's
 * worth go at once, any window of one period sees fewer than twice the rate, and in the long run the rate is
 * kept. A log of starts would keep every window to the rate, but remember as many times as the rate counts.
 *
 * In place of tokens the bucket counts the debt, in milliseconds × rateCount: a start adds a period, and each
 * millisecond takes `rateCount` away. That keeps everything in integers, whatever the rate. Only starts and
 * settings change it, so asking never changes a snapshot.
 */
export class Limit {
  #concurrency: number | null = null;
  /** What holds where nobody has set a concurrency; null: no limit. It follows from the configuration. */
  byDefault: number | null = null;
  #rateCount: number | null = null;
  #periodMs = 1;
  #running = 0;
  #debt = 0;
  #debtAt = 0;

  get running(): number {
    return this.#running;
  }

  /** What may run at once; without a limit no number is too large. */
  get max(): number {
    return this.#concurrency ?? this.byDefault ?? Number.POSITIVE_INFINITY;
  }

  get isConfigured(): boolean {
    return this.#concurrency !== null || this.#rateCount !== null;
  }

  /** What was used of the rate stays used, in starts: setting a limit again is no way around it. */
  configure({ concurrency, rateCount, ratePeriodMs }: LimitConfig, now: number): void {
    invariant(rateCount === null || (rateCount > 0 && ratePeriodMs > 0), "a rate is positive");
    invariant(Number.isSafeInteger((rateCount ?? 0) * ratePeriodMs), "a rate can be counted in integers");
    const debt = this.#debtNow(now);
    this.#debt = rateCount === null ? 0 : converted(debt, this.#periodMs, ratePeriodMs, rateCount);
    // Without a rate nothing is owed since whenever: one that was taken away must look like one that never was.
    this.#debtAt = rateCount === null ? 0 : now;
    this.#concurrency = concurrency;
    this.#rateCount = rateCount;
    this.#periodMs = ratePeriodMs;
  }

  /** Whether one task that counts so much may start. A rate counts tasks, whatever their amounts. */
  admits(now: number, amount = 1): boolean {
    return this.hasRoom(amount) && this.#overdraft(now) <= 0;
  }

  /** How many such tasks may start now, one after the other, if so much is to be left. */
  startsLeft(now: number, amount: number, kept: number): number {
    const byRoom = Math.max(0, Math.floor((this.max - this.#running - kept) / amount));
    if (this.#rateCount === null) return byRoom;
    const byRate = Math.floor((this.#periodMs * this.#rateCount - this.#debtNow(now)) / this.#periodMs);
    return Math.min(byRoom, Math.max(0, byRate));
  }

  hasRoom(amount: number): boolean {
    return this.#running + amount <= this.max;
  }

  /** When a rate that is used up admits again; undefined while it does not stand in the way. */
  nextAt(now: number): number | undefined {
    const overdraft = this.#overdraft(now);
    return overdraft <= 0 ? undefined : now + Math.ceil(overdraft / (this.#rateCount ?? 1));
  }

  /** Whether something of the rate is used up. */
  owes(now: number): boolean {
    return this.#debtNow(now) > 0;
  }

  start(now: number, amount = 1): void {
    this.#running += amount;
    if (this.#rateCount === null) return;
    this.#debt = this.#debtNow(now) + this.#periodMs;
    this.#debtAt = now;
  }

  end(amount = 1): void {
    invariant(this.#running >= amount, "what ends under a limit was started under it");
    this.#running -= amount;
  }

  toSnapshot(): LimitSnapshot {
    return {
      concurrency: this.#concurrency,
      rateCount: this.#rateCount,
      ratePeriodMs: this.#periodMs,
      running: this.#running,
      debt: this.#debt,
      debtAt: this.#debtAt,
    };
  }

  static restore(snapshot: LimitSnapshot): Limit {
    const limit = new Limit();
    limit.#concurrency = snapshot.concurrency;
    limit.#rateCount = snapshot.rateCount;
    limit.#periodMs = snapshot.ratePeriodMs;
    limit.#running = snapshot.running;
    limit.#debt = snapshot.debt;
    limit.#debtAt = snapshot.debtAt;
    return limit;
  }

  /** By how much the debt is too large for one more start. */
  #overdraft(now: number): number {
    if (this.#rateCount === null) return 0;
    return this.#debtNow(now) - this.#periodMs * (this.#rateCount - 1);
  }

  #debtNow(now: number): number {
    if (this.#rateCount === null) return 0;
    return Math.max(0, this.#debt - (now - this.#debtAt) * this.#rateCount);
  }
}

/** A limit that never binds and counts nothing: names that nobody configured share one. */
export class NoLimit extends Limit {
  override start(): void {}
  override end(): void {}
}

/** A debt in the units of another rate: as many starts, rounded up, but no more than the bucket holds. */
function converted(debt: number, fromPeriodMs: number, toPeriodMs: number, toCount: number): number {
  const exact = (BigInt(debt) * BigInt(toPeriodMs) + BigInt(fromPeriodMs) - 1n) / BigInt(fromPeriodMs);
  return Math.min(Number(exact), toPeriodMs * toCount);
}
