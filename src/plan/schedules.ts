import { KeyOrder } from "./key-order.ts";
import type { Problem } from "./problem.ts";
import { directionsOf, SerialScheduler } from "./serial.ts";

export interface Schedule {
  readonly starts: Float64Array;
  makespan: number;
}

/** Segments to look at before the caller is let in: some milliseconds. */
const EFFORT = 200_000;

/**
 * Makes schedules of a problem from keys, from the front and from the back. An activity with a smaller key is placed
 * before one with a larger key (from the back: after it), unless it needs it. Keys need not respect what needs what:
 * they are raised (lowered) until they do.
 *
 * Made from the starts of a schedule, one from the front is never longer; made from its finishes, neither is one from
 * the back (justification: Valls, Ballestín & Quintanilla 2005).
 */
export class Schedules {
  readonly #problem: Problem;
  readonly #forward: SerialScheduler;
  readonly #backward: SerialScheduler;
  readonly #keys: Float64Array;
  readonly #order: KeyOrder;
  readonly #backOrder: KeyOrder;
  readonly #reversed: Uint32Array;

  constructor(problem: Problem) {
    const { forward, backward } = directionsOf(problem);
    this.#problem = problem;
    this.#forward = new SerialScheduler(forward);
    this.#backward = new SerialScheduler(backward);
    this.#keys = new Float64Array(problem.size);
    this.#order = new KeyOrder(problem.size);
    this.#backOrder = new KeyOrder(problem.size);
    this.#reversed = new Uint32Array(problem.size);
  }

  /** Yields where a large problem takes long. */
  *fromFront(keys: Float64Array, into: Schedule): Generator<void, void> {
    const { size, running, needs } = this.#problem;
    const raised = this.#keys;
    for (let n = 0; n < size; n++) {
      // What runs already goes before everything.
      let key = n < running ? Number.NEGATIVE_INFINITY : (keys[n] as number);
      const end = needs.start[n + 1] as number;
      for (let edge = needs.start[n] as number; edge < end; edge++) {
        const least = raised[needs.targets[edge] as number] as number;
        if (least > key) key = least;
      }
      raised[n] = key;
    }
    const order = this.#order.sort(raised);
    const scheduler = this.#forward;
    scheduler.clear();
    for (let n = 0; n < running; n++) scheduler.pin(n, 0);
    yield* placed(scheduler, order, running);
    into.starts.set(scheduler.starts);
    into.makespan = scheduler.makespan;
  }

  /**
   * What runs already stays at the beginning of the horizon. A schedule that does not fit behind it is only good for
   * the order that it gives.
   */
  *fromBack(keys: Float64Array, horizon: number, into: Schedule): Generator<void, void> {
    const { size, running, durations, neededBy } = this.#problem;
    const lowered = this.#keys;
    for (let n = size - 1; n >= 0; n--) {
      let key = n < running ? Number.POSITIVE_INFINITY : (keys[n] as number);
      const end = neededBy.start[n + 1] as number;
      for (let edge = neededBy.start[n] as number; edge < end && n >= running; edge++) {
        const most = lowered[neededBy.targets[edge] as number] as number;
        if (most < key) key = most;
      }
      lowered[n] = key;
    }
    const order = this.#backOrder.sort(lowered);
    this.#reversed.set(order);
    this.#reversed.reverse();
    const scheduler = this.#backward;
    scheduler.clear();
    for (let n = 0; n < running; n++) scheduler.pin(n, horizon - (durations[n] as number));
    yield* placed(scheduler, this.#reversed, running);
    into.makespan = scheduler.makespan;
    for (let n = 0; n < size; n++) {
      into.starts[n] = into.makespan - (scheduler.starts[n] as number) - (durations[n] as number);
    }
  }
}

function* placed(scheduler: SerialScheduler, order: Uint32Array, from: number): Generator<void, void> {
  let at = scheduler.place(order, from, EFFORT);
  while (at < order.length) {
    yield;
    at = scheduler.place(order, at, EFFORT);
  }
}
