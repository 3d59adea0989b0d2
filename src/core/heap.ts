/** A binary heap under a total order that the caller gives. */
export class Heap<Item> {
  readonly #items: Item[];
  readonly #before: (a: Item, b: Item) => boolean;

  /** Takes the items over. */
  constructor(before: (a: Item, b: Item) => boolean, items: Item[] = []) {
    this.#before = before;
    this.#items = items;
    this.#arrange();
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): Item | undefined {
    return this.#items[0];
  }

  push(item: Item): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (!this.#before(item, items[parent] as Item)) break;
      items[at] = items[parent] as Item;
      at = parent;
    }
    items[at] = item;
  }

  pop(): Item | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (last !== undefined && items.length > 0) this.#sink(last, 0);
    return top;
  }

  /** To be called when the first item has come to stand further behind. */
  settleTop(): void {
    this.#sink(this.#items[0] as Item, 0);
  }

  /** Lets go of all items that are not to be kept, at once. */
  keep(kept: (item: Item) => boolean): void {
    let length = 0;
    for (const item of this.#items) if (kept(item)) this.#items[length++] = item;
    this.#items.length = length;
    this.#arrange();
  }

  #arrange(): void {
    const items = this.#items;
    for (let at = (items.length >>> 1) - 1; at >= 0; at--) this.#sink(items[at] as Item, at);
  }

  #sink(item: Item, from: number): void {
    const items = this.#items;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && this.#before(items[child + 1] as Item, items[child] as Item)) child++;
      if (!this.#before(items[child] as Item, item)) break;
      items[at] = items[child] as Item;
      at = child;
    }
    items[at] = item;
  }
}
