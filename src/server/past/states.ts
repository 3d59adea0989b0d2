import { invariant } from "../../core/index.ts";
import { apply, State } from "../../scheduler/index.ts";
import type { Checkpoints } from "./checkpoints.ts";
import type { Chronicle } from "./chronicle.ts";

/**
 * The state after any event of a chronicle: at its end as it grows, and one more that goes where it is asked for, from where
 * it stands or from the checkpoint before.
 */
export class States {
  /** After the last event. Only whoever adds events changes it. */
  readonly tip: State = new State();
  readonly #chronicle: Chronicle;
  readonly #checkpoints: Checkpoints;
  #wanderer = new State();

  constructor(chronicle: Chronicle, checkpoints: Checkpoints) {
    this.#chronicle = chronicle;
    this.#checkpoints = checkpoints;
  }

  /** A block was applied to the tip. */
  grew(): void {
    this.#checkpoints.takeIfDue(this.tip);
  }

  at(seq: number): State {
    const state = seq === this.tip.seq ? this.tip : this.#wander(seq);
    // As every turn does first: what is due by then stands in line, and runs as their nodes do.
    state.offerDue(state.now);
    state.arrangeRuns(state.now);
    return state;
  }

  #wander(seq: number): State {
    invariant(seq >= 0 && seq < this.tip.seq, `the event ${seq} is in the ledger`);
    const isNear = this.#wanderer.seq <= seq && this.#checkpoints.seqBefore(seq) <= this.#wanderer.seq;
    if (!isNear) this.#wanderer = this.#checkpoints.stateBefore(seq);
    for (const { event, now } of this.#chronicle.between(this.#wanderer.seq, seq))
      apply(this.#wanderer, event, now);
    return this.#wanderer;
  }
}
