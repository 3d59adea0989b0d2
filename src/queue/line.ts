import { Heap, invariant } from "../core/index.ts";
import type { QueueConfig } from "./config.ts";
import type { Entry } from "./entry.ts";
import { type Ladder, makeLadder } from "./ladder.ts";
import { goesBefore } from "./rank.ts";
import type { ClassOf } from "./rung.ts";

interface Lift {
  readonly at: number;
  readonly entry: Entry;
}

/** So few lifts of entries that have left are not worth clearing away. */
const FEW = 64;

/**
 * All waiting entries of one group, in the order of `goesBefore`.
 *
 * They stand on rungs, and the first of the line is one of the firsts of the rungs. Entries are lifted from
 * rung to rung when the line is asked for its first; between two such moments nobody can see the difference.
 */
export class Line {
  readonly #config: QueueConfig;
  readonly #ladder: Ladder;
  /** Also of entries that have left or changed since. */
  #lifts: Heap<Lift> = new Heap(isEarlier);
  /** Every entry stands on its rung of this moment. */
  #liftedTo = 0;
  #size = 0;
  /** The entry of a line that has no other. It stands on no rung before another comes, or somebody asks for more than the first. */
  #lone: Entry | undefined;
  /** Entries by the class that they start in. */
  readonly byClass: number[] = [0, 0, 0];

  constructor(config: QueueConfig) {
    this.#config = config;
    this.#ladder = makeLadder(config);
  }

  get isOfGraphs(): boolean {
    return this.#config.order === "graph";
  }

  get size(): number {
    return this.#size;
  }

  add(entry: Entry): void {
    if (this.#size === 0) this.#lone = entry;
    else {
      this.#seatLone();
      this.#seat(entry);
    }
    this.#size++;
    (this.byClass[entry.class] as number)++;
  }

  delete(entry: Entry): void {
    this.#size--;
    (this.byClass[entry.class] as number)--;
    if (entry === this.#lone) {
      this.#lone = undefined;
      return;
    }
    invariant(this.#ladder.rungAt(entry, this.#liftedTo).delete(entry), "an entry that leaves was added");
    if (this.#lifts.size > 2 * this.#size + FEW) this.#forgetLifts();
  }

  /** Lets the caller change the entry's fields, and keeps the line in order. */
  rekey(entry: Entry, change: () => void): void {
    if (this.isOfGraphs) {
      const { tier, seq } = entry;
      change();
      invariant(entry.tier === tier && entry.seq === seq, "a run keeps its place in a line");
      return;
    }
    this.delete(entry);
    change();
    this.add(entry);
  }

  /** The entry that goes before all others. Time never runs backwards from one call to the next. */
  first(now: number, demoted: boolean): Entry | undefined {
    invariant(now >= this.#liftedTo, "time never runs backwards");
    if (this.#lone) {
      this.#liftedTo = now;
      return this.#lone;
    }
    this.#lift(now);
    let best: Entry | undefined;
    for (const rung of this.#ladder.rungs) {
      const head = rung?.first(now);
      if (!head) continue;
      if (!best || goesBefore(head, demoted, best, demoted, now, this.#config)) best = head;
    }
    return best;
  }

  /** By class, when the oldest entry became ready that stood there when the line was asked for its first. */
  oldestByClass(): number[] {
    this.#seatLone();
    return this.#ladder.oldestByClass();
  }

  /** All of them; or one of so many, beginning with that which stands there among them. */
  *entries(every = 1, from = 0): Iterable<Entry> {
    this.#seatLone();
    let at = from;
    for (const rung of this.#ladder.rungs) {
      if (!rung) continue;
      yield* rung.entries(every, at);
      at = (((at - rung.size) % every) + every) % every;
    }
  }

  /** Calls `visit` with all of them. */
  each(visit: (entry: Entry) => void): void {
    this.#seatLone();
    for (const rung of this.#ladder.rungs) rung?.each(visit);
  }

  /** Calls `visit` for all entries, several of one class at a time: with the oldest, their number, and the sum of when they became ready. */
  tally(visit: (oldest: Entry, count: number, sumOfReadyAt: number) => void, classOf: ClassOf): void {
    this.#seatLone();
    for (const rung of this.#ladder.rungs) rung?.tally(visit, classOf);
  }

  /** First by deadlines: those say from which rung an entry comes, so it must not have left it by its wait. */
  #lift(now: number): void {
    for (let lift = this.#lifts.peek(); lift && lift.at <= now; lift = this.#lifts.peek()) {
      this.#lifts.pop();
      this.#climb(lift.entry, now);
    }
    this.#ladder.liftByWait(now);
    this.#liftedTo = now;
  }

  /** An entry that has left, or was lifted already, is not on the rung any more that it would have come from. */
  #climb(entry: Entry, now: number): void {
    const from = this.#ladder.rungAt(entry, this.#liftedTo);
    const to = this.#ladder.rungAt(entry, now);
    if (from !== to && from.delete(entry)) to.add(entry);
  }

  #seatLone(): void {
    const lone = this.#lone;
    if (!lone) return;
    this.#lone = undefined;
    this.#seat(lone);
  }

  #seat(entry: Entry): void {
    this.#ladder.rungAt(entry, this.#liftedTo).add(entry);
    this.#awaitLift(entry);
  }

  #awaitLift(entry: Entry): void {
    const at = this.#ladder.nextLift(entry, this.#liftedTo);
    if (at !== Number.POSITIVE_INFINITY) this.#lifts.push({ at, entry });
  }

  #forgetLifts(): void {
    this.#lifts = new Heap(isEarlier);
    for (const entry of this.entries()) this.#awaitLift(entry);
  }
}

/** Which of two at the same moment is lifted first makes no difference. */
function isEarlier(a: Lift, b: Lift): boolean {
  return a.at < b.at;
}
