/** How many may do something at once. The others wait in the order in which they came, but only so many of them. */
export class Places {
  readonly #limit: number;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(limit: number, maxWaiting: number = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
    this.#maxWaiting = maxWaiting;
  }

  get isFull(): boolean {
    return this.#taken >= this.#limit && this.#waiting.size >= this.#maxWaiting;
  }

  /** Resolves to a function that gives the place back. Rejects when the signal is aborted before. */
  take(signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const enter = (): void => {
        signal.removeEventListener("abort", leave);
        this.#taken++;
        resolve(this.#leaver());
      };
      const leave = (): void => {
        this.#waiting.delete(enter);
        reject(signal.reason as Error);
      };
      if (this.#taken < this.#limit) return enter();
      this.#waiting.add(enter);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  #leaver(): () => void {
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      this.#taken--;
      const [next] = this.#waiting;
      if (!next) return;
      this.#waiting.delete(next);
      next();
    };
  }
}
