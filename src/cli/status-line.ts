/** One line on stderr that changes, where a terminal shows it; elsewhere nothing is said. */
export class StatusLine {
  readonly #everyMs: number;
  #shownMs = Number.NEGATIVE_INFINITY;

  constructor(everyMs = 100) {
    this.#everyMs = everyMs;
  }

  /** Shows what is the case now, unless it has just done so. */
  show(text: () => string): void {
    if (!process.stderr.isTTY || performance.now() - this.#shownMs < this.#everyMs) return;
    this.#shownMs = performance.now();
    process.stderr.write(`\r\x1b[K${text()}`);
  }

  clear(): void {
    if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
  }
}
