import { compareText, Heap } from "../core/index.ts";
import type { Entry } from "./entry.ts";
import type { Rung } from "./rung.ts";

/** What an entry is ordered by: two numbers, and then its id. */
export type Keys = (entry: Entry) => readonly [major: number, minor: number];

/** Keys as they were when the entry came: a place outlives it, and the caller may change the entry then. */
interface Place {
  readonly major: number;
  readonly minor: number;
  readonly id: string;
  entry: Entry | undefined;
}

/** So few places without an entry are not worth clearing away. */
const FEW = 32;

/** Entries in an order that time does not change. */
export class OrderedQueue implements Rung {
  readonly #keys: Keys;
  readonly #places = new Map<Entry, Place>();
  /** Also places that were left, until they come first or are more than the others. */
  readonly #heap = new Heap<Place>(isEarlier);

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  get size(): number {
    return this.#places.size;
  }

  add(entry: Entry): void {
    const [major, minor] = this.#keys(entry);
    const place: Place = { major, minor, id: entry.id, entry };
    this.#places.set(entry, place);
    this.#heap.push(place);
  }

  delete(entry: Entry): boolean {
    const place = this.#places.get(entry);
    if (!place) return false;
    place.entry = undefined;
    this.#places.delete(entry);
    if (this.#heap.size > 2 * this.#places.size + FEW) this.#heap.keep((kept) => kept.entry !== undefined);
    return true;
  }

  first(): Entry | undefined {
    let top = this.#heap.peek();
    while (top && !top.entry) {
      this.#heap.pop();
      top = this.#heap.peek();
    }
    return top?.entry;
  }

  each(visit: (entry: Entry) => void): void {
    for (const entry of this.#places.keys()) visit(entry);
  }

  tally(visit: (entry: Entry, count: number, sumOfReadyAt: number) => void): void {
    for (const entry of this.#places.keys()) visit(entry, 1, entry.readyAt);
  }

  *entries(every = 1, from = 0): Iterable<Entry> {
    let left = from;
    for (const entry of this.#places.keys()) {
      if (left-- > 0) continue;
      left = every - 1;
      yield entry;
    }
  }
}

function isEarlier(a: Place, b: Place): boolean {
  return (a.major - b.major || a.minor - b.minor || compareText(a.id, b.id)) < 0;
}
