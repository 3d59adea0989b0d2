/** What is found out faster than this is found out each time. */
const CHEAP_MS = 5;
const SHARE = 10;
const MAX_KNOWN = 1_000;

/**
 * Lets costly looks take a tenth of the time at most: a value that took long to find out is told again for ten times as
 * long. Otherwise whoever asks in a loop keeps the scheduler from its work.
 */
export class Paced<Value> {
  readonly #known = new Map<string, { readonly value: Value; readonly untilMs: number }>();

  of(key: string, look: () => Value): Value {
    const startedMs = performance.now();
    const known = this.#known.get(key);
    if (known && startedMs < known.untilMs) return known.value;
    const value = look();
    const endedMs = performance.now();
    const tookMs = endedMs - startedMs;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    if (tookMs < CHEAP_MS) this.#known.delete(key);
    else this.#known.set(key, { value, untilMs: endedMs + SHARE * tookMs });
    return value;
  }
}
