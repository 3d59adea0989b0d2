import { mix32 } from "../../core/index.ts";
import type { Victims } from "../simulation.ts";
import type { SharedDeque } from "./shared-deque.ts";

const MOST_ATTEMPTS = 4;

/** Where a processor that has nothing to do looks for something. */
export class VictimChoice {
  readonly attempts: number;
  readonly #me: number;
  readonly #deques: readonly SharedDeque[];
  readonly #victims: Victims;
  #random: number;

  constructor(me: number, deques: readonly SharedDeque[], victims: Victims, seed: number) {
    this.#me = me;
    this.#deques = deques;
    this.#victims = victims;
    this.#random = mix32(seed ^ mix32(me + 1)) || 1;
    this.attempts = Math.min(deques.length - 1, MOST_ATTEMPTS);
  }

  choose(attempt: number): number {
    const { length } = this.#deques;
    if (this.#victims === "round-robin") return (this.#me + 1 + attempt) % length;
    if (this.#victims === "least-loaded") return this.#longest();
    const victim = this.#next() % (length - 1);
    return victim >= this.#me ? victim + 1 : victim;
  }

  /** Who has most to steal; the specification calls it least loaded. */
  #longest(): number {
    let longest = this.#me === 0 ? 1 : 0;
    let most = -1;
    for (let victim = 0; victim < this.#deques.length; victim++) {
      const size = victim === this.#me ? -1 : (this.#deques[victim] as SharedDeque).size;
      if (size <= most) continue;
      longest = victim;
      most = size;
    }
    return longest;
  }

  #next(): number {
    let x = this.#random;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#random = x;
    return x >>> 0;
  }
}
