import { outcomeOf } from "../history/index.ts";
import type { LedgerEvent } from "../ledger/index.ts";
import { NO_RUN } from "../placement/index.ts";
import type { Recorded, Run } from "../scheduler/index.ts";
import { type AttemptOutcome, describeEnd, describeNoWinner } from "../words/index.ts";

export interface Failure {
  readonly seq: number;
  readonly outcome: AttemptOutcome;
  readonly error: { readonly code: string; readonly message: string } | null;
}

export type CancelCause =
  | { readonly type: "run-cancelled" | "node-cancelled" | "vote-taken"; readonly seq: number }
  | { readonly type: "node-failed"; readonly node: string; readonly seq: number }
  | { readonly type: "unknown" };

/** What the failure, cancellation or skip of a node may be put down to. */
export class Causes {
  readonly #run: Run;
  readonly #node: number;
  readonly #failures = new Map<number, Failure>();
  #cancelled: CancelCause = { type: "unknown" };
  #vote: CancelCause | undefined;
  /** By its number among the tasks of no run, of which node an alternative is, and how it failed last. */
  readonly #alternatives = new Map<number, { readonly node: number; error: string | undefined }>();

  constructor(run: Run, node: number) {
    this.#run = run;
    this.#node = node;
  }

  failureOf(node: number): Failure | null {
    return this.#failures.get(node) ?? null;
  }

  get ofCancellation(): CancelCause {
    return this.#cancelled;
  }

  /** What decides the vote on them is not asked for by anybody. */
  get ofCancelledAlternative(): CancelCause {
    return this.#vote ?? this.#cancelled;
  }

  lose(node: number, seq: number): void {
    this.#failures.set(node, { seq, outcome: "lost", error: null });
  }

  take({ event, seq }: Recorded): void {
    if (!("run" in event)) return;
    if (event.run === NO_RUN) this.#takeAlternative(event);
    else if (event.run === this.#run.number) this.#takeNode(event, seq);
  }

  #takeNode(event: LedgerEvent, seq: number): void {
    switch (event.kind) {
      case "AttemptFailed":
        this.#fail(event.node, seq, "failed", { code: event.code, message: event.message });
        break;
      case "AttemptTimedOut":
      case "AttemptLost":
        this.#fail(event.node, seq, outcomeOf(event), null);
        break;
      case "TaskSpeculated":
        for (let at = 0; at < event.count; at++)
          this.#alternatives.set(event.first + at, { node: event.node, error: undefined });
        break;
      case "VoteTaken":
        if (event.node === this.#node) this.#vote = { type: "vote-taken", seq };
        if (event.winner === -1) {
          const message = describeNoWinner(this.#failuresOf(event.node));
          this.#fail(event.node, seq, "failed", { code: "escalated", message });
        }
        break;
      case "CancelRequested":
        if (event.node === -1) this.#cancelled = { type: "run-cancelled", seq };
        else if (event.node === this.#node) this.#cancelled = { type: "node-cancelled", seq };
        break;
      case "TaskCancelled":
        // What hangs on it is skipped for that, not for a failure that it got over.
        this.#failures.delete(event.node);
        break;
      case "TaskFailed":
        if (this.#run.onFailure === "cancel" && this.#cancelled.type === "unknown")
          this.#cancelled = { type: "node-failed", node: this.#run.graph.idOf(event.node), seq };
        break;
      default:
        break;
    }
  }

  #takeAlternative(event: LedgerEvent): void {
    const alternative = "node" in event ? this.#alternatives.get(event.node) : undefined;
    if (!alternative) return;
    if (event.kind === "AttemptFailed") alternative.error = event.message;
    else if (event.kind === "AttemptTimedOut" || event.kind === "AttemptLost")
      alternative.error = describeEnd(outcomeOf(event), null);
    else if (event.kind === "AttemptFinished") alternative.error = undefined;
  }

  #fail(node: number, seq: number, outcome: AttemptOutcome, error: Failure["error"]): void {
    this.#failures.set(node, { seq, outcome, error });
  }

  #failuresOf(node: number): (string | undefined)[] {
    return [...this.#alternatives.values()].filter((one) => one.node === node).map(({ error }) => error);
  }
}
