import type { Levels } from "./levels.ts";
import type { Problem } from "./problem.ts";

/**
 * Shows that no schedule has a given length, where it can (destructive improvement: Klein & Scholl 1999). Two activities
 * that together need more than there is go one after the other. If there is no time for one of the orders, it is the
 * other, which makes one start later and leaves more behind the other; and so on, until there is no time for something.
 */
export class Refutation {
  readonly #problem: Problem;
  readonly #levels: Levels;
  /** Pairs that cannot run together and that nothing else puts in order. */
  readonly #pairs: Uint32Array;
  /** Sets of activities of which no two can run together. */
  readonly #sequences: readonly (readonly number[])[];
  readonly #heads: Float64Array;
  readonly #tails: Float64Array;

  constructor(problem: Problem, levels: Levels) {
    this.#problem = problem;
    this.#levels = levels;
    const follows = successors(problem);
    const excludes = conflicts(problem);
    this.#pairs = Uint32Array.from(freePairs(problem.size, follows, excludes));
    this.#sequences = sequencesOf(problem, follows, excludes);
    this.#heads = new Float64Array(problem.size);
    this.#tails = new Float64Array(problem.size);
  }

  /** Sound in one direction only: what is refuted has no schedule. */
  refutes(length: number): boolean {
    const { running, durations } = this.#problem;
    const heads = this.#heads;
    const tails = this.#tails;
    heads.set(this.#levels.heads);
    tails.set(this.#levels.tails);
    // What runs already can be no later.
    for (let n = 0; n < running; n++)
      tails[n] = Math.max(tails[n] as number, length - (durations[n] as number));
    for (let changed = true; changed; ) {
      this.#spread();
      if (this.#lacksTime(length)) return true;
      const ordered = this.#orderPairs(length);
      if (ordered === undefined) return true;
      changed = ordered;
    }
    return (
      this.#sequences.some((members) => this.#takes(members, (n) => durations[n] as number, 1) > length) ||
      this.#worksTooLong(length)
    );
  }

  /** Carries what is known of heads and tails along what needs what. */
  #spread(): void {
    const { size, running, durations, needs, neededBy } = this.#problem;
    for (let n = running; n < size; n++) {
      for (let edge = needs.start[n] as number; edge < (needs.start[n + 1] as number); edge++) {
        const need = needs.targets[edge] as number;
        this.#heads[n] = Math.max(
          this.#heads[n] as number,
          (this.#heads[need] as number) + (durations[need] as number),
        );
      }
    }
    for (let n = size - 1; n >= 0; n--) {
      for (let edge = neededBy.start[n] as number; edge < (neededBy.start[n + 1] as number); edge++) {
        const next = neededBy.targets[edge] as number;
        this.#tails[n] = Math.max(
          this.#tails[n] as number,
          (this.#tails[next] as number) + (durations[next] as number),
        );
      }
    }
  }

  #lacksTime(length: number): boolean {
    const { size, durations } = this.#problem;
    for (let n = 0; n < size; n++) {
      if ((this.#heads[n] as number) + (durations[n] as number) + (this.#tails[n] as number) > length)
        return true;
    }
    return false;
  }

  /** Whether a pair was put in order that made a difference; undefined if some pair has no time for either order. */
  #orderPairs(length: number): boolean | undefined {
    let changed = false;
    for (let at = 0; at < this.#pairs.length; at += 2) {
      const a = this.#pairs[at] as number;
      const b = this.#pairs[at + 1] as number;
      const aFirst = this.#fits(a, b, length);
      const bFirst = this.#fits(b, a, length);
      if (!aFirst && !bFirst) return undefined;
      if (aFirst && bFirst) continue;
      if (aFirst ? this.#order(a, b) : this.#order(b, a)) changed = true;
    }
    return changed;
  }

  #fits(first: number, second: number, length: number): boolean {
    const { durations } = this.#problem;
    const both = (durations[first] as number) + (durations[second] as number);
    return (this.#heads[first] as number) + both + (this.#tails[second] as number) <= length;
  }

  #order(first: number, second: number): boolean {
    const { durations } = this.#problem;
    const head = (this.#heads[first] as number) + (durations[first] as number);
    const tail = (this.#tails[second] as number) + (durations[second] as number);
    const changed = head > (this.#heads[second] as number) || tail > (this.#tails[first] as number);
    this.#heads[second] = Math.max(head, this.#heads[second] as number);
    this.#tails[first] = Math.max(tail, this.#tails[first] as number);
    return changed;
  }

  #worksTooLong(length: number): boolean {
    const { size, running, capacities, demands, durations } = this.#problem;
    const resources = capacities.length;
    for (let r = 0; r < resources; r++) {
      const work = (n: number) => (durations[n] as number) * (demands[n * resources + r] as number);
      // What runs already may take more than there is.
      const users = Array.from({ length: size - running }, (_, at) => running + at).filter(
        (n) => work(n) > 0,
      );
      if (this.#takes(users, work, capacities[r] as number) > length) return true;
    }
    return false;
  }

  /** How long work takes at least that can only start after a head, and behind which a tail remains. */
  #takes(members: readonly number[], work: (n: number) => number, capacity: number): number {
    const byTail = members.toSorted((a, b) => (this.#tails[b] as number) - (this.#tails[a] as number));
    let most = 0;
    for (const first of members) {
      const head = this.#heads[first] as number;
      let sum = 0;
      for (const n of byTail) {
        if ((this.#heads[n] as number) < head) continue;
        sum += work(n);
        most = Math.max(most, head + Math.ceil(sum / capacity) + (this.#tails[n] as number));
      }
    }
    return most;
  }
}

/** A matrix: 1 where the column comes after the row, over however many others. */
function successors({ size, neededBy }: Problem): Uint8Array {
  const follows = new Uint8Array(size * size);
  for (let n = size - 1; n >= 0; n--) {
    for (const next of neededBy.targets.subarray(neededBy.start[n], neededBy.start[n + 1])) {
      follows[n * size + next] = 1;
      for (let other = next + 1; other < size; other++) {
        if (follows[next * size + other] === 1) follows[n * size + other] = 1;
      }
    }
  }
  return follows;
}

/** A matrix: 1 where both together need more than there is. What runs already runs together all the same. */
function conflicts({ size, running, durations, demands, capacities }: Problem): Uint8Array {
  const excludes = new Uint8Array(size * size);
  const resources = capacities.length;
  for (let a = 0; a < size; a++) {
    for (let b = Math.max(a + 1, running); b < size; b++) {
      if (durations[a] === 0 || durations[b] === 0) continue;
      for (let r = 0; r < resources; r++) {
        const both = (demands[a * resources + r] as number) + (demands[b * resources + r] as number);
        const isUsed = (demands[b * resources + r] as number) > 0;
        if (isUsed && both > (capacities[r] as number)) excludes[a * size + b] = excludes[b * size + a] = 1;
      }
    }
  }
  return excludes;
}

function* freePairs(size: number, follows: Uint8Array, excludes: Uint8Array): Generator<number> {
  for (let a = 0; a < size; a++) {
    for (let b = a + 1; b < size; b++) {
      if (excludes[a * size + b] === 1 && follows[a * size + b] === 0) yield* [a, b];
    }
  }
}

/** For each activity one that begins with it and takes in the longest that can be with all before it. */
function sequencesOf({ size, durations }: Problem, follows: Uint8Array, excludes: Uint8Array): number[][] {
  const apart = (a: number, b: number) =>
    excludes[a * size + b] === 1 || follows[a * size + b] === 1 || follows[b * size + a] === 1;
  const longest = Array.from({ length: size }, (_, n) => n)
    .filter((n) => (durations[n] as number) > 0)
    .sort((a, b) => (durations[b] as number) - (durations[a] as number));
  const found = new Map<string, number[]>();
  for (const first of longest) {
    const members = [first];
    for (const n of longest) {
      if (n !== first && members.every((member) => apart(member, n))) members.push(n);
    }
    members.sort((a, b) => a - b);
    found.set(members.join(" "), members);
  }
  return [...found.values()];
}
