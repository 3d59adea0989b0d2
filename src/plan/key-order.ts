/** Sorts numbers by their keys, smaller first, and by themselves where keys are equal. */
export class KeyOrder {
  readonly order: Uint32Array;
  readonly #other: Uint32Array;

  constructor(size: number) {
    this.order = new Uint32Array(size);
    this.#other = new Uint32Array(size);
    for (let n = 0; n < size; n++) this.order[n] = n;
  }

  /**
   * A merge sort from below: it needs no comparison function, which sorting would call for every pair, and starts
   * from the last order, which is often close to the next.
   */
  sort(keys: Float64Array): Uint32Array {
    const { length } = this.order;
    for (let from = 0; from < length; from += RUN)
      insertionSort(this.order, keys, from, Math.min(from + RUN, length));
    let source = this.order;
    let target = this.#other;
    for (let width = RUN; width < length; width *= 2) {
      for (let from = 0; from < length; from += 2 * width) {
        merge(source, target, keys, from, Math.min(from + width, length), Math.min(from + 2 * width, length));
      }
      [source, target] = [target, source];
    }
    if (source !== this.order) this.order.set(source);
    return this.order;
  }
}

const RUN = 16;

function insertionSort(order: Uint32Array, keys: Float64Array, from: number, to: number): void {
  for (let next = from + 1; next < to; next++) {
    const n = order[next] as number;
    const key = keys[n] as number;
    let at = next;
    for (; at > from; at--) {
      const other = order[at - 1] as number;
      const otherKey = keys[other] as number;
      if (otherKey < key || (otherKey === key && other < n)) break;
      order[at] = other;
    }
    order[at] = n;
  }
}

function merge(
  source: Uint32Array,
  target: Uint32Array,
  keys: Float64Array,
  from: number,
  middle: number,
  to: number,
): void {
  let left = from;
  let right = middle;
  for (let at = from; at < to; at++) {
    const a = source[left] as number;
    const b = source[right] as number;
    const isLeft =
      right >= to ||
      (left < middle && ((keys[a] as number) < (keys[b] as number) || (keys[a] === keys[b] && a < b)));
    target[at] = isLeft ? a : b;
    if (isLeft) left++;
    else right++;
  }
}
