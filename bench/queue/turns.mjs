/** Lets one work at a time, whoever has waited longest: those who come back again and again take turns. */
export class Turns {
  #last = Promise.resolve();

  /**
   * @template Result
   * @param {() => Promise<Result>} work
   * @returns {Promise<Result>}
   */
  take(work) {
    const done = this.#last.then(work);
    this.#last = done.then(
      () => {},
      () => {},
    );
    return done;
  }
}
