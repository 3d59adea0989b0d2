import { lowestBit } from "./bitset.ts";
import { invariant } from "./invariant.ts";

/**
 * A set of small integers that knows its least member.
 *
 * A tree of bitsets: a bit of a level says that the word below it is not empty. With 32 children a word,
 * a million members are four levels deep and take 132 KB; every operation touches one word per level. Where
 * ranks are known ahead (the nodes of a run in their order) this is a priority queue without comparisons,
 * and its cost hardly grows with its size.
 */
export class RankedSet {
  readonly #levels: Uint32Array[] = [];
  #size = 0;

  constructor(capacity: number) {
    let words = Math.max(1, (capacity + 31) >>> 5);
    this.#levels.push(new Uint32Array(words));
    while (words > 1) {
      words = (words + 31) >>> 5;
      this.#levels.push(new Uint32Array(words));
    }
  }

  get size(): number {
    return this.#size;
  }

  add(rank: number): void {
    let bit = rank;
    for (const words of this.#levels) {
      const word = words[bit >>> 5] as number;
      const mask = 1 << (bit & 31);
      if (word & mask) {
        invariant(words !== this.#levels[0], "a rank is added once");
        break;
      }
      words[bit >>> 5] = word | mask;
      bit >>>= 5;
    }
    this.#size++;
  }

  delete(rank: number): void {
    let bit = rank;
    for (const words of this.#levels) {
      const before = words[bit >>> 5] as number;
      const mask = 1 << (bit & 31);
      invariant((before & mask) !== 0, "a deleted rank was there");
      words[bit >>> 5] = before & ~mask;
      if ((before & ~mask) !== 0) break;
      bit >>>= 5;
    }
    this.#size--;
  }

  has(rank: number): boolean {
    return (((this.#levels[0] as Uint32Array)[rank >>> 5] as number) & (1 << (rank & 31))) !== 0;
  }

  /** The least member, or -1. */
  first(): number {
    if (this.#size === 0) return -1;
    let bit = 0;
    for (let level = this.#levels.length - 1; level >= 0; level--) {
      bit = (bit << 5) | lowestBit((this.#levels[level] as Uint32Array)[bit] as number);
    }
    return bit;
  }
}
