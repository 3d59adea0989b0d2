/** A queue of small integers that grows and never drops: first in, first out. */
export class Ring {
  #items: Int32Array = new Int32Array(64);
  #mask = 63;
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(item: number): void {
    if (this.#size > this.#mask) this.#grow();
    this.#items[(this.#head + this.#size++) & this.#mask] = item;
  }

  /** -1 where there is none. */
  shift(): number {
    if (this.#size === 0) return -1;
    const item = this.#items[this.#head] as number;
    this.#head = (this.#head + 1) & this.#mask;
    this.#size--;
    return item;
  }

  /** The newest, -1 where there is none. */
  pop(): number {
    if (this.#size === 0) return -1;
    return this.#items[(this.#head + --this.#size) & this.#mask] as number;
  }

  #grow(): void {
    const grown = new Int32Array(this.#items.length * 2);
    const behind = this.#items.subarray(this.#head);
    grown.set(behind);
    grown.set(this.#items.subarray(0, this.#head), behind.length);
    this.#items = grown;
    this.#mask = grown.length - 1;
    this.#head = 0;
  }
}
