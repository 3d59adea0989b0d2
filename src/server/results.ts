import type { ServiceStore } from "../store/index.ts";

/** What is kept in memory of results that other nodes may get; the rest is read when it is needed. */
const MAX_KEPT_CHARS = 32 * 1024 * 1024;
/** What an entry takes besides its result. */
const ENTRY_CHARS = 100;

/** Results of nodes on their way to the nodes that get them: those that came lately are at hand. */
export class Results {
  readonly #store: Pick<ServiceStore, "results">;
  /** In two generations, of which the older goes as a whole when there is too much. */
  #young = new Map<string, string>();
  #old = new Map<string, string>();
  #youngChars = 0;

  constructor(store: Pick<ServiceStore, "results">) {
    this.#store = store;
  }

  keep(taskId: string, result: string): void {
    this.#young.set(taskId, result);
    // Made again, it may be another.
    this.#old.delete(taskId);
    this.#youngChars += ENTRY_CHARS + result.length;
    if (2 * this.#youngChars <= MAX_KEPT_CHARS) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngChars = 0;
  }

  /** Of completed tasks, as JSON texts; undefined: some have to be read. */
  atHand(taskIds: readonly string[]): ReadonlyMap<string, string> | undefined {
    const found = new Map<string, string>();
    for (const id of taskIds) {
      const result = this.#young.get(id) ?? this.#old.get(id);
      if (result === undefined) return undefined;
      found.set(id, result);
    }
    return found;
  }

  async of(taskIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.atHand(taskIds) ?? (await this.#store.results(taskIds));
  }
}
