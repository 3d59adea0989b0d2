import type { Progress } from "../protocol/index.ts";

const PACE_MS = 1_000;

/** Sends the first progress at once, then at most one per second: always the latest. */
export class PacedProgress {
  readonly #send: (progress: Progress) => void;
  #latest: Progress | undefined;
  #pause: NodeJS.Timeout | undefined;

  constructor(send: (progress: Progress) => void) {
    this.#send = send;
  }

  set(progress: Progress): void {
    this.#latest = progress;
    if (!this.#pause) this.#sendLatest();
  }

  /** What was not sent is superseded by the attempt's report. */
  end(): void {
    clearTimeout(this.#pause);
    this.#latest = undefined;
  }

  #sendLatest(): void {
    this.#pause = undefined;
    if (!this.#latest) return;
    this.#send(this.#latest);
    this.#latest = undefined;
    this.#pause = setTimeout(() => this.#sendLatest(), PACE_MS);
  }
}
