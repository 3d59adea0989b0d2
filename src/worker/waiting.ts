import { Heap, PassingMap } from "../core/index.ts";
import type { TaskAttempt } from "./task-attempt.ts";

interface Place {
  readonly attempt: TaskAttempt;
  readonly order: number;
}

const isEarlier = (a: Place, b: Place): boolean => a.order < b.order;

/** Attempts that have not begun. Of those that can, the one that was assigned first does. */
export class Waiting {
  #places = new PassingMap<TaskAttempt, Place>();
  /** What was taken out stays in here until it comes first. */
  readonly #ready = new Heap<Place>(isEarlier);
  /** Those that take no slot. */
  readonly #readyForIo = new Heap<Place>(isEarlier);
  #assigned = 0;

  get size(): number {
    return this.#places.size;
  }

  add(attempt: TaskAttempt): void {
    this.#places.set(attempt, { attempt, order: this.#assigned++ });
  }

  has(attempt: TaskAttempt): boolean {
    return this.#places.has(attempt);
  }

  /** It has all that it needs to begin. */
  makeReady(attempt: TaskAttempt): void {
    const place = this.#places.get(attempt);
    if (place) (attempt.isIo ? this.#readyForIo : this.#ready).push(place);
  }

  delete(attempt: TaskAttempt): boolean {
    return this.#places.delete(attempt);
  }

  /** The next that takes a slot, or the next that takes none. */
  take(isIo: boolean): TaskAttempt | undefined {
    const ready = isIo ? this.#readyForIo : this.#ready;
    for (let place = ready.pop(); place; place = ready.pop())
      if (this.#places.get(place.attempt) === place && this.#places.delete(place.attempt))
        return place.attempt;
    return undefined;
  }

  /** Takes out all. */
  clear(): TaskAttempt[] {
    const all = [...this.#places.keys()];
    this.#places = new PassingMap();
    return all;
  }
}
