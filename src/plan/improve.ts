import { Crossover } from "./crossover.ts";
import { Draws } from "./draws.ts";
import { KeyOrder } from "./key-order.ts";
import { type Levels, levelsOf } from "./levels.ts";
import { ParallelScheduler } from "./parallel.ts";
import type { Problem } from "./problem.ts";
import { type Schedule, Schedules } from "./schedules.ts";

/** Schedules that are kept to make others of: fewer of large ones, which would take too long to make. */
const POPULATION = { least: 4, most: 30, activities: 30_000 };
/** After so many rounds without a shorter one, all but the best begin anew. */
const STALE_ROUNDS = 30;
/** How far priorities of the first schedules may be from the rule, as a share of the longest chain. */
const SPREAD = 0.3;

/**
 * Looks for short schedules: a genetic algorithm over schedules that are pushed to the end and back (double
 * justification). A child takes the place of one of its parents if it is not longer and nobody is the same. What it
 * finds depends on nothing but the seed and on how many schedules it may make.
 */
export class Search {
  readonly best: Schedule;
  schedules = 0;
  readonly #problem: Problem;
  readonly #levels: Levels;
  readonly #draws: Draws;
  readonly #made: Schedules;
  readonly #parallel: ParallelScheduler;
  readonly #order: KeyOrder;
  readonly #crossover: Crossover;
  readonly #population: Schedule[];
  /** The last child, and the schedule that it was made of. */
  #child: Schedule;
  readonly #half: Schedule;

  /** Starts from a schedule that is known, if there is one: what it finds is then never longer. */
  constructor(problem: Problem, seed: number, known?: Schedule) {
    const { least, most, activities } = POPULATION;
    const count = Math.max(least, Math.min(most, Math.floor(activities / Math.max(1, problem.size))));
    this.#problem = problem;
    this.#levels = levelsOf(problem);
    this.#draws = new Draws(seed);
    this.#made = new Schedules(problem);
    this.#parallel = new ParallelScheduler(problem);
    this.#order = new KeyOrder(problem.size);
    this.#crossover = new Crossover(problem, this.#draws);
    this.#population = Array.from({ length: count }, () => emptySchedule(problem));
    this.#child = emptySchedule(problem);
    this.#half = emptySchedule(problem);
    this.best = emptySchedule(problem);
    this.best.makespan = Number.POSITIVE_INFINITY;
    if (known !== undefined) this.#note(known);
  }

  /**
   * Searches until so many schedules were made or one is as short as can be. Yields every few milliseconds at most, so
   * that the caller can look at the best so far, and stop.
   */
  *steps(most: number, bound: number): Generator<void, void> {
    // A child takes two, or three.
    const isOver = () => this.schedules + 3 > most || this.best.makespan <= bound;
    for (let round = 0; round === 0 || !isOver(); round++) {
      yield* this.#begin(round === 0, isOver);
      let shortest = this.best.makespan;
      for (let stale = 0; stale < STALE_ROUNDS && !isOver(); stale++) {
        for (let at = 0; at < this.#population.length && !isOver(); at++) yield* this.#breed(at);
        const now = this.#population.reduce((least, { makespan }) => Math.min(least, makespan), Infinity);
        if (now < shortest) stale = -1;
        shortest = now;
      }
    }
  }

  /** Makes the first schedules by the rule and near it, every other one in the way of the live scheduler. */
  *#begin(isFirst: boolean, isOver: () => boolean): Generator<void, void> {
    const { size, durations } = this.#problem;
    const keys = this.#crossover.keys;
    for (const [at, schedule] of this.#population.entries()) {
      if (isOver() && this.schedules > 0) return;
      const own = isFirst && at < 2 ? 0.5 : this.#draws.share();
      const spread = isFirst && at < 2 ? 0 : SPREAD * this.#draws.share() * this.#levels.longest;
      for (let n = 0; n < size; n++) {
        const tail = this.#levels.tails[n] as number;
        keys[n] = -tail - own * (durations[n] as number) - spread * this.#draws.share();
      }
      if (at % 2 === 0) {
        yield* this.#parallel.steps(this.#order.sort(keys));
        copy(this.#parallel, schedule);
      } else yield* this.#made.fromFront(keys, schedule);
      this.#note(schedule);
      yield;
    }
    copy(this.best, this.#population[0] as Schedule);
  }

  /** Half of the children are made from the front and pushed to the end, half from the back and pushed to the front. */
  *#breed(at: number): Generator<void, void> {
    const parent = this.#population[at] as Schedule;
    const other = this.#population[this.#draws.below(this.#population.length)] as Schedule;
    const [giver, taker] = this.#draws.share() < 0.5 ? [parent, other] : [other, parent];
    if (this.#draws.share() < 0.5) {
      yield* this.#made.fromBack(
        this.#crossover.cross(giver, taker, "finishes"),
        parent.makespan,
        this.#half,
      );
      this.schedules++;
      yield* this.#made.fromFront(this.#half.starts, this.#child);
    } else {
      yield* this.#made.fromFront(this.#crossover.cross(giver, taker, "starts"), this.#half);
      this.#note(this.#half);
      yield* this.#pushed(this.#half, this.#child);
    }
    this.#note(this.#child);
    if (
      this.#child.makespan <= parent.makespan &&
      !this.#population.some((one) => isSame(one, this.#child))
    ) {
      this.#population[at] = this.#child;
      this.#child = parent;
    }
    yield;
  }

  /** Pushes a schedule to its end; if that made it the shortest of all, back again: it should not start late. */
  *#pushed(schedule: Schedule, into: Schedule): Generator<void, void> {
    const { size, durations } = this.#problem;
    const { keys } = this.#crossover;
    for (let n = 0; n < size; n++) keys[n] = (schedule.starts[n] as number) + (durations[n] as number);
    yield* this.#made.fromBack(keys, schedule.makespan, into);
    if (into.makespan >= this.best.makespan) return;
    this.schedules++;
    yield* this.#made.fromFront(into.starts, into);
  }

  #note(schedule: Schedule): void {
    this.schedules++;
    if (schedule.makespan < this.best.makespan) copy(schedule, this.best);
  }
}

function emptySchedule({ size }: Problem): Schedule {
  return { starts: new Float64Array(size), makespan: 0 };
}

function copy(from: Schedule, to: Schedule): void {
  to.starts.set(from.starts);
  to.makespan = from.makespan;
}

function isSame(a: Schedule, b: Schedule): boolean {
  if (a.makespan !== b.makespan) return false;
  for (let n = 0; n < a.starts.length; n++) if (a.starts[n] !== b.starts[n]) return false;
  return true;
}
