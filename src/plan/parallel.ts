import { Heap } from "../core/index.ts";
import type { Problem } from "./problem.ts";
import { ReadyList } from "./ready-list.ts";

/** Activities that end before the caller is let in: some milliseconds. */
const SLICE = 2_000;

/**
 * Parallel schedule generation, which is what the live scheduler does: whenever something ends, it goes through what
 * is ready in order and starts what fits; what does not fit is passed over.
 */
export class ParallelScheduler {
  readonly starts: Float64Array;
  makespan = 0;
  readonly #problem: Problem;
  readonly #pending: Uint32Array;
  readonly #free: Float64Array;
  readonly #ready: ReadyList;
  readonly #finishing: Heap<number>;

  constructor(problem: Problem) {
    this.#problem = problem;
    this.starts = new Float64Array(problem.size);
    this.#pending = new Uint32Array(problem.size);
    this.#free = new Float64Array(problem.capacities.length);
    this.#ready = new ReadyList(problem);
    const finish = (n: number) => (this.starts[n] as number) + (problem.durations[n] as number);
    this.#finishing = new Heap((a, b) => finish(a) < finish(b) || (finish(a) === finish(b) && a < b));
  }

  /** In the order, activities that go first come first; it need not respect what needs what. */
  schedule(order: ArrayLike<number>): void {
    for (const _ of this.steps(order));
  }

  /** The same; yields where a large problem takes long. */
  *steps(order: ArrayLike<number>): Generator<void, void> {
    const { size, running, durations, needs } = this.#problem;
    this.#ready.begin(order);
    this.#free.set(this.#problem.capacities);
    this.makespan = 0;
    for (let n = 0; n < size; n++)
      this.#pending[n] = (needs.start[n + 1] as number) - (needs.start[n] as number);
    for (let n = 0; n < running; n++) this.#start(n, 0);
    for (let n = running; n < size; n++) if (this.#pending[n] === 0) this.#ready.add(n);
    this.#startWhatFits(0);
    let ended = 0;
    for (let n = this.#finishing.pop(); n !== undefined; n = this.#finishing.pop()) {
      if (++ended % SLICE === 0) yield;
      const now = (this.starts[n] as number) + (durations[n] as number);
      this.#finish(n);
      const other = this.#finishing.peek();
      if (other !== undefined && (this.starts[other] as number) + (durations[other] as number) === now)
        continue;
      this.makespan = now;
      this.#startWhatFits(now);
    }
  }

  #startWhatFits(now: number): void {
    this.#ready.takeWhatFits(this.#free, (activity) => this.#start(activity, now));
  }

  #start(activity: number, now: number): void {
    const { capacities, demands } = this.#problem;
    const resources = capacities.length;
    for (let r = 0; r < resources; r++) {
      (this.#free[r] as number) -= demands[activity * resources + r] as number;
    }
    this.starts[activity] = now;
    this.#finishing.push(activity);
  }

  #finish(activity: number): void {
    const { capacities, demands, neededBy } = this.#problem;
    const resources = capacities.length;
    for (let r = 0; r < resources; r++) {
      (this.#free[r] as number) += demands[activity * resources + r] as number;
    }
    const end = neededBy.start[activity + 1] as number;
    for (let edge = neededBy.start[activity] as number; edge < end; edge++) {
      const dependent = neededBy.targets[edge] as number;
      if (--(this.#pending[dependent] as number) === 0) this.#ready.add(dependent);
    }
  }
}
