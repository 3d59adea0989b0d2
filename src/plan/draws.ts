import { mix32 } from "../core/index.ts";

/** Numbers that look drawn and that a seed repeats, on every machine. */
export class Draws {
  #state: number;

  constructor(seed: number) {
    this.#state = mix32(seed) ^ mix32(Math.floor(seed / 2 ** 32));
  }

  /** From 0 to just below 1. */
  share(): number {
    this.#state = (this.#state + 0x9e37_79b9) | 0;
    return mix32(this.#state) / 2 ** 32;
  }

  /** From 0 to count - 1. */
  below(count: number): number {
    return Math.floor(this.share() * count);
  }
}
