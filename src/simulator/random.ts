import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";
import { hash32 } from "../core/index.ts";

/**
 * Random choices that a seed repeats. Each use has a stream of its own, so that one draw more in one place
 * does not change everything in the others.
 */
export class Random {
  readonly #seed: number;
  readonly #generator: { next(): number };

  constructor(seed: number, stream: string) {
    this.#seed = seed;
    this.#generator = xoroshiro128plus(hash32(stream, seed | 0) ^ Math.floor(seed / 2 ** 32));
  }

  stream(name: string): Random {
    return new Random(this.#seed, name);
  }

  /** From least to most, both included. */
  int(least: number, most: number): number {
    return least + ((this.#generator.next() >>> 0) % (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.#generator.next() >>> 0 < probability * 2 ** 32;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.int(0, items.length - 1)] as Item;
  }

  /** Every item with the probability, in their order. */
  some<Item>(items: readonly Item[], probability: number): Item[] {
    return items.filter(() => this.chance(probability));
  }

  shuffled<Item>(items: readonly Item[]): Item[] {
    const mixed = [...items];
    for (let last = mixed.length - 1; last > 0; last--) {
      const other = this.int(0, last);
      [mixed[last], mixed[other]] = [mixed[other] as Item, mixed[last] as Item];
    }
    return mixed;
  }
}
