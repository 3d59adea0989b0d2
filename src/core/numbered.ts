/** How many share a page: few enough that a page for one that stays costs little. */
const PAGE = 64;

interface Page<Value> {
  readonly values: (Value | undefined)[];
  size: number;
}

/**
 * A map by numbers that are given out one after the other. Neighbours lie side by side, so that among a million it is
 * found as fast as among a few. It goes through them in the order in which their numbers were set first.
 */
export class Numbered<Value extends object> {
  readonly #pages = new Map<number, Page<Value>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(number: number): Value | undefined {
    return this.#pages.get(pageOf(number))?.values[number % PAGE];
  }

  has(number: number): boolean {
    return this.get(number) !== undefined;
  }

  set(number: number, value: Value): void {
    let page = this.#pages.get(pageOf(number));
    if (!page) {
      page = { values: new Array<Value | undefined>(PAGE).fill(undefined), size: 0 };
      this.#pages.set(pageOf(number), page);
    }
    if (page.values[number % PAGE] === undefined) {
      page.size++;
      this.#size++;
    }
    page.values[number % PAGE] = value;
  }

  delete(number: number): void {
    const page = this.#pages.get(pageOf(number));
    if (page?.values[number % PAGE] === undefined) return;
    page.values[number % PAGE] = undefined;
    this.#size--;
    if (--page.size === 0) this.#pages.delete(pageOf(number));
  }

  *values(): Generator<Value> {
    for (const { values } of this.#pages.values())
      for (const value of values) if (value !== undefined) yield value;
  }
}

function pageOf(number: number): number {
  return Math.floor(number / PAGE);
}
