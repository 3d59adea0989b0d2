/** Counts, and lets those know who wait for a number. */
export class Tally {
  #count = 0;
  /**
   * The least first.
   *
   * @type {{ count: number, reached: () => void }[]}
   */
  #waiting = [];

  add(by = 1) {
    this.#count += by;
    const [first] = this.#waiting;
    if (!first || this.#count < first.count) return;
    this.#waiting.shift();
    first.reached();
    this.add(0);
  }

  /**
   * @param {number} count
   * @returns {Promise<void>}
   */
  reaches(count) {
    return new Promise((resolve) => {
      this.#waiting.push({ count, reached: resolve });
      this.#waiting.sort((one, other) => one.count - other.count);
      this.add(0);
    });
  }
}
