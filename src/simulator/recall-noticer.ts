import type { LedgerEvent } from "../ledger/index.ts";
import type { Model } from "./model.ts";
import type { Tally } from "./tally.ts";

/** Counts what became of what workers were asked for. Looks at events before they are applied. */
export class RecallNoticer {
  readonly #model: Model;
  readonly #tally: Tally;

  constructor(model: Model, tally: Tally) {
    this.#model = model;
    this.#tally = tally;
  }

  before(event: LedgerEvent): void {
    const tally = this.#tally;
    const isRecalled = "node" in event && this.#model.find(event)?.recall !== undefined;
    switch (event.kind) {
      case "TaskRecalled":
        tally.count("recalled");
        break;
      case "AttemptLost":
        if (isRecalled && event.startedAt === -1) tally.count("given back for another");
        break;
      case "AttemptStarted":
        if (isRecalled) tally.count("recalled when it had begun");
        break;
      case "CancelSignalled":
        if (isRecalled) tally.count("recalled when it was cancelled");
        break;
      case "WorkerLost":
        for (const { recall } of this.#model.workers[event.worker]?.held ?? [])
          if (recall) tally.count("recalled from a worker that is lost");
        break;
      default:
    }
  }
}
