import { Numbered } from "../core/index.ts";
import type { AboutInput } from "../driver/index.ts";
import { type TaskKey, taskKey } from "../placement/index.ts";
import type { ServiceStore } from "../store/index.ts";
import { RecentTexts } from "./recent-texts.ts";

/** As JSON texts. */
export interface ResultTexts {
  of(input: AboutInput): string | undefined;
}

/** Results of nodes on their way to the nodes that get them: those that came lately are at hand. */
export class Results {
  readonly #store: Pick<ServiceStore, "results">;
  readonly #recent = new RecentTexts<TaskKey>(() => new Numbered());
  readonly #atHand: ResultTexts = { of: ({ run, node }) => this.#recent.get(taskKey(run, node)) };

  constructor(store: Pick<ServiceStore, "results">) {
    this.#store = store;
  }

  /** Made again, it may be another. */
  keep(key: TaskKey, result: string): void {
    this.#recent.keep(key, result);
  }

  /** Forgets all: the numbers that they are kept under may belong to other tasks now. */
  reset(): void {
    this.#recent.reset();
  }

  /** Of completed tasks, as they are at this moment; undefined: some have to be read. */
  atHand(inputs: readonly AboutInput[]): ResultTexts | undefined {
    for (const input of inputs) if (this.#atHand.of(input) === undefined) return undefined;
    return this.#atHand;
  }

  async read(inputs: readonly AboutInput[]): Promise<ResultTexts> {
    const ids = new Set<string>();
    for (const { taskId } of inputs) ids.add(taskId);
    const texts = await this.#store.results([...ids]);
    return { of: ({ taskId }) => texts.get(taskId) };
  }
}
