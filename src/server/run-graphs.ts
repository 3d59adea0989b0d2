import { RecentMap } from "../core/index.ts";
import type { Driver } from "../driver/index.ts";
import type { WireGraph } from "../graph/index.ts";
import { type Block, decodeEvent, type RunSubmitted } from "../ledger/index.ts";
import type { RunRow } from "../store/index.ts";

/** What does not change about a run. */
export interface RunGraphView {
  readonly run: RunRow;
  readonly graph: WireGraph;
  /** The node whose task added it, while that is in the state. */
  readonly parent: { readonly runId: string; readonly node: string } | undefined;
}

/** Where the ledger is read, as far as that is needed. */
export interface GraphStore {
  blockAt(seq: number): Promise<Pick<Block, "seq" | "line"> | undefined>;
}

/** Of runs that are no longer in the state; each may be some megabytes. */
const REMEMBERED = 4;

/** The graphs of runs: from the state, and of those that it has forgotten from the ledger. */
export class RunGraphs {
  readonly #driver: Pick<Driver, "read">;
  readonly #store: GraphStore;
  readonly #found = new RecentMap<string, RunSubmitted>(REMEMBERED);

  constructor(driver: Pick<Driver, "read">, store: GraphStore) {
    this.#driver = driver;
    this.#store = store;
  }

  /** Undefined: neither knows it any more. */
  async of(run: RunRow): Promise<RunGraphView | undefined> {
    const live = await this.#driver.read((state) => {
      const found = state.runById(run.id);
      if (!found) return undefined;
      const above = found.parent && state.runs.get(found.parent.run);
      const parent = above && { runId: above.id, node: above.graph.idOf(found.parent?.node ?? 0) };
      return { run, graph: found.graph.toWire(found.carried), parent };
    });
    if (live) return live;
    const event = await this.#submissionOf(run);
    return event && { run, graph: event.graph, parent: undefined };
  }

  async #submissionOf({ id, submittedSeq }: RunRow): Promise<RunSubmitted | undefined> {
    const event = this.#found.get(id) ?? (await this.#read(submittedSeq));
    if (event) this.#found.set(id, event);
    return event;
  }

  async #read(seq: number): Promise<RunSubmitted | undefined> {
    const block = await this.#store.blockAt(seq);
    if (!block) return undefined;
    const { events } = JSON.parse(block.line) as { events: unknown[] };
    const event = decodeEvent(events[seq - block.seq]);
    return event.kind === "RunSubmitted" ? event : undefined;
  }
}
