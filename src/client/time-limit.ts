/**
 * Aborts what it is given to when its time is over or the caller's signal says so. By hand rather than by
 * AbortSignal.any and AbortSignal.timeout, which hold on to a caller's long-lived signal, and to the process.
 */
export class TimeLimit {
  /** Whether it was the time that ended it. */
  isOver = false;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout>;

  constructor(ms: number, outer: AbortSignal | undefined) {
    this.#outer = outer;
    this.#timer = setTimeout(this.#end, ms);
    if (outer?.aborted) this.#pass();
    else outer?.addEventListener("abort", this.#pass);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on. */
  restart(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#end, ms);
  }

  release(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#pass);
  }

  readonly #pass = (): void => this.#controller.abort(this.#outer?.reason);
  readonly #end = (): void => {
    this.isOver = true;
    this.#controller.abort();
  };
}
