import { Heap } from "../core/index.ts";

interface Entry {
  readonly atMs: number;
  readonly order: number;
  readonly act: () => void;
}

/** The virtual clock: what is to happen, in the order of time and, at one time, of being planned. */
export class Agenda {
  nowMs = 0;
  #planned = 0;
  readonly #entries = new Heap<Entry>((a, b) => (a.atMs === b.atMs ? a.order < b.order : a.atMs < b.atMs));

  at(atMs: number, act: () => void): void {
    this.#entries.push({ atMs: Math.max(atMs, this.nowMs), order: this.#planned++, act });
  }

  in(delayMs: number, act: () => void): void {
    this.at(this.nowMs + delayMs, act);
  }

  /** Lets the next thing happen; false when nothing is planned. */
  advance(): boolean {
    const next = this.#entries.pop();
    if (!next) return false;
    this.nowMs = next.atMs;
    next.act();
    return true;
  }
}
