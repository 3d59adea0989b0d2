import { isDecision, type LedgerEvent } from "../ledger/index.ts";
import { type AttemptName, nameOf } from "./messages.ts";

/** An attempt that the ledger says is on a worker, and what the server has done about it. */
export interface LiveAttempt {
  readonly name: AttemptName;
  readonly worker: number;
  readonly sentAtMs: number;
  /** On its worker's word; -1 before that. */
  startedAt: number;
  cancelling: boolean;
  timed: boolean;
  reportedLost: boolean;
}

/** Follows the ledger. */
export class LiveAttempts {
  readonly #attempts = new Map<string, LiveAttempt>();

  get(name: AttemptName): LiveAttempt | undefined {
    return this.#attempts.get(nameOf(name));
  }

  /** Of a task that has one. */
  ofTask(run: number, node: number): LiveAttempt | undefined {
    return [...this.#attempts.values()].find(({ name }) => name.run === run && name.node === node);
  }

  of(worker: number): LiveAttempt[] {
    return [...this.#attempts.values()].filter((live) => live.worker === worker);
  }

  clear(): void {
    this.#attempts.clear();
  }

  forgetWorker(number: number): void {
    for (const { name } of this.of(number)) this.#attempts.delete(nameOf(name));
  }

  follow(event: LedgerEvent, nowMs: number): void {
    switch (event.kind) {
      case "TaskAssigned": {
        const { run, node, attempt, worker } = event;
        const name = { run, node, attempt };
        const untouched = { startedAt: -1, cancelling: false, timed: false, reportedLost: false };
        this.#attempts.set(nameOf(name), { name, worker, sentAtMs: nowMs, ...untouched });
        break;
      }
      case "CancelSignalled": {
        const live = this.get(event);
        if (live) live.cancelling = true;
        break;
      }
      case "WorkerLost":
        this.forgetWorker(event.worker);
        break;
      case "TasksWithdrawn":
        for (const node of event.nodes) {
          const live = this.ofTask(event.run, node);
          if (live) this.#attempts.delete(nameOf(live.name));
        }
        break;
      case "AttemptStarted": {
        const live = this.get(event);
        if (live) live.startedAt = event.startedAt;
        break;
      }
      case "RunSubmitted":
        if (event.parent) this.#attempts.delete(nameOf(event.parent));
        break;
      case "ReportRefused":
      case "TaskBudgetExhausted":
      case "TaskRecharged":
        break;
      default:
        if ("attempt" in event && !isDecision(event)) this.#attempts.delete(nameOf(event));
    }
  }
}
