import type { Waiting } from "./request.ts";

/** What is attached to the stimuli of one turn, unless one of them alone brings more. */
const MAX_TURN_BYTES = 32 * 1024 * 1024;
/**
 * What so many bring is what a socket takes at once (some 200 KB). The rest of a larger block is sent when this thread comes
 * to look again, and PostgreSQL waits for it meanwhile.
 */
const MAX_TURN_STIMULI = 500;

/** Stimuli that no turn has taken yet, in the order of their arrival, and which of them make the next turn. */
export class Arrivals {
  readonly #decideAheadFrom: number;
  readonly #weigh: (attached: unknown) => number;
  #waiting: Waiting[] = [];
  /** How many stimuli the last turn took. */
  #lastTook = 0;
  #onEnough: () => void = () => {};

  /** So many are worth a turn of their own while a block is being committed; and about how many bytes are kept of each. */
  constructor(decideAheadFrom: number, weigh: (attached: unknown) => number) {
    this.#decideAheadFrom = decideAheadFrom;
    this.#weigh = weigh;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(arrived: readonly Waiting[]): void {
    for (const waiting of arrived) this.#waiting.push(waiting);
    if (this.hasEnough) this.#onEnough();
  }

  /** Blocks of a size take the least work, so nothing is sent after a large one before there is half as much. */
  get hasEnough(): boolean {
    return this.#waiting.length >= Math.max(this.#decideAheadFrom, this.#lastTook / 2);
  }

  enough(): Promise<void> {
    return new Promise((resolve) => {
      this.#onEnough = resolve;
    });
  }

  /**
   * What has arrived, but no more than a block should hold: the rest is for the turn after. While the store has nothing
   * to do it is half of many, so that the other half can be decided while the store works on these. At most `limit` inputs.
   */
  take(isStoreIdle: boolean, limit: number): Waiting[] {
    if (limit === 0) return [];
    const isHalved = isStoreIdle && this.#waiting.length >= 2 * this.#decideAheadFrom;
    const most = Math.min(Math.ceil(this.#waiting.length / (isHalved ? 2 : 1)), MAX_TURN_STIMULI, limit);
    let bytes = 0;
    let count = 0;
    for (const { attached } of this.#waiting) {
      bytes += attached === undefined ? 0 : this.#weigh(attached);
      if (count > 0 && (bytes > MAX_TURN_BYTES || count >= most)) break;
      count++;
    }
    this.#lastTook = count;
    return this.#waiting.splice(0, count);
  }

  /** Puts back inputs of turns that were not committed, before all others. */
  putBack(undone: readonly Waiting[]): void {
    this.#waiting = [...undone, ...this.#waiting];
  }

  takeAll(): Waiting[] {
    return this.#waiting.splice(0);
  }
}
