import { compareText, invariant } from "../core/index.ts";

type Max = number | null;

export interface FairShareSnapshot {
  readonly defaultMax: Max;
  readonly own: readonly (readonly [key: string, max: Max])[];
  readonly zones: readonly (readonly [zone: string, max: Max])[];
  readonly running: readonly (readonly [key: string, count: number])[];
}

/**
 * How many tasks each agent runs, and how many it may.
 *
 * Only agents with running tasks or a limit of their own are kept: those are bounded by what runs and by what
 * was set, whatever the number of agents that ever came, and none is forgotten while it counts.
 */
export class FairShare {
  #defaultMax: Max = null;
  readonly #own = new Map<string, Max>();
  readonly #zones = new Map<string, Max>();
  /** Also the last one of which nothing runs any more: who runs one task after the other need not come and go each time. */
  readonly #running = new Map<string, number>();
  #lastDone = "";

  /** Null: no limit. */
  configure(defaultMax: Max): void {
    this.#defaultMax = defaultMax;
  }

  /** Undefined goes back to the zone's limit, or else the default. */
  setMax(key: string, max: Max | undefined): void {
    put(this.#own, key, max);
  }

  setZoneMax(zone: string, max: Max | undefined): void {
    put(this.#zones, zone, max);
  }

  /** The agent's own limit, else its zone's, else the default. Null is a setting too: no limit. */
  maxOf(zone: string, key: string): Max {
    const own = this.#own.get(key);
    if (own !== undefined) return own;
    const ofZone = this.#zones.get(zone);
    return ofZone === undefined ? this.#defaultMax : ofZone;
  }

  hasOwn(key: string): boolean {
    return this.#own.has(key);
  }

  isZoneSet(zone: string): boolean {
    return this.#zones.has(zone);
  }

  running(key: string): number {
    return this.#running.get(key) ?? 0;
  }

  /** Whether one more may start. Nothing is counted before `recordStart`. */
  admit(zone: string, key: string): boolean {
    const max = this.maxOf(zone, key);
    return max === null || this.running(key) < max;
  }

  /** Counts also what was not admitted: a limit may be lowered below what runs, or be restored after it. */
  recordStart(key: string): void {
    this.#running.set(key, this.running(key) + 1);
  }

  recordComplete(key: string): void {
    const left = this.running(key) - 1;
    invariant(left >= 0, "a task that completes was counted as running");
    this.#running.set(key, left);
    if (left > 0 || key === this.#lastDone) return;
    if (this.#running.get(this.#lastDone) === 0) this.#running.delete(this.#lastDone);
    this.#lastDone = key;
  }

  toSnapshot(): FairShareSnapshot {
    return {
      defaultMax: this.#defaultMax,
      own: sortedByKey(this.#own),
      zones: sortedByKey(this.#zones),
      running: sortedByKey(this.#running).filter(([, count]) => count > 0),
    };
  }

  static restore(snapshot: FairShareSnapshot): FairShare {
    const share = new FairShare();
    share.configure(snapshot.defaultMax);
    for (const [key, max] of snapshot.own) share.#own.set(key, max);
    for (const [zone, max] of snapshot.zones) share.#zones.set(zone, max);
    for (const [key, count] of snapshot.running) share.#running.set(key, count);
    return share;
  }
}

function put(limits: Map<string, Max>, key: string, max: Max | undefined): void {
  if (max === undefined) limits.delete(key);
  else limits.set(key, max);
}

function sortedByKey<Value>(map: ReadonlyMap<string, Value>): [string, Value][] {
  return [...map].sort(([a], [b]) => compareText(a, b));
}
