import { invariant } from "./invariant.ts";

/**
 * A binary heap of small integers, in which each knows its place: any of them can be taken out, or moved up when it has
 * come to stand before others. Heaps that never hold the same number may share one array of places.
 *
 * It is put in order when it is first asked for its first, and then kept so until it is empty: what comes and goes before that
 * costs nothing.
 */
export class IndexHeap {
  readonly #items: number[] = [];
  readonly #places: Int32Array;
  readonly #before: (a: number, b: number) => boolean;
  #isInOrder = false;

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
    if (this.#items.length === 0) return -1;
    if (!this.#isInOrder) this.#arrange();
    return this.#items[0] as number;
  }

  add(item: number): void {
    invariant(this.#places[item] === -1, "a number is added once");
    const at = this.#items.push(item) - 1;
    if (this.#isInOrder) this.#items[this.#lift(item, at)] = item;
    else this.#places[item] = at;
  }

  delete(item: number): void {
    const at = this.#places[item] as number;
    invariant(this.#items[at] === item, "a number that is taken out was there");
    this.#places[item] = -1;
    const last = this.#items.pop() as number;
    if (this.#items.length === 0) this.#isInOrder = false;
    if (last === item) return;
    if (this.#isInOrder) this.#sink(last, this.#lift(last, at));
    else this.#put(last, at);
  }

  /** To be called when it has come to stand before others. */
  rise(item: number): void {
    if (!this.#isInOrder) return;
    const at = this.#places[item] as number;
    this.#items[this.#lift(item, at)] = item;
  }

  /** Visits all of the first ones for which a claim holds, if it holds for none behind one that it does not hold for. */
  forLeading(claim: (item: number) => boolean, visit: (item: number) => void, from = 0): void {
    if (!this.#isInOrder) this.#arrange();
    if (from >= this.#items.length) return;
    const item = this.#items[from] as number;
    if (!claim(item)) return;
    visit(item);
    this.forLeading(claim, visit, 2 * from + 1);
    this.forLeading(claim, visit, 2 * from + 2);
  }

  #arrange(): void {
    this.#isInOrder = true;
    const items = this.#items;
    for (let at = (items.length >>> 1) - 1; at >= 0; at--) this.#sink(items[at] as number, at);
  }

  /** Moves the parents down until it has its place above, and says where that is. */
  #lift(item: number, from: number): number {
    const items = this.#items;
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      const above = items[parent] as number;
      if (!this.#before(item, above)) break;
      this.#put(above, at);
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
      this.#put(below, at);
      at = child;
    }
    this.#put(item, at);
  }

  #put(item: number, at: number): void {
    this.#items[at] = item;
    this.#places[item] = at;
  }
}
