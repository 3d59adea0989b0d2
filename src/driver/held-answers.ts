/** An answer that waits for the commit of the state that it was read from. */
interface Held {
  readonly seq: number;
  /** `false` if the turn never happened: the answer has to be found again. */
  readonly settle: (isCommitted: boolean) => void;
  readonly reject: (error: Error) => void;
}

/** Answers that were read from a state that is ahead of the store. */
export class HeldAnswers {
  #held: Held[] = [];

  add(held: Held): void {
    this.#held.push(held);
  }

  /** Releases the answers that depend on nothing after this event. */
  release(committedSeq: number): void {
    const ready = this.#held.filter(({ seq }) => seq <= committedSeq);
    if (ready.length === 0) return;
    this.#held = this.#held.filter(({ seq }) => seq > committedSeq);
    for (const { settle } of ready) settle(true);
  }

  /** Discards values that were read from a state which was never committed. */
  undo(): void {
    for (const { settle } of this.#held.splice(0)) settle(false);
  }

  fail(error: Error): void {
    for (const { reject } of this.#held.splice(0)) reject(error);
  }
}
