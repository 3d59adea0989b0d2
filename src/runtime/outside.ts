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
    void settled(promise, arrive);
    return forget;
  }
}

/** By `await`, which tells nobody at once: what only looks like a promise may call back within its `then`, or throw there. */
async function settled(
  promise: PromiseLike<unknown>,
  arrive: (value: unknown, thrown?: { error: unknown }) => void,
): Promise<void> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    arrive(undefined, { error });
    return;
  }
  arrive(value);
}
