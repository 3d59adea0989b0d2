import type { LedgerEvent, RunParent, RunSubmitted } from "../ledger/index.ts";
import type { Model } from "./model.ts";
import { mayLink } from "./model-links.ts";
import { isEnded, isPlaced, type ModelRun, type ModelTask } from "./model-tasks.ts";
import type { Tally } from "./tally.ts";

/** Counts what became of nodes that were added to runs. Looks at events before they are applied. */
export class GrowthNoticer {
  readonly #model: Model;
  readonly #tally: Tally;

  constructor(model: Model, tally: Tally) {
    this.#model = model;
    this.#tally = tally;
  }

  refused({ runId, graph }: RunSubmitted, parent: RunParent): void {
    const tally = this.#tally;
    const task = this.#model.find(parent);
    if (this.#model.runById(runId)) tally.count("addition repeated");
    else if (!task || task.attempt !== parent.attempt || !isPlaced(task) || task.status === "cancelling")
      tally.count("addition refused: late");
    else if (graph.ids.length - (parent.links?.length ?? 0) > (task.spec.mayAdd ?? 0))
      tally.count("addition refused: too many");
    else if (!parent.links?.every(([, run, node]) => mayLink(this.#model, parent, { run, node })))
      tally.count("addition refused: bad link");
  }

  before(event: LedgerEvent): void {
    const tally = this.#tally;
    switch (event.kind) {
      case "RunSubmitted":
        if (event.parent) this.#grow(this.#model.taskAt(event.parent));
        break;
      case "CancelRequested":
        if (this.#model.runs.get(event.run)?.addedBy) tally.count("cancel of added nodes");
        break;
      case "ExpansionEnded":
        this.#end(this.#model.taskAt(event).added);
        break;
      case "TaskFailed":
        if (event.code === "expansion") tally.count("added nodes failed");
        if (event.code === "link") tally.count("link failed");
        break;
      case "TaskCancelled":
        if (this.#model.taskAt(event).status === "expanded") tally.count("added nodes cancelled");
        break;
      case "NodesRecomputed":
        for (const node of event.nodes) this.#makeAgain(this.#model.taskAt({ run: event.run, node }));
        break;
      case "TaskReused":
        if (this.#model.taskAt(event).standsFor) tally.count("link has its result");
        break;
      case "ChunksFreed":
        for (const node of event.nodes)
          if (this.#model.taskAt({ run: event.run, node }).standsFor) tally.count("link given back");
        break;
      default:
    }
  }

  #grow({ run }: ModelTask): void {
    this.#tally.count(run.addedBy ? "nodes added by an added node" : "nodes added");
  }

  #makeAgain(task: ModelTask): void {
    const { added, standsFor, readers, links } = task;
    if (added) this.#tally.count("added nodes made again");
    if (standsFor) this.#tally.count("link waits again");
    if (readers.every(isEnded) && links.some((link) => link.borrows))
      this.#tally.count("node made again for a link");
  }

  #end(added: ModelRun | undefined): void {
    const tail = added?.tasks[added.addedBy?.tail ?? -1];
    this.#tally.count(tail?.isStored ? "stored result of an added node" : "held result of an added node");
  }
}
