import type { Draws } from "./draws.ts";
import type { Problem } from "./problem.ts";
import type { Schedule } from "./schedules.ts";

/** How much of a schedule a child takes over as it is, at least and at most. */
const LEAST_SHARE = 0.1;
const MOST_SHARE = 0.5;
/** Of so many stretches the one that uses most is taken. */
const STRETCHES = 2;
/** How many keys are changed at most, and by how much of the makespan. */
const CHANGES = 2;
const CHANGE = 0.5;

/**
 * Makes keys for a schedule out of two. A stretch of time in which one of them uses much of what there is is taken over
 * from it, and what comes before and after is in the order of the other (peak crossover: Valls, Ballestín & Quintanilla
 * 2008; Debels & Vanhoucke 2007).
 */
export class Crossover {
  readonly keys: Float64Array;
  readonly #problem: Problem;
  readonly #draws: Draws;
  /** What each activity uses, as shares of what there is. */
  readonly #weights: Float64Array;

  constructor(problem: Problem, draws: Draws) {
    const { size, capacities, demands } = problem;
    this.#problem = problem;
    this.#draws = draws;
    this.keys = new Float64Array(size);
    this.#weights = new Float64Array(size);
    for (let n = 0; n < size; n++) {
      for (let r = 0; r < capacities.length; r++) {
        (this.#weights[n] as number) +=
          (demands[n * capacities.length + r] as number) / Math.max(1, capacities[r] as number);
      }
    }
  }

  /** The keys are of starts or of finishes, and overwritten by the next call. */
  cross(giver: Schedule, other: Schedule, of: "starts" | "finishes"): Float64Array {
    const { size, durations } = this.#problem;
    const length = (LEAST_SHARE + (MOST_SHARE - LEAST_SHARE) * this.#draws.share()) * giver.makespan;
    const from = this.#peak(giver, length);
    const span = Math.max(giver.makespan, other.makespan) + 1;
    for (let n = 0; n < size; n++) {
      const add = of === "starts" ? 0 : (durations[n] as number);
      const given = (giver.starts[n] as number) + add;
      if (given >= from && given <= from + length) this.keys[n] = given + span;
      else {
        const key = (other.starts[n] as number) + add;
        this.keys[n] = key < from ? key : key + 2 * span;
      }
    }
    for (let left = this.#draws.below(CHANGES + 1); left > 0; left--) {
      (this.keys[this.#draws.below(size)] as number) += (2 * this.#draws.share() - 1) * CHANGE * span;
    }
    return this.keys;
  }

  /** Where a stretch of this length begins. */
  #peak(schedule: Schedule, length: number): number {
    let best = 0;
    let most = -1;
    for (let tried = 0; tried < STRETCHES; tried++) {
      const from = this.#draws.share() * (schedule.makespan - length);
      const used = this.#usedIn(schedule, from, from + length);
      if (used <= most) continue;
      most = used;
      best = from;
    }
    return best;
  }

  #usedIn({ starts }: Schedule, from: number, to: number): number {
    const { size, durations } = this.#problem;
    let used = 0;
    for (let n = 0; n < size; n++) {
      const start = starts[n] as number;
      const finish = start + (durations[n] as number);
      const inside = Math.min(finish, to) - Math.max(start, from);
      if (inside > 0) used += inside * (this.#weights[n] as number);
    }
    return used;
  }
}
