import { invariant } from "./invariant.ts";

/**
 * A binary heap of small integers, in which each knows its place: any of them can be taken out, or moved up when it has
 * come to stand before others. Heaps that never hold the same number may share one array of places.
 */
export class IndexHeap {
  readonly #items: number[] = [];
  readonly #places: Int32Array;
  readonly #before: (a: number, b: number) => boolean;

  constructor(before: (a: number, b: number) => boolean, places: Int32Array) {
    this.#before = before;
    this.#places = places;
  }

  get size(): number {
    return this.#items.length;
  }

  get items(): readonly number[] {
    return this.#items;
  }

  /** -1 where there is none. */
  first(): number {
    return this.#items.length === 0 ? -1 : (this.#items[0] as number);
  }

  add(item: number): void {
    invariant(this.#places[item] === -1, "a number is added once");
    this.#items.push(item);
    this.#sink(item, this.#lift(item, this.#items.length - 1));
  }

  delete(item: number): void {
    const at = this.#places[item] as number;
    invariant(this.#items[at] === item, "a number that is taken out was there");
    this.#places[item] = -1;
    const last = this.#items.pop() as number;
    if (last !== item) this.#sink(last, this.#lift(last, at));
  }

  /** To be called when it has come to stand before others. */
  rise(item: number): void {
    const at = this.#places[item] as number;
    this.#items[this.#lift(item, at)] = item;
  }

  /** Visits all of the first ones for which a claim holds, if it holds for none behind one that it does not hold for. */
  forLeading(claim: (item: number) => boolean, visit: (item: number) => void, from = 0): void {
    if (from >= this.#items.length) return;
    const item = this.#items[from] as number;
    if (!claim(item)) return;
    visit(item);
    this.forLeading(claim, visit, 2 * from + 1);
    this.forLeading(claim, visit, 2 * from + 2);
  }

  /** Moves the parents down until it has its place above, and says where that is. */
  #lift(item: number, from: number): number {
    const items = this.#items;
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      const above = items[parent] as number;
      if (!this.#before(item, above)) break;
      items[at] = above;
      this.#places[above] = at;
      at = parent;
    }
    this.#places[item] = at;
    return at;
  }

  #sink(item: number, from: number): void {
    const items = this.#items;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && this.#before(items[child + 1] as number, items[child] as number))
        child++;
      const below = items[child] as number;
      if (!this.#before(below, item)) break;
      items[at] = below;
      this.#places[below] = at;
      at = child;
    }
    items[at] = item;
    this.#places[item] = at;
  }
}
