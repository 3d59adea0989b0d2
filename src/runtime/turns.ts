/** Turns that may follow one another without Node's loop having one in between. */
const IN_A_ROW = 32;

/** Has a loop of fibers take its turns beside Node's own loop: one at a time, and not always at once. */
export class Turns {
  readonly #take: () => void;
  #taken = 0;
  #isDue = false;

  constructor(take: () => void) {
    this.#take = () => {
      this.#isDue = false;
      take();
    };
  }

  /** One as soon as what runs now is over. */
  soon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    if (++this.#taken % IN_A_ROW === 0) setImmediate(this.#take);
    else queueMicrotask(this.#take);
  }

  /** One after Node's loop has had its turn. */
  later(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(this.#take);
  }
}
