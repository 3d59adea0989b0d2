import { compareText } from "../core/index.ts";

export interface Point {
  readonly seq: number;
  readonly id: string;
}

/** Where a row stands. It may be in several orders, and is then removed from each. */
export interface Place<Row> extends Point {
  /** Undefined: it was removed. */
  row: Row | undefined;
}

/** Rows by their places, walked from the newest. What was removed stays, without its row, until there is more of it than of the rest. */
export class NewestFirst<Row> {
  /** Oldest first. */
  #places: Place<Row>[] = [];
  /** What came since somebody looked: it is put in order for the next who does. */
  #came: Place<Row>[] = [];
  #removed = 0;

  add(place: Place<Row>): void {
    this.#came.push(place);
  }

  remove(place: Place<Row>): void {
    place.row = undefined;
    this.#removed++;
    if (this.#removed * 2 <= this.#places.length + this.#came.length) return;
    dropRemoved(this.#places);
    dropRemoved(this.#came);
    this.#removed = 0;
  }

  /** Those that are older than the point, newest first. */
  *olderThan(point: Point | undefined): Generator<Row> {
    this.#settle();
    const places = this.#places;
    for (let at = point ? this.#countBefore(point) : places.length; at-- > 0; ) {
      const { row } = places[at] as Place<Row>;
      if (row) yield row;
    }
  }

  /** Those that are newer than the point, newest first. */
  *newerThan(point: Point): Generator<Row> {
    this.#settle();
    for (let at = this.#places.length; at-- > 0; ) {
      const place = this.#places[at] as Place<Row>;
      if (byPlace(place, point) <= 0) break;
      if (place.row) yield place.row;
    }
  }

  #settle(): void {
    const came = this.#came.sort(byPlace);
    this.#came = [];
    const [first] = came;
    const last = this.#places.at(-1);
    for (const place of came) this.#places.push(place);
    // Blocks come in the order of their sequences, so this is only for a caller that numbers otherwise.
    if (first && last && byPlace(first, last) < 0) this.#places.sort(byPlace);
  }

  #countBefore(point: Point): number {
    let low = 0;
    let high = this.#places.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (byPlace(this.#places[middle] as Place<Row>, point) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function dropRemoved(places: Place<unknown>[]): void {
  let kept = 0;
  for (const place of places) if (place.row !== undefined) places[kept++] = place;
  places.length = kept;
}

function byPlace(a: Point, b: Point): number {
  return a.seq - b.seq || compareText(a.id, b.id);
}
