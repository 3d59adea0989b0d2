/**
 * Ends what it is given to when its time is over or the caller's signal says so. By hand rather than by
 * AbortSignal.any and AbortSignal.timeout, which hold on to a caller's long-lived signal, and to the process.
 */
export class TimeLimit {
  /** Whether it was the time that ended it. */
  isOver = false;
  readonly #outer: AbortSignal | undefined;
  #hasEnded = false;
  #end: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout>;

  constructor(ms: number, outer: AbortSignal | undefined) {
    this.#outer = outer;
    this.#timer = setTimeout(this.#expire, ms);
    if (outer?.aborted) this.#pass();
    else outer?.addEventListener("abort", this.#pass);
  }

  /** A signal of its own takes as long to make as a part of a request: only what can take nothing else asks for one. */
  signal(): AbortSignal {
    const controller = new AbortController();
    this.onEnd(() => controller.abort(this.isOver ? undefined : this.#outer?.reason));
    return controller.signal;
  }

  /** Called once, at once if it has ended. */
  onEnd(end: () => void): void {
    if (this.#hasEnded) end();
    else this.#end = end;
  }

  /** From now on. */
  restart(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#expire, ms);
  }

  release(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#pass);
  }

  readonly #pass = (): void => {
    this.#hasEnded = true;
    this.#end?.();
  };
  readonly #expire = (): void => {
    this.isOver = true;
    this.#pass();
  };
}
