/**
 * A map that forgets what was set long ago: it keeps at least what the last `kept` calls set, and at most twice as much.
 *
 * Two generations, of which the older goes as a whole: to delete the oldest entry of a map one by one takes ever
 * longer, because a map looks for its first entry among those that were deleted.
 */
export class RecentMap<Key, Value> {
  readonly #kept: number;
  #young = new Generation<Key, Value>();
  #old = new Generation<Key, Value>();

  constructor(kept: number) {
    this.#kept = kept;
  }

  get(key: Key): Value | undefined {
    return this.#young.found().get(key) ?? this.#old.found().get(key);
  }

  has(key: Key): boolean {
    return this.#young.found().has(key) || this.#old.found().has(key);
  }

  set(key: Key, value: Value): void {
    if (this.#young.set(key, value) < this.#kept) return;
    this.#old = this.#young;
    this.#young = new Generation();
  }
}

/** Much is set that nobody ever looks for: it is put in order when somebody does. */
class Generation<Key, Value> {
  readonly #map = new Map<Key, Value>();
  #keys: Key[] = [];
  #values: Value[] = [];
  #isSought = false;
  #count = 0;

  found(): ReadonlyMap<Key, Value> {
    if (this.#isSought) return this.#map;
    this.#isSought = true;
    for (let at = 0; at < this.#keys.length; at++)
      this.#map.set(this.#keys[at] as Key, this.#values[at] as Value);
    this.#keys = [];
    this.#values = [];
    return this.#map;
  }

  /** How often that was called. */
  set(key: Key, value: Value): number {
    if (this.#isSought) this.#map.set(key, value);
    else {
      this.#keys.push(key);
      this.#values.push(value);
    }
    return ++this.#count;
  }
}
