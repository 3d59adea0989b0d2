import type { ServiceStore } from "../store/index.ts";
import { RecentTexts } from "./recent-texts.ts";

/** By task, as JSON texts. */
export type ResultTexts = Pick<ReadonlyMap<string, string>, "get">;

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

  /** Of completed tasks, as they are at this moment; undefined: some have to be read. */
  atHand(taskIds: readonly string[]): ResultTexts | undefined {
    for (const id of taskIds) if (this.#recent.get(id) === undefined) return undefined;
    return this.#recent;
  }

  async of(taskIds: readonly string[]): Promise<ResultTexts> {
    return this.atHand(taskIds) ?? (await this.#store.results(taskIds));
  }
}
