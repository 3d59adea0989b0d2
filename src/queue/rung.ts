import type { PriorityClass } from "./classes.ts";
import type { Entry } from "./entry.ts";

/** Returns the class that an entry has at some moment. */
export type ClassOf = (entry: Entry) => PriorityClass;

/** Entries of a line whose order among each other depends on nothing but their keys and the time. */
export interface Rung {
  readonly size: number;
  add(entry: Entry): void;
  /** Whether it was here. Its fields are those that it was added with. */
  delete(entry: Entry): boolean;
  /** Time never runs backwards from one call to the next. */
  first(now: number): Entry | undefined;
  /** All of them; or one of so many, beginning with that which stands there among them. */
  entries(every?: number, from?: number): Iterable<Entry>;
  /** Calls `visit` with all entries. For a million it takes a fraction of what `entries` takes. */
  each(visit: (entry: Entry) => void): void;
  /** Calls `visit` with the oldest of several entries of one class, their number, and the sum of when they became ready. */
  tally(visit: (oldest: Entry, count: number, sumOfReadyAt: number) => void, classOf: ClassOf): void;
}
