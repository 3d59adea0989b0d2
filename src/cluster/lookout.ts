import { setTimeout as sleep } from "node:timers/promises";
import type { Leadership, ServiceStore } from "../store/index.ts";

/** A look that takes longer says nothing about the time in between: the leader could not write either. */
const PROMPT_MS = 1_000;

export interface LookoutOptions {
  readonly store: Pick<ServiceStore, "leadership">;
  /** For how long the head must stay as it is before its holder counts as dead. */
  readonly leaseMs: number;
  readonly onSeen: (seen: Leadership) => void;
}

/**
 * Looks at the head again and again, and knows for how long it has not changed, by this process's own monotonic
 * clock: clocks of different machines are never compared. A store that cannot be read is silent for nobody.
 */
export class Lookout implements Disposable {
  readonly #options: LookoutOptions;
  readonly #closing = new AbortController();
  #seen: Leadership | undefined;
  #sinceMs = performance.now();
  #isAlive = false;

  constructor(options: LookoutOptions) {
    this.#options = options;
    void this.#watch();
  }

  /** The head as it was seen last. */
  get seen(): Leadership | undefined {
    return this.#seen;
  }

  /** Whether its holder has shown that it lives, since we look. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Until its holder counts as dead, if it stays as it is. */
  get patienceMs(): number {
    return this.#sinceMs + this.#options.leaseMs - performance.now();
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#look();
      await sleep(this.#options.leaseMs / 12, undefined, { signal }).catch(() => {});
    }
  }

  async #look(): Promise<void> {
    const startedMs = performance.now();
    const seen = await this.#options.store.leadership().catch(() => undefined);
    const now = performance.now();
    if (this.#closing.signal.aborted) return;
    if (!seen || now - startedMs > PROMPT_MS || hasChanged(this.#seen, seen)) this.#sinceMs = now;
    if (!seen) return;
    this.#isAlive = this.#seen?.holder === seen.holder && (this.#isAlive || hasChanged(this.#seen, seen));
    this.#seen = seen;
    this.#options.onSeen(seen);
  }
}

function hasChanged(before: Leadership | undefined, after: Leadership): boolean {
  return before?.epoch !== after.epoch || before.seq !== after.seq || before.beat !== after.beat;
}
