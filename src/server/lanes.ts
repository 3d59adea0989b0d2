/** Whoever takes a slot. */
interface Occupant {
  /** -1: it waits for one. */
  lane: number;
  /** -1: not that anybody knows. */
  readonly startedAt: number;
}

/**
 * Which of a worker's slots its attempts run in. Workers do not say, and say late that something began: so whatever comes
 * takes the lowest slot that is free, or waits for one, and whoever turns out to have begun before another changes places with it.
 */
export class Lanes {
  readonly #first: number;
  readonly #taken: (Occupant | undefined)[] = [];
  readonly #waiting: Occupant[] = [];

  /** The number of the lowest. */
  constructor(first: number) {
    this.#first = first;
  }

  enter(attempt: Occupant, slots: number): void {
    for (let lane = this.#first; lane < this.#first + slots; lane++) {
      if (this.#taken[lane] !== undefined) continue;
      this.#take(attempt, lane);
      return;
    }
    this.#waiting.push(attempt);
  }

  /** It is known to run: if it has no slot, it has that of the last who may not have begun. */
  begin(attempt: Occupant): void {
    if (attempt.lane >= 0) return;
    const other = this.#taken.findLast((one) => one !== undefined && one.startedAt < 0);
    if (!other) return;
    this.#waiting.splice(this.#waiting.indexOf(attempt), 1);
    this.#take(attempt, other.lane);
    other.lane = -1;
    this.#waiting.unshift(other);
  }

  leave(attempt: Occupant): void {
    const { lane } = attempt;
    if (lane < 0) {
      this.#waiting.splice(this.#waiting.indexOf(attempt), 1);
      return;
    }
    this.#taken[lane] = undefined;
    const next = this.#waiting.shift();
    if (next) this.#take(next, lane);
  }

  #take(attempt: Occupant, lane: number): void {
    attempt.lane = lane;
    this.#taken[lane] = attempt;
  }
}
