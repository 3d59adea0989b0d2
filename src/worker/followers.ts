type OnEnd = (isFinished: boolean) => void;

/** By the key of an attempt that has not ended here: who waits for its result. */
export class Followers {
  readonly #waiting = new Map<string, OnEnd[]>();

  add(key: string, onEnd: OnEnd): void {
    const waiting = this.#waiting.get(key);
    if (waiting) waiting.push(onEnd);
    else this.#waiting.set(key, [onEnd]);
  }

  tell(key: string, isFinished: boolean): void {
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    for (const onEnd of waiting) onEnd(isFinished);
  }
}
