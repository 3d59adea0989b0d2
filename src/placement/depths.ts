import { bitsetOf, clearBit, setBit } from "../core/index.ts";

/** Workers by how much they hold, for whoever looks for the one that holds least. */
export class Depths {
  /** Sets of workers, by depth. */
  readonly levels: Uint32Array[] = [];
  /** No worker has less. */
  least = 0;
  readonly #size: number;
  readonly #counts: number[] = [];
  /** By worker; -1: it is in no set. */
  readonly #depths: Int32Array;

  constructor(size: number) {
    this.#size = size;
    this.#depths = new Int32Array(size).fill(-1);
  }

  set(ordinal: number, depth: number): void {
    const before = this.#depths[ordinal] as number;
    if (before === depth) return;
    if (before >= 0) {
      clearBit(this.levels[before] as Uint32Array, ordinal);
      (this.#counts[before] as number)--;
    }
    while (this.levels.length <= depth) {
      this.levels.push(bitsetOf(this.#size));
      this.#counts.push(0);
    }
    this.#depths[ordinal] = depth;
    if (depth >= 0) {
      setBit(this.levels[depth] as Uint32Array, ordinal);
      (this.#counts[depth] as number)++;
      if (depth < this.least) this.least = depth;
    }
    while (this.least < this.#counts.length && this.#counts[this.least] === 0) this.least++;
  }
}
