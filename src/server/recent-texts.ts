/** What is kept in memory; the rest is read when it is needed. */
const MAX_KEPT_CHARS = 32 * 1024 * 1024;
/** What an entry takes besides its text: most are shorter than that. */
const ENTRY_CHARS = 100;

interface Texts<Key> {
  get(key: Key): string | undefined;
  set(key: Key, text: string): unknown;
  delete(key: Key): boolean;
}

/** Texts that came lately. In two generations, of which the older goes as a whole when there is too much. */
export class RecentTexts<Key> {
  readonly #none: () => Texts<Key>;
  #young: Texts<Key>;
  #old: Texts<Key>;
  #youngChars = 0;

  constructor(none: () => Texts<Key>) {
    this.#none = none;
    this.#young = none();
    this.#old = none();
  }

  get(key: Key): string | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  keep(key: Key, text: string): void {
    this.#young.set(key, text);
    this.#youngChars += ENTRY_CHARS + text.length;
    if (2 * this.#youngChars <= MAX_KEPT_CHARS) return;
    this.#old = this.#young;
    this.#young = this.#none();
    this.#youngChars = 0;
  }

  reset(): void {
    this.#young = this.#none();
    this.#old = this.#none();
    this.#youngChars = 0;
  }

  /** It is not kept any longer. */
  take(key: Key): string | undefined {
    const text = this.get(key);
    if (text !== undefined && !this.#young.delete(key)) this.#old.delete(key);
    return text;
  }
}
