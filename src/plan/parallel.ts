import { Heap } from "../core/index.ts";
import type { Problem } from "./problem.ts";

/** Activities that end before the caller is let in: some milliseconds. */
const SLICE = 2_000;

/**
 * Parallel schedule generation, which is what the live scheduler does: whenever something ends, it goes through what
 * is ready in order and starts what fits; what does not fit is passed over.
 *
 * The ready ones stand by rank in a tree whose inner nodes hold the least demand below them, so that the next one
 * that fits is found without looking at those that do not.
 */
export class ParallelScheduler {
  readonly starts: Float64Array;
  makespan = 0;
  readonly #problem: Problem;
  readonly #pending: Uint32Array;
  readonly #free: Float64Array;
  /** Resources; one that nobody uses where nothing is limited. */
  readonly #width: number;
  readonly #leaves: number;
  readonly #tree: Float64Array;
  readonly #finishing: Heap<number>;
  readonly #rank: Uint32Array;
  #order: ArrayLike<number> = [];

  constructor(problem: Problem) {
    this.#problem = problem;
    this.starts = new Float64Array(problem.size);
    this.#pending = new Uint32Array(problem.size);
    this.#rank = new Uint32Array(problem.size);
    this.#width = Math.max(1, problem.capacities.length);
    this.#free = new Float64Array(this.#width);
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(1, problem.size)));
    this.#tree = new Float64Array(2 * this.#leaves * this.#width);
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
    this.#order = order;
    for (let at = 0; at < size; at++) this.#rank[order[at] as number] = at;
    this.#tree.fill(Number.POSITIVE_INFINITY);
    this.#free.set(this.#problem.capacities);
    this.makespan = 0;
    for (let n = 0; n < size; n++)
      this.#pending[n] = (needs.start[n + 1] as number) - (needs.start[n] as number);
    for (let n = 0; n < running; n++) this.#start(n, 0);
    for (let n = running; n < size; n++) if (this.#pending[n] === 0) this.#offer(n);
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
    for (let at = this.#nextFit(0); at >= 0; at = this.#nextFit(at + 1)) {
      this.#write(at, false);
      this.#start(this.#order[at] as number, now);
    }
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
      if (--(this.#pending[dependent] as number) === 0) this.#offer(dependent);
    }
  }

  #offer(activity: number): void {
    this.#write(this.#rank[activity] as number, true);
  }

  /** Puts the activity of a rank among the ready ones, or takes it out. */
  #write(at: number, ready: boolean): void {
    const width = this.#width;
    const tree = this.#tree;
    let node = this.#leaves + at;
    for (let r = 0; r < width; r++) {
      tree[node * width + r] = ready ? this.#demand(this.#order[at] as number, r) : Number.POSITIVE_INFINITY;
    }
    for (node >>>= 1; node >= 1; node >>>= 1) {
      for (let r = 0; r < width; r++) {
        const left = tree[2 * node * width + r] as number;
        const right = tree[(2 * node + 1) * width + r] as number;
        tree[node * width + r] = Math.min(left, right);
      }
    }
  }

  #demand(activity: number, resource: number): number {
    const { capacities, demands } = this.#problem;
    return capacities.length === 0 ? 0 : (demands[activity * capacities.length + resource] as number);
  }

  /** The first rank from `from` on whose activity is ready and fits into what is free; -1: none. */
  #nextFit(from: number): number {
    const leaves = this.#leaves;
    if (from >= leaves) return -1;
    let node = leaves + from;
    for (;;) {
      if (this.#mayFit(node)) {
        if (node >= leaves) return node - leaves;
        node *= 2;
        continue;
      }
      while (node % 2 === 1) node >>>= 1;
      if (node === 0) return -1;
      node++;
    }
  }

  #mayFit(node: number): boolean {
    const width = this.#width;
    for (let r = 0; r < width; r++) {
      if ((this.#tree[node * width + r] as number) > (this.#free[r] as number)) return false;
    }
    return true;
  }
}
