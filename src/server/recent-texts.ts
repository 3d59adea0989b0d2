/** What is kept in memory; the rest is read when it is needed. */
const MAX_KEPT_CHARS = 32 * 1024 * 1024;
/** What an entry takes besides its text: most are shorter than that. */
const ENTRY_CHARS = 100;

/** Texts that came lately, by id. In two generations, of which the older goes as a whole when there is too much. */
export class RecentTexts {
  #young = new Map<string, string>();
  #old = new Map<string, string>();
  #youngChars = 0;

  get(id: string): string | undefined {
    return this.#young.get(id) ?? this.#old.get(id);
  }

  keep(id: string, text: string): void {
    this.#young.set(id, text);
    this.#youngChars += ENTRY_CHARS + text.length;
    if (2 * this.#youngChars <= MAX_KEPT_CHARS) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngChars = 0;
  }

  forget(id: string): void {
    if (!this.#young.delete(id)) this.#old.delete(id);
  }

  /** It is not kept any longer. */
  take(id: string): string | undefined {
    const text = this.get(id);
    if (text !== undefined) this.forget(id);
    return text;
  }

  /** Undefined unless all of them are here. */
  all(ids: readonly string[]): ReadonlyMap<string, string> | undefined {
    const found = new Map<string, string>();
    for (const id of ids) {
      const text = this.get(id);
      if (text === undefined) return undefined;
      found.set(id, text);
    }
    return found;
  }
}
