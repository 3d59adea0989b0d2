import { taskIdOf } from "../core/index.ts";
import type { Driver } from "../driver/index.ts";
import type { ChunkHandle } from "../protocol/index.ts";
import type { Run } from "../scheduler/index.ts";
import type { RowStatus, ServiceStore } from "../store/index.ts";
import type { Caller, NodeResult } from "./api.ts";
import type { DataTerms } from "./data-terms.ts";
import { handleIn } from "./held-result.ts";
import { isVisible } from "./live-task.ts";

/** Results of nodes for those who submitted them: with their tasks, or on workers. */
export class NodeResults {
  readonly #driver: Driver;
  readonly #store: Pick<ServiceStore, "task">;
  readonly #data: DataTerms;

  constructor(driver: Driver, store: Pick<ServiceStore, "task">, data: DataTerms) {
    this.#driver = driver;
    this.#store = store;
    this.#data = data;
  }

  async of(caller: Caller, runId: string, nodeId: string): Promise<NodeResult | undefined> {
    const { row, held, ...kept } = await this.#look(taskIdOf(runId, nodeId), runId, nodeId);
    if (!row || !isVisible(caller, row)) return undefined;
    if (row.status !== "completed") return notThere(row.status, row.errorMessage);
    const handle = handleIn(row.result);
    if (!handle) return { is: "stored", result: row.result ?? "null" };
    if (held.length > 0) return this.#held(handle, held, kept.isOver);
    return { is: !kept.isKept ? "gone" : kept.isOver ? "lost" : "away" };
  }

  /** False: there is no such run, or nothing to release. */
  async release(caller: Caller, runId: string): Promise<boolean> {
    const run = await this.#driver.read((state) => {
      const found = state.runById(runId);
      return found && isVisible(caller, found) ? found.number : undefined;
    });
    return run !== undefined && (await this.#driver.submit({ kind: "RunReleased", run })).accepted;
  }

  /** The row, who had the result a moment before it was read, whether somebody should, and whether the run makes nothing again. */
  async #look(taskId: string, runId: string, nodeId: string) {
    const found = await this.#driver.read((state) => {
      const run = state.runById(runId);
      const node = run?.graph.indexOf(nodeId);
      if (!run || node === undefined) return { held: [], isKept: false, isOver: true };
      const isKept = run.graph.kept.includes(node) && run.data?.isReleased === false;
      return { held: holdersOf(run, node), isKept, isOver: run.outcome !== undefined };
    });
    return { row: await this.#store.task(taskId), ...found };
  }

  #held(handle: ChunkHandle, held: readonly Holder[], isOver: boolean): NodeResult {
    const from = held.flatMap(({ worker }) => this.#data.doorOf(worker) ?? []);
    const [first] = held;
    // Where its holders are, a server that has just begun to lead hears when they come back.
    if (!first || from.length === 0) return { is: "away" };
    const token = this.#data.tokenOf(first.rootId);
    const isLast = isOver && from.length === held.length;
    return { is: "held", handle, chunk: first.chunk, from, token, isLast };
  }
}

interface Holder {
  readonly worker: number;
  readonly chunk: string;
  readonly rootId: string;
}

function holdersOf(run: Run, node: number): Holder[] {
  const chunk = run.chunkIdOf(node);
  const rootId = run.data?.roots.get(node) ?? run.rootId;
  return (run.data?.holders.get(node) ?? []).map((worker) => ({ worker, chunk, rootId }));
}

function notThere(status: RowStatus, error: string): NodeResult {
  return { is: "not-completed", status, error };
}
