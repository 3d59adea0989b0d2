import { arraysOf, type Columns } from "./parameters.ts";

/** Rows that are the same in some columns are of one kind. Kinds are counted from 1, as PostgreSQL counts. */
export class Kinds<T> {
  readonly #columns: Columns<T>;
  readonly #limit: number;
  readonly #numbers = new Map<string, number>();
  /** One row of each kind. */
  readonly #examples: T[] = [];
  readonly #ofRows: number[] = [];
  #last = 0;

  constructor(columns: Columns<T>, limit: number) {
    this.#columns = columns;
    this.#limit = limit;
  }

  /** False: there are too many kinds already. */
  add(row: T): boolean {
    if (this.#last === 0 || !this.#isAlike(row, this.#examples[this.#last - 1] as T)) {
      const key = JSON.stringify(this.#columns.map((column) => column(row)));
      let number = this.#numbers.get(key);
      if (number === undefined) {
        if (this.#examples.length >= this.#limit) return false;
        number = this.#examples.push(row);
        this.#numbers.set(key, number);
      }
      this.#last = number;
    }
    this.#ofRows.push(this.#last);
    return true;
  }

  /** Those of the kinds, then that of the rows. */
  arrays(): string[] {
    return [...arraysOf(this.#examples, this.#columns), `{${this.#ofRows.join(",")}}`];
  }

  #isAlike(one: T, other: T): boolean {
    for (const column of this.#columns) if (column(one) !== column(other)) return false;
    return true;
  }
}
