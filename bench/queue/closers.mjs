// What must be closed, in the reverse of the order in which it was opened.

export class Closers {
  /** @type {(() => Promise<unknown>)[]} */
  #all = [];

  /**
   * What is still being opened counts already: whoever closes waits for it.
   *
   * @template {AsyncDisposable} Resource
   * @param {Promise<Resource>} opening
   * @returns {Promise<Resource>}
   */
  use(opening) {
    this.#all.push(async () => {
      const opened = await opening.catch(() => undefined);
      await opened?.[Symbol.asyncDispose]();
    });
    return opening;
  }

  async closeAll() {
    for (let close = this.#all.pop(); close; close = this.#all.pop()) await close();
  }
}
