import type { ServiceStore } from "../store/index.ts";
import { RecentTexts } from "./recent-texts.ts";

/** Results of nodes on their way to the nodes that get them: those that came lately are at hand. */
export class Results {
  readonly #store: Pick<ServiceStore, "results">;
  readonly #recent = new RecentTexts<string>(() => new Map());

  constructor(store: Pick<ServiceStore, "results">) {
    this.#store = store;
  }

  /** Made again, it may be another. */
  keep(taskId: string, result: string): void {
    this.#recent.keep(taskId, result);
  }

  /** Of completed tasks, as JSON texts; undefined: some have to be read. */
  atHand(taskIds: readonly string[]): ReadonlyMap<string, string> | undefined {
    return this.#recent.all(taskIds);
  }

  async of(taskIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.atHand(taskIds) ?? (await this.#store.results(taskIds));
  }
}
