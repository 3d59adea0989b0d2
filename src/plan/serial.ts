import type { Neighbours, Problem } from "./problem.ts";

/**
 * One direction of time of a problem. A schedule of the reversed problem, mirrored, is a schedule of the problem, so
 * what schedules from the front also schedules from the back.
 */
export interface Direction {
  readonly size: number;
  readonly durations: Float64Array;
  readonly before: Neighbours;
  readonly capacities: Float64Array;
  /** What each activity uses: resources and amounts from `usesStart[n]` to `usesStart[n + 1] - 1`. */
  readonly usesStart: Uint32Array;
  readonly usesResource: Uint32Array;
  readonly usesAmount: Float64Array;
  /** The least that any activity that takes time and does not run yet uses of each resource. */
  readonly least: Float64Array;
}

export function directionsOf(problem: Problem): {
  readonly forward: Direction;
  readonly backward: Direction;
} {
  const { size, running, durations, capacities, demands } = problem;
  const resources = capacities.length;
  const usesStart = new Uint32Array(size + 1);
  for (let n = 0; n < size; n++) {
    let used = 0;
    for (let r = 0; r < resources; r++) if ((demands[n * resources + r] as number) > 0) used++;
    usesStart[n + 1] = (usesStart[n] as number) + used;
  }
  const usesResource = new Uint32Array(usesStart[size] as number);
  const usesAmount = new Float64Array(usesStart[size] as number);
  const least = new Float64Array(resources).fill(Number.POSITIVE_INFINITY);
  for (let n = 0, at = 0; n < size; n++) {
    for (let r = 0; r < resources; r++) {
      const amount = demands[n * resources + r] as number;
      if (n >= running && (durations[n] as number) > 0) least[r] = Math.min(least[r] as number, amount);
      if (amount === 0) continue;
      usesResource[at] = r;
      usesAmount[at++] = amount;
    }
  }
  const shared = { size, durations, capacities, usesStart, usesResource, usesAmount, least };
  return {
    forward: { ...shared, before: problem.needs },
    backward: { ...shared, before: problem.neededBy },
  };
}

/**
 * Serial schedule generation: activities one after the other, in an order in which none comes before what it needs,
 * each as early as what was placed before it allows.
 *
 * What is free is kept as segments of time in a linked list. An activity can only start where another one ends or at
 * the very beginning, and those points are in the list already, so that nothing is ever searched: the segment at
 * which the last of its predecessors ends is known. Nothing is allocated per schedule.
 */
export class SerialScheduler {
  readonly starts: Float64Array;
  makespan = 0;
  readonly #direction: Direction;
  /** The segment that begins where the activity ends. */
  readonly #endsAt: Uint32Array;
  /** Segments: when each begins, which one follows, and what is free in it. Segment 0 begins at 0, the last never ends. */
  readonly #time: Float64Array;
  readonly #next: Uint32Array;
  readonly #free: Float64Array;
  #segments = 0;
  #looked = 0;
  /**
   * For each segment itself, or where it is full (nothing that takes time could run in it) a later one such that all
   * between them are full too: what would be looked at in vain is passed over at once.
   */
  readonly #beyond: Uint32Array;

  constructor(direction: Direction) {
    const { size, capacities } = direction;
    // Every activity adds at most one, and two if its start is given.
    const segments = 2 * size + 2;
    this.#direction = direction;
    this.starts = new Float64Array(size);
    this.#endsAt = new Uint32Array(size);
    this.#time = new Float64Array(segments);
    this.#next = new Uint32Array(segments);
    this.#beyond = new Uint32Array(segments);
    this.#free = new Float64Array(segments * Math.max(1, capacities.length));
    this.clear();
  }

  clear(): void {
    this.#time[0] = 0;
    this.#next[0] = END;
    this.#free.set(this.#direction.capacities);
    this.#beyond[0] = 0;
    this.#segments = 1;
    this.makespan = 0;
  }

  /**
   * Places the activities of an order from one on; everything that stands before it is placed already. Stops when it
   * has looked at so many segments, and says where it is to go on.
   */
  place(order: Uint32Array, from: number, effort: number): number {
    const { size, durations, before } = this.#direction;
    const enough = this.#looked + effort;
    let at = from;
    for (; at < size && this.#looked < enough; at++) {
      const activity = order[at] as number;
      const duration = durations[activity] as number;
      const segment = this.#firstFit(activity, this.#readySegment(activity, before), duration);
      this.#occupy(activity, segment, duration);
    }
    return at;
  }

  /** Places an activity where it is known to belong, also where there is not enough for it. */
  pin(activity: number, start: number): void {
    this.#occupy(activity, this.#segmentAt(0, start), this.#direction.durations[activity] as number);
  }

  #readySegment(activity: number, before: Neighbours): number {
    const time = this.#time;
    let segment = 0;
    let ready = 0;
    const end = before.start[activity + 1] as number;
    for (let edge = before.start[activity] as number; edge < end; edge++) {
      const candidate = this.#endsAt[before.targets[edge] as number] as number;
      if ((time[candidate] as number) > ready) {
        segment = candidate;
        ready = time[segment] as number;
      }
    }
    return segment;
  }

  /** From a segment on the first one from which all that the activity uses is free for as long as it takes. */
  #firstFit(activity: number, from: number, duration: number): number {
    const { usesStart, usesResource, usesAmount, capacities } = this.#direction;
    const time = this.#time;
    const next = this.#next;
    const free = this.#free;
    const resources = capacities.length;
    const firstUse = usesStart[activity] as number;
    const endOfUses = usesStart[activity + 1] as number;
    let start = duration > 0 ? this.#beyondFull(from) : from;
    let finish = (time[start] as number) + duration;
    let looked = 1;
    let at = start;
    while (at !== END && (time[at] as number) < finish) {
      const here = at * resources;
      let use = firstUse;
      while (
        use < endOfUses &&
        (free[here + (usesResource[use] as number)] as number) >= (usesAmount[use] as number)
      )
        use++;
      at = next[at] as number;
      looked++;
      if (use === endOfUses) continue;
      start = this.#beyondFull(at);
      finish = (time[start] as number) + duration;
      at = start;
    }
    this.#looked += looked;
    return start;
  }

  #beyondFull(segment: number): number {
    const beyond = this.#beyond;
    let at = segment;
    for (let next = beyond[at] as number; next !== at; next = beyond[at] as number) {
      // Halves the way for whoever comes next.
      beyond[at] = beyond[next] as number;
      at = next;
    }
    return at;
  }

  #occupy(activity: number, segment: number, duration: number): void {
    const { usesStart, usesResource, usesAmount, capacities } = this.#direction;
    const resources = capacities.length;
    const start = this.#time[segment] as number;
    const finish = start + duration;
    const end = this.#segmentAt(segment, finish);
    for (let use = usesStart[activity] as number; use < (usesStart[activity + 1] as number); use++) {
      const resource = usesResource[use] as number;
      const amount = usesAmount[use] as number;
      for (let at = segment; at !== end; at = this.#next[at] as number) {
        (this.#free[at * resources + resource] as number) -= amount;
      }
    }
    this.starts[activity] = start;
    this.#endsAt[activity] = end;
    if (finish > this.makespan) this.makespan = finish;
    for (let at = segment; at !== end; at = this.#next[at] as number) {
      if (this.#beyond[at] === at && this.#isFull(at)) this.#beyond[at] = this.#next[at] as number;
    }
  }

  /** The segment that begins at a time, which is split off if there is none. */
  #segmentAt(from: number, time: number): number {
    const times = this.#time;
    const next = this.#next;
    let at = from;
    for (
      let after = next[at] as number;
      after !== END && (times[after] as number) <= time;
      after = next[at] as number
    )
      at = after;
    if (times[at] === time) return at;
    const resources = this.#direction.capacities.length;
    const added = this.#segments++;
    times[added] = time;
    next[added] = next[at] as number;
    next[at] = added;
    this.#beyond[added] = added;
    for (let r = 0; r < resources; r++) {
      this.#free[added * resources + r] = this.#free[at * resources + r] as number;
    }
    return added;
  }

  #isFull(segment: number): boolean {
    const { least } = this.#direction;
    const resources = least.length;
    for (let r = 0; r < resources; r++) {
      if ((this.#free[segment * resources + r] as number) < (least[r] as number)) return true;
    }
    return false;
  }
}

/** Stands behind the last segment. */
const END = 0xffff_ffff;
