import { compareText, invariant } from "../core/index.ts";
import type { Entry } from "./entry.ts";
import { compareProducts } from "./exact-product.ts";
import { compareRatios, overtakenFrom } from "./response-ratio.ts";

/** Room that a block begins with: most lines are short. */
const FIRST_ROOM = 16;

/**
 * Some hundred entries, and the one with the highest response ratio.
 *
 * See an entry as the point (readyAt, estimate), and now as the point (now, 0). The highest wait / estimate is
 * then the flattest line from now back to an entry, so it touches the lower convex hull, and only where that
 * falls: from the oldest entry to the one with the least estimate. As now moves on, the touching point moves
 * along the hull towards smaller estimates and never back. So the hull tells the champion of any moment, and
 * until when it stays champion.
 *
 * Three ties need care. Of equal points the hull keeps the smallest id, which comes first in the order of the
 * entries. Of three points on one line the middle one is never needed: when they tie, the oldest goes first.
 * And at the moment in which even the oldest entry became ready all ratios of that moment are equal, whatever
 * the estimates: then the first entry is champion, not the hull's.
 *
 * Readings of points go through two arrays of numbers: in a long queue the entries lie all over the memory.
 */
export class HrrnBlock {
  /** By readyAt, then id. */
  readonly entries: Entry[] = [];
  /** The queue that it belongs to, and its place among the blocks there. */
  owner: object | undefined;
  slot = -1;
  /** By which age it is known there. */
  listedAt: number = Number.POSITIVE_INFINITY;
  champion: Entry | undefined;
  /** Where the champion stood when it was found. */
  #championAt = -1;
  /** The champion must be looked for again from this moment on. */
  overtakenFrom: number = Number.NEGATIVE_INFINITY;
  #readyAt = new Float64Array(FIRST_ROOM);
  #estimateMs = new Float64Array(FIRST_ROOM);
  #deadlines = 0;
  /** Positions of the falling part of the lower hull, oldest first. */
  readonly #hull: number[] = [];

  constructor(owner: object) {
    this.owner = owner;
  }

  get size(): number {
    return this.entries.length;
  }

  get oldestReadyAt(): number {
    return this.#readyAt[0] as number;
  }

  get youngestReadyAt(): number {
    return this.#readyAt[this.size - 1] as number;
  }

  /** Whether no entry has a deadline. Then nothing but its wait changes its class. */
  get isWithoutDeadlines(): boolean {
    return this.#deadlines === 0;
  }

  /** Returns the sum of when the entries became ready. It reads one array instead of entries all over the memory. */
  sumOfReadyAt(): number {
    let sum = 0;
    for (let at = 0; at < this.size; at++) sum += this.#readyAt[at] as number;
    return sum;
  }

  /** Whether the champion may have changed. */
  add(entry: Entry): boolean {
    const at = this.#placeOf(entry);
    this.#insert(at, entry);
    if (entry.deadline >= 0) this.#deadlines++;
    const next = this.#shiftHull(at, 1);
    if (next === this.#hull.length) return this.#extendHull(at);
    this.#mendHull(next, at, at + 1);
    return true;
  }

  /** Whether the champion may have changed. Without another entry, the champion only stays longer. */
  delete(entry: Entry): boolean {
    const at = this.entries[this.#championAt] === entry ? this.#championAt : this.#placeOf(entry);
    invariant(this.entries[at] === entry, "an entry waits with the keys that it was added with");
    const estimateMs = this.#estimateMs[at] as number;
    if (entry.deadline >= 0) this.#deadlines--;
    this.#remove(at);
    const hull = this.#hull;
    const on = hull.lastIndexOf(at);
    if (on === hull.length - 1 && on >= 0) {
      hull.pop();
      this.#mendTip((hull[on - 1] ?? -1) + 1, estimateMs);
      return entry === this.champion;
    }
    this.#shiftHull(at + 1, -1);
    if (on >= 0) {
      hull.splice(on, 1);
      this.#mendHull(on, (hull[on - 1] ?? -1) + 1, hull[on] as number);
    }
    return entry === this.champion;
  }

  /** Finds the champion of this moment. */
  look(now: number): void {
    const hull = this.#hull;
    const at = this.#touchingPoint(now);
    const isFirstMoment = this.oldestReadyAt >= now;
    this.#championAt = isFirstMoment ? 0 : (hull[at] as number);
    this.champion = this.entries[this.#championAt];
    if (isFirstMoment) this.overtakenFrom = now + 1;
    else if (at + 1 === hull.length) this.overtakenFrom = Number.POSITIVE_INFINITY;
    else this.overtakenFrom = this.#passes(hull[at] as number, hull[at + 1] as number, now);
  }

  /** The point of the hull that is ahead: the first that the next one has not overtaken. */
  #touchingPoint(now: number): number {
    let low = 0;
    let high = this.#hull.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#isAhead(this.#hull[middle + 1] as number, this.#hull[middle] as number, now))
        low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #isAhead(a: number, b: number, now: number): boolean {
    return (
      compareRatios(
        this.#readyAt[a] as number,
        this.#estimateMs[a] as number,
        this.#readyAt[b] as number,
        this.#estimateMs[b] as number,
        now,
      ) < 0
    );
  }

  #passes(ahead: number, behind: number, now: number): number {
    return overtakenFrom(
      this.#readyAt[ahead] as number,
      this.#estimateMs[ahead] as number,
      this.#readyAt[behind] as number,
      this.#estimateMs[behind] as number,
      now,
    );
  }

  /** Follows entries that moved by one place, from a position on; gives the first point of the hull that did. */
  #shiftHull(from: number, by: number): number {
    const hull = this.#hull;
    let next = hull.length;
    while (next > 0 && (hull[next - 1] as number) >= from) {
      next--;
      hull[next] = (hull[next] as number) + by;
    }
    return next;
  }

  /**
   * Looks for the hull anew in one place: from its point `next` on, with what lies between two positions.
   * Elsewhere only points of the old hull can belong to the new one.
   */
  #mendHull(next: number, from: number, to: number): void {
    const rest = this.#hull.splice(next);
    for (let at = from; at < to; at++) this.#extendHull(at);
    for (const at of rest) this.#extendHull(at);
  }

  /** Where its last point was taken away, which had the least estimate: whoever has the same is the last one now. */
  #mendTip(from: number, leastMs: number): void {
    for (let at = from; at < this.size; at++)
      if (this.#extendHull(at) && this.#estimateMs[at] === leastMs) return;
  }

  /** Takes in a point that is younger than the whole hull; whether it belongs to it. */
  #extendHull(at: number): boolean {
    const hull = this.#hull;
    const tip = hull.length - 1;
    if (tip >= 0 && (this.#estimateMs[at] as number) >= (this.#estimateMs[hull[tip] as number] as number)) {
      return false;
    }
    while (hull.length > 0 && !this.#isTipBelow(at)) hull.pop();
    hull.push(at);
    return true;
  }

  /** Whether the hull's last point lies below the line from the one before it to a younger point. */
  #isTipBelow(at: number): boolean {
    const tip = this.#hull[this.#hull.length - 1] as number;
    const youngerBy = (this.#readyAt[at] as number) - (this.#readyAt[tip] as number);
    if (this.#hull.length === 1) return youngerBy > 0;
    const before = this.#hull[this.#hull.length - 2] as number;
    return (
      compareProducts(
        (this.#estimateMs[before] as number) - (this.#estimateMs[tip] as number),
        youngerBy,
        (this.#estimateMs[tip] as number) - (this.#estimateMs[at] as number),
        (this.#readyAt[tip] as number) - (this.#readyAt[before] as number),
      ) > 0
    );
  }

  /** Where it stands, or would. */
  #placeOf(entry: Entry): number {
    let low = 0;
    let high = this.size;
    // Most arrive in the order of time.
    if (high > 0 && (this.#readyAt[high - 1] as number) < entry.readyAt) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = (this.#readyAt[middle] as number) - entry.readyAt;
      if (order < 0 || (order === 0 && compareText((this.entries[middle] as Entry).id, entry.id) < 0)) {
        low = middle + 1;
      } else high = middle;
    }
    return low;
  }

  #remove(at: number): void {
    this.entries.splice(at, 1);
    this.#readyAt.copyWithin(at, at + 1, this.size + 1);
    this.#estimateMs.copyWithin(at, at + 1, this.size + 1);
  }

  #insert(at: number, entry: Entry): void {
    const size = this.size;
    if (size === this.#readyAt.length) {
      this.#readyAt = doubled(this.#readyAt);
      this.#estimateMs = doubled(this.#estimateMs);
    }
    if (at === size) this.entries.push(entry);
    else {
      this.entries.splice(at, 0, entry);
      this.#readyAt.copyWithin(at + 1, at, size);
      this.#estimateMs.copyWithin(at + 1, at, size);
    }
    this.#readyAt[at] = entry.readyAt;
    this.#estimateMs[at] = entry.estimateMs;
  }
}

function doubled(array: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(2 * array.length);
  larger.set(array);
  return larger;
}
