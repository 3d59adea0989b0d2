import { compareText } from "../core/index.ts";
import { Limit, type LimitSnapshot } from "./rate-limit.ts";

/** So many in each period, as a token bucket: see `Limit`. */
export interface Rate {
  readonly count: number;
  readonly periodMs: number;
}

export interface SubmitRatesSnapshot {
  readonly own: readonly (readonly [key: string, rate: Rate | null])[];
  readonly used: readonly (readonly [key: string, limit: LimitSnapshot])[];
}

/** Agents whose rates are remembered before those that have all of it left are let go. */
const MAX_USED = 10_000;

/**
 * How fast each agent may submit. A submission counts as one, be it a task or a graph. Only agents that submitted
 * under a rate, or have one of their own, are kept.
 */
export class SubmitRates {
  #everyone: Rate | null = null;
  readonly #own = new Map<string, Rate | null>();
  readonly #used = new Map<string, Limit>();

  /** Of all agents that have none of their own; null: no limit. */
  configure(rate: Rate | null, now: number): void {
    this.#everyone = rate;
    for (const key of [...this.#used.keys()]) this.#adjust(key, now);
  }

  /** Undefined: as everyone's. Null is a setting too: no limit. */
  set(key: string, rate: Rate | null | undefined, now: number): void {
    if (rate === undefined) this.#own.delete(key);
    else this.#own.set(key, rate);
    this.#adjust(key, now);
  }

  rateOf(key: string): Rate | null {
    const own = this.#own.get(key);
    return own === undefined ? this.#everyone : own;
  }

  hasOwn(key: string): boolean {
    return this.#own.has(key);
  }

  /** The agents that have a rate of their own. */
  own(): Iterable<string> {
    return this.#own.keys();
  }

  /** When the agent may submit again; undefined: now. */
  nextAt(key: string, now: number): number | undefined {
    return this.#used.get(key)?.nextAt(now);
  }

  take(key: string, now: number): void {
    const rate = this.rateOf(key);
    if (rate === null) return;
    let limit = this.#used.get(key);
    if (!limit) {
      if (this.#used.size >= MAX_USED) this.#forget(now);
      limit = new Limit();
      limit.configure(configOf(rate), now);
      this.#used.set(key, limit);
    }
    limit.start(now);
    limit.end();
  }

  /** Undefined where there is nothing to keep. */
  toSnapshot(): SubmitRatesSnapshot | undefined {
    if (this.#own.size === 0 && this.#used.size === 0) return undefined;
    return {
      own: sortedByKey(this.#own),
      used: sortedByKey(this.#used).map(([key, limit]) => [key, limit.toSnapshot()] as const),
    };
  }

  restore(snapshot: SubmitRatesSnapshot | undefined): void {
    for (const [key, rate] of snapshot?.own ?? []) this.#own.set(key, rate);
    for (const [key, limit] of snapshot?.used ?? []) this.#used.set(key, Limit.restore(limit));
  }

  #adjust(key: string, now: number): void {
    const rate = this.rateOf(key);
    if (rate === null) this.#used.delete(key);
    else this.#used.get(key)?.configure(configOf(rate), now);
  }

  #forget(now: number): void {
    for (const [key, limit] of this.#used) if (!limit.owes(now)) this.#used.delete(key);
  }
}

function configOf({ count, periodMs }: Rate) {
  return { concurrency: null, rateCount: count, ratePeriodMs: periodMs };
}

function sortedByKey<Value>(map: ReadonlyMap<string, Value>): [string, Value][] {
  return [...map].sort(([a], [b]) => compareText(a, b));
}
