import { hash32 } from "../core/index.ts";
import type { TaskFailed } from "../ledger/index.ts";
import { cancelUnneeded, type DataTurn, freeForgotten, MAX_LOSSES } from "./data-decisions.ts";
import { type Emit, isWaiting } from "./dispatch.ts";
import { cancelExpansion, endExpansion, isOrphan } from "./expansion.ts";
import type { Cause } from "./reports.ts";
import type { Run } from "./run.ts";
import type { State } from "./state.ts";
import { isEnded, isPlaced, Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";

/** How tasks end without a result, and runs with or without one: what one end brings about is decided with it. */
export class Endings implements DataTurn {
  readonly state: State;
  readonly emit: Emit;
  readonly #now: number;

  constructor(state: State, now: number, emit: Emit) {
    this.state = state;
    this.emit = emit;
    this.#now = now;
  }

  cancelAlternatives(run: Run, node: number): void {
    const { singles } = this.state;
    for (const number of run.speculations.get(node)?.open() ?? []) this.cancelTask(singles, number);
  }

  cancelTask(tasks: Tasks, node: number): void {
    const status = tasks.statusOf(node);
    if (isWaiting(tasks, node) || status === Status.speculating || status === Status.expanded) {
      this.emit({ kind: "TaskCancelled", run: tasks.number, node });
      this.skipDependents(tasks, node);
      const run = this.state.runs.get(tasks.number);
      if (run) this.cancelAlternatives(run, node);
      if (run?.data) cancelExpansion(this, run, node);
    } else if (tasks.statusOf(node) !== Status.cancelling) {
      this.emit({ kind: "CancelSignalled", run: tasks.number, node, attempt: tasks.attemptOf(node) });
    }
  }

  /** Somebody asked for it: with it goes what nobody else needs. */
  cancelNode(tasks: Tasks, node: number): void {
    this.#withUnneeded(tasks, node, () => this.cancelTask(tasks, node));
  }

  /** What cancels a node, and skips what depends on it. */
  #withUnneeded(tasks: Tasks, node: number, cancel: () => void): void {
    const run = this.state.runs.get(tasks.number);
    const skipped = run?.data ? run.openDependents(node) : [];
    cancel();
    if (run?.data && isEnded(run.statusOf(node))) cancelUnneeded(this, run, [node, ...skipped]);
  }

  cancelRest(run: Run): void {
    for (let node = 0; node < run.graph.size; node++) {
      const status = run.statusOf(node);
      if (isWaiting(run, node)) this.emit({ kind: "TaskCancelled", run: run.number, node });
      else if (isPlaced(status) || status === Status.speculating || status === Status.expanded)
        this.cancelTask(run, node);
    }
  }

  /** An attempt has ended without a result: try again, or give up. */
  settle(tasks: Tasks, node: number, cause: Cause): void {
    const { maxAttempts, backoffMs } = tasks.taskOf(node);
    const attempt = tasks.attemptOf(node) - tasks.uncountedOf(node);
    const isPoison = cause === "lost" && this.#isPoison(tasks, node);
    const isLast = attempt >= maxAttempts || cause === "fatal" || isPoison;
    const run = tasks.number;
    const dead = this.state.runs.get(run)?.deadNeedOf(node);
    if (tasks.statusOf(node) === Status.settlingCancel || (!isLast && this.isStopping(tasks))) {
      this.#withUnneeded(tasks, node, () => {
        this.emit({ kind: "TaskCancelled", run, node });
        this.skipDependents(tasks, node);
      });
    } else if (!isLast && dead !== undefined) this.skipDependents(tasks, dead);
    else if (!isLast) {
      const waitMs = cause === "lost" ? 0 : this.#backoffMs(tasks, node, backoffMs, attempt);
      this.emit({ kind: "TaskRetried", run, node, dueAt: this.#now + waitMs });
    } else {
      this.fail(tasks, node, isPoison ? "poison" : cause === "fatal" ? "fatal" : "attempts");
    }
    this.endIfDone(tasks);
  }

  /** So many workers were lost with it that it is the likely cause. */
  #isPoison(tasks: Tasks, node: number): boolean {
    return (this.state.runs.get(tasks.number)?.data?.deaths.get(node) ?? 0) >= MAX_LOSSES;
  }

  fail(tasks: Tasks, node: number, code: TaskFailed["code"]): void {
    this.emit({ kind: "TaskFailed", run: tasks.number, node, code });
    this.skipDependents(tasks, node);
    const run = this.state.runs.get(tasks.number);
    if (run?.onFailure === "cancel") this.cancelRest(run);
  }

  /** Doubles with each attempt; a little longer for some than for others, so that they do not all come at once. */
  #backoffMs(tasks: Tasks, node: number, baseMs: number, attempt: number): number {
    const { maxBackoffMs, jitterPermille } = this.state.config;
    const waitMs = Math.min(baseMs * 2 ** Math.min(attempt - 1, 40), maxBackoffMs);
    if (jitterPermille === 0) return waitMs;
    const part = hash32(tasks.taskIdOf(node), tasks.attemptOf(node)) % (jitterPermille + 1);
    return waitMs + Math.floor((waitMs * part) / 1000);
  }

  skipDependents(tasks: Tasks, node: number): void {
    const run = this.state.runs.get(tasks.number);
    const nodes = run?.openDependents(node) ?? [];
    if (nodes.length > 0) this.emit({ kind: "TasksSkipped", run: tasks.number, node, nodes });
  }

  /** Whether nothing of its run shall begin any more: one of its tasks has failed, or nobody waits for what it was added for. */
  isStopping(tasks: Tasks): boolean {
    const run = this.state.runs.get(tasks.number);
    if (!run) return false;
    return (run.onFailure === "cancel" && run.count(Status.failed) > 0) || isOrphan(this, run);
  }

  endIfDone(tasks: Tasks): void {
    const run = this.state.runs.get(tasks.number);
    if (!run || run.unfinished > 0 || run.outcome !== undefined) return;
    const outcome =
      run.cancelRequested || isOrphan(this, run)
        ? "cancelled"
        : run.count(Status.completed) === run.graph.size
          ? "completed"
          : "failed";
    freeForgotten(this, run);
    this.emit({ kind: "RunEnded", run: run.number, outcome });
    if (run.parent) endExpansion(this, run);
  }
}
