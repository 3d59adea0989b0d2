/** Counts, and lets those know who wait for a number. */
export class Tally {
  #count = 0;
  /** @type {{ count: number, reached: () => void }[]} */
  #waiting = [];

  add(by = 1) {
    this.#count += by;
    for (const { count, reached } of this.#waiting) if (this.#count >= count) reached();
  }

  /**
   * @param {number} count
   * @returns {Promise<void>}
   */
  reaches(count) {
    return new Promise((resolve) => {
      this.#waiting.push({ count, reached: resolve });
      this.add(0);
    });
  }
}
