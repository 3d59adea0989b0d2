import { compareText } from "../core/index.ts";
import type { ListCursor } from "./rows.ts";

/** The places of rows, walked from the newest. What was forgotten stays until there is more of it than of the rest. */
export class NewestFirst {
  /** Oldest first. */
  #places: ListCursor[] = [];
  /** What came since somebody looked: it is put in order for the next who does. */
  #came: ListCursor[] = [];
  #forgotten = 0;
  readonly #isKept: (id: string) => boolean;

  constructor(isKept: (id: string) => boolean) {
    this.#isKept = isKept;
  }

  add(places: readonly ListCursor[]): void {
    for (const { submittedSeq, id } of places) this.#came.push({ submittedSeq, id });
  }

  noteForgotten(): void {
    this.#forgotten++;
    if (this.#forgotten * 2 <= this.#places.length + this.#came.length) return;
    this.#settle();
    this.#places = this.#places.filter(({ id }) => this.#isKept(id));
    this.#forgotten = 0;
  }

  /** The ids after the cursor, newest first. */
  *idsAfter(cursor: ListCursor | undefined): Generator<string> {
    this.#settle();
    const places = this.#places;
    for (let at = cursor ? this.#countBefore(cursor) : places.length; at-- > 0; ) {
      const { id } = places[at] as ListCursor;
      if (this.#isKept(id)) yield id;
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

  #countBefore(cursor: ListCursor): number {
    let low = 0;
    let high = this.#places.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (byPlace(this.#places[middle] as ListCursor, cursor) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function byPlace(a: ListCursor, b: ListCursor): number {
  return a.submittedSeq - b.submittedSeq || compareText(a.id, b.id);
}
