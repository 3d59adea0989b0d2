/** Promises that fibers of a loop wait for. */
export class Outside {
  #awaited = 0;

  get isEmpty(): boolean {
    return this.#awaited === 0;
  }

  /** Settles once, unless it is forgotten before by what is returned. */
  await(
    promise: PromiseLike<unknown>,
    settle: (value: unknown, thrown?: { error: unknown }) => void,
  ): () => void {
    this.#awaited++;
    let isAwaited = true;
    const forget = () => {
      if (isAwaited) this.#awaited--;
      isAwaited = false;
    };
    const arrive = (value: unknown, thrown?: { error: unknown }) => {
      if (!isAwaited) return;
      forget();
      settle(value, thrown);
    };
    promise.then(
      (value) => arrive(value),
      (error: unknown) => arrive(undefined, { error }),
    );
    return forget;
  }
}
