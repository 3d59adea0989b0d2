import type { QueueConfig } from "./config.ts";
import type { Entry } from "./entry.ts";
import { goesBefore } from "./rank.ts";

/** All waiting entries of one group. */
export class Line {
  readonly #config: QueueConfig;
  readonly #entries = new Set<Entry>();

  constructor(config: QueueConfig) {
    this.#config = config;
  }

  get size(): number {
    return this.#entries.size;
  }

  add(entry: Entry): void {
    this.#entries.add(entry);
  }

  delete(entry: Entry): void {
    this.#entries.delete(entry);
  }

  /** Lets the caller change the entry's fields, and keeps the line in order. */
  rekey(_entry: Entry, change: () => void): void {
    change();
  }

  /** The entry that goes before all others. Time never runs backwards from one call to the next. */
  first(now: number, demoted: boolean): Entry | undefined {
    let best: Entry | undefined;
    for (const entry of this.#entries) {
      if (!best || goesBefore(entry, demoted, best, demoted, now, this.#config)) best = entry;
    }
    return best;
  }

  entries(): Iterable<Entry> {
    return this.#entries;
  }
}
