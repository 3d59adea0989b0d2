import type { LedgerEvent } from "../ledger/index.ts";
import type { Waiting } from "./request.ts";

/** Finds what came with an event: stimuli are recorded in the order in which they were taken, if they are. */
export class Attached {
  readonly #taken: readonly Waiting[];
  #at = 0;

  constructor(taken: readonly Waiting[]) {
    this.#taken = taken;
  }

  of(event: LedgerEvent): unknown {
    const { kind } = event;
    const isBringing =
      kind === "TaskSubmitted" ||
      kind === "AttemptFinished" ||
      kind === "RunSubmitted" ||
      kind === "AuditRecorded";
    if (!isBringing) return undefined;
    for (; this.#at < this.#taken.length; this.#at++) {
      const { stimulus, attached } = this.#taken[this.#at] as Waiting;
      if (stimulus === event) return attached;
    }
    return undefined;
  }
}
