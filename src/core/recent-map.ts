/**
 * A map that forgets what was set long ago: it keeps at least the last `kept` entries, and at most twice as many.
 *
 * Two generations, of which the older goes as a whole: to delete the oldest entry of a map one by one takes ever
 * longer, because a map looks for its first entry among those that were deleted.
 */
export class RecentMap<Key, Value> {
  readonly #kept: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  constructor(kept: number) {
    this.#kept = kept;
  }

  get(key: Key): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  has(key: Key): boolean {
    return this.#young.has(key) || this.#old.has(key);
  }

  set(key: Key, value: Value): void {
    this.#young.set(key, value);
    if (this.#young.size < this.#kept) return;
    this.#old = this.#young;
    this.#young = new Map();
  }
}
