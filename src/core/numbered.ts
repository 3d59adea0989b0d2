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
export class Numbered<Value extends object | string> {
  readonly #pages = new Map<number, Page<Value>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(number: number): Value | undefined {
    const at = pageOf(number);
    return this.#pages.get(at)?.values[number - at * PAGE];
  }

  has(number: number): boolean {
    return this.get(number) !== undefined;
  }

  set(number: number, value: Value): void {
    const at = pageOf(number);
    const place = number - at * PAGE;
    let page = this.#pages.get(at);
    if (!page) {
      page = { values: new Array<Value | undefined>(PAGE).fill(undefined), size: 0 };
      this.#pages.set(at, page);
    }
    if (page.values[place] === undefined) {
      page.size++;
      this.#size++;
    }
    page.values[place] = value;
  }

  /** Whether it was there. */
  delete(number: number): boolean {
    const at = pageOf(number);
    const place = number - at * PAGE;
    const page = this.#pages.get(at);
    if (page?.values[place] === undefined) return false;
    page.values[place] = undefined;
    this.#size--;
    if (--page.size === 0) this.#pages.delete(at);
    return true;
  }

  *values(): Generator<Value> {
    for (const { values } of this.#pages.values())
      for (const value of values) if (value !== undefined) yield value;
  }
}

function pageOf(number: number): number {
  return Math.floor(number / PAGE);
}
