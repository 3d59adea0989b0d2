/** Calls once for all calls within a while. What fails is not tried again: whoever relies on it polls as well. */
export class Debounced {
  readonly #afterMs: number;
  readonly #work: () => Promise<unknown>;
  #timer: NodeJS.Timeout | undefined;

  constructor(afterMs: number, work: () => Promise<unknown>) {
    this.#afterMs = afterMs;
    this.#work = work;
  }

  call(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#work().catch(() => {});
    }, this.#afterMs).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
