import type { AttemptFinished, LedgerEvent } from "../ledger/index.ts";
import type { Model } from "./model.ts";
import { isWanted } from "./model-data.ts";
import { isBeside } from "./places.ts";
import type { Tally } from "./tally.ts";

/** Counts what became of results. Looks at events before they are applied. */
export class DataNoticer {
  readonly #model: Model;
  readonly #tally: Tally;

  constructor(model: Model, tally: Tally) {
    this.#model = model;
    this.#tally = tally;
  }

  before(event: LedgerEvent): void {
    const tally = this.#tally;
    switch (event.kind) {
      case "AttemptFinished":
        if (event.held) tally.count("result held");
        this.#noteBeside(event);
        break;
      case "RunReleased":
        tally.count("run released");
        break;
      case "ChunkLost":
        tally.count("copy lost");
        break;
      case "ChunksFreed":
        for (const node of event.nodes)
          tally.count(this.#isWanted(event.run, node) ? "result freed with its run" : "result freed");
        break;
      case "NodesRecomputed":
        for (const node of event.nodes)
          tally.count(this.#isWanted(event.run, node) ? "node made again" : "node made again for another");
        break;
      case "TasksWithdrawn":
        tally.count("node given ahead withdrawn", event.nodes.length);
        break;
      case "TaskReused":
        tally.count(this.#isKept(event.taskId) ? "kept result reused" : "result reused");
        break;
      case "CacheEvicted":
        tally.count("kept result evicted");
        break;
      case "TaskRetried":
        if (this.#model.find(event)?.needs.some(({ status }) => status !== "completed"))
          tally.count("retried behind its input");
        break;
      case "TaskFailed":
        if (event.code === "poison" || event.code === "corrupt") tally.count(`failed: ${event.code}`);
        break;
      case "TasksSkipped":
        if (event.nodes.some((node) => this.#isSettling(event.run, node)))
          tally.count("skipped on its worker");
        break;
      default:
    }
  }

  #noteBeside(event: AttemptFinished): void {
    const task = this.#model.find(event);
    if (task?.worker && isBeside(task.worker, task)) this.#tally.count("run beside slots");
  }

  #isWanted(run: number, node: number): boolean {
    return isWanted(this.#model.taskAt({ run, node }));
  }

  #isKept(taskId: string): boolean {
    return [...this.#model.made.values()].some((known) => known.held && known.taskId === taskId);
  }

  #isSettling(run: number, node: number): boolean {
    const { status } = this.#model.taskAt({ run, node });
    return status === "settling" || status === "settlingCancel";
  }
}
