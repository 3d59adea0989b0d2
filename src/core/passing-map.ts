/** So many are set at least before it is made anew. */
const LEAST = 1024;

/**
 * A map for what comes and goes by the thousands. V8's own leaves a table behind whenever it makes room, and each of them refers to
 * the next: once one has lived long enough to be looked at only in thorough collections, all that passes through the map
 * later lives as long. This one is a new map from time to time instead.
 *
 * What is set while it is gone through may not be seen.
 */
export class PassingMap<Key, Value> {
  #map = new Map<Key, Value>();
  #left = LEAST;

  get size(): number {
    return this.#map.size;
  }

  get(key: Key): Value | undefined {
    return this.#map.get(key);
  }

  has(key: Key): boolean {
    return this.#map.has(key);
  }

  set(key: Key, value: Value): void {
    if (--this.#left === 0) {
      this.#left = Math.max(LEAST, 2 * this.#map.size);
      this.#map = new Map(this.#map);
    }
    this.#map.set(key, value);
  }

  /** Whether it was there. */
  delete(key: Key): boolean {
    return this.#map.delete(key);
  }

  keys(): Iterable<Key> {
    return this.#map.keys();
  }

  values(): Iterable<Value> {
    return this.#map.values();
  }

  [Symbol.iterator](): Iterator<[Key, Value]> {
    return this.#map[Symbol.iterator]();
  }
}
