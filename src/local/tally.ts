import type { LedgerEvent } from "../ledger/index.ts";
import { type Run, Status } from "../scheduler/index.ts";

/** An attempt under way. */
export interface Active {
  readonly node: string;
  readonly worker: string;
  readonly attempt: number;
  readonly startedAt: number;
  readonly estimateMs: number;
  readonly holdsUpMs: number;
}

/** Keeps the sums that a forecast needs, so that showing a run never walks over its nodes. */
export class Tally {
  #remainingMs = 0;
  #estimatedMs = 0;
  #actualMs = 0;

  begin(run: Run): void {
    for (let node = 0; node < run.graph.size; node++) {
      if (run.statusOf(node) !== Status.completed) this.#remainingMs += run.graph.taskOf(node).estimateMs;
    }
  }

  note(run: Run, event: LedgerEvent, now: number): void {
    const estimate = (node: number) => run.graph.taskOf(node).estimateMs;
    if ("run" in event && event.run !== run.number) return;
    if (event.kind === "VoteTaken" && event.winner >= 0) this.#remainingMs -= estimate(event.node);
    else if (event.kind === "AttemptFinished") {
      this.#remainingMs -= estimate(event.node);
      this.#estimatedMs += estimate(event.node);
      this.#actualMs += now - event.startedAt;
    } else if (event.kind === "TaskFailed" || event.kind === "TaskCancelled")
      this.#remainingMs -= estimate(event.node);
    else if (event.kind === "TasksSkipped")
      for (const node of event.nodes) this.#remainingMs -= estimate(node);
  }

  /**
   * How long it should still take: what remains, spread over the slots, but no less than the longest chain
   * under way; corrected by how the estimates held so far. Unknown until something has finished.
   */
  remainingMs(active: readonly Active[], slots: number, now: number): number | undefined {
    if (this.#estimatedMs === 0) return undefined;
    const ratio = this.#actualMs / this.#estimatedMs;
    let spent = 0;
    let chain = 0;
    for (const one of active) {
      const elapsed = now - one.startedAt;
      spent += Math.min(elapsed, one.estimateMs * ratio);
      chain = Math.max(chain, one.holdsUpMs * ratio - elapsed);
    }
    return Math.max(chain, (this.#remainingMs * ratio - spent) / slots, 0);
  }
}
