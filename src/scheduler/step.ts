import { invariant } from "../core/index.ts";
import type {
  CancelRequested,
  Input,
  LedgerEvent,
  RefusalCode,
  Report,
  RunSubmitted,
} from "../ledger/index.ts";
import { nodeOfKey, runOfKey, shouldAccept, shouldThrottle, type Worker } from "../placement/index.ts";
import { apply } from "./apply.ts";
import { dispatch, type Emit, isWaiting } from "./dispatch.ts";
import type { Run } from "./run.ts";
import type { State } from "./state.ts";
import { isEnded, isPlaced, Status } from "./status.ts";

/** Anything that happens to the scheduler, in the form in which it is recorded if it counts. */
export type Stimulus = Input;

/** The answer to a stimulus, in the order of the stimuli. */
export type Reply =
  | { readonly accepted: true; readonly throttle: boolean }
  | {
      readonly accepted: false;
      readonly code: RefusalCode | "duplicate-run" | "too-many-nodes" | "stale" | "unknown";
    };

/**
 * One turn: the stimuli in order of arrival, then one dispatch, all at one `now`.
 *
 * Pure but for the state that it changes: time arrives as an argument, and every event is applied as it is
 * decided and handed to `record`. A turn that records nothing has changed nothing.
 */
export function step(state: State, now: number, stimuli: readonly Stimulus[], record: Emit): Reply[] {
  invariant(now >= state.now, "time never runs backwards");
  const turn = new Turn(state, now, record);
  const replies = stimuli.map((stimulus) => turn.take(stimulus));
  turn.recordRefusals();
  dispatch(state, now, turn.emit);
  return replies;
}

const ACCEPTED: Reply = { accepted: true, throttle: false };
const THROTTLED: Reply = { accepted: true, throttle: true };

type Reported = Pick<Report, "kind" | "run" | "node" | "attempt">;

class Turn {
  readonly emit: Emit;
  readonly #state: State;
  readonly #now: number;
  readonly #refusals = new Map<string, { agent: string; code: RefusalCode; count: number }>();

  constructor(state: State, now: number, record: Emit) {
    this.#state = state;
    this.#now = now;
    this.emit = (event: LedgerEvent) => {
      apply(state, event, now);
      record(event);
    };
  }

  take(stimulus: Stimulus): Reply {
    switch (stimulus.kind) {
      case "RunSubmitted":
        return this.#submit(stimulus);
      case "WorkerRegistered":
        return this.#interrupt(this.#state.fleet.byId(stimulus.worker.id), stimulus);
      case "WorkerLost":
        return this.#interrupt(this.#state.fleet.workers[stimulus.worker], stimulus);
      case "WorkerLoadReported":
        return this.#reportLoad(stimulus.worker, stimulus);
      case "DrainRequested":
        return this.#drain(stimulus.worker, stimulus);
      case "AttemptStarted":
      case "AttemptFinished":
      case "AttemptFailed":
      case "AttemptTimedOut":
      case "AttemptLost":
      case "AttemptCancelled":
        return this.#report(stimulus);
      case "ReportRefused":
        return this.#refuseReport({ ...stimulus, kind: stimulus.report });
      case "CancelRequested":
        return this.#cancel(stimulus);
      case "SchedulerConfigured":
      case "SubmissionsRefused":
        this.emit(stimulus);
        return this.#accepted();
    }
  }

  recordRefusals(): void {
    for (const { agent, code, count } of this.#refusals.values()) {
      this.emit({ kind: "SubmissionsRefused", agent, code, count });
    }
  }

  #accepted(): Reply {
    return shouldThrottle(this.#state.fleet) ? THROTTLED : ACCEPTED;
  }

  #submit(event: RunSubmitted): Reply {
    const { config, fleet, backlog } = this.#state;
    const size = event.graph.ids.length;
    if (this.#state.runById(event.runId)) return { accepted: false, code: "duplicate-run" };
    if (size > config.maxNodes) return { accepted: false, code: "too-many-nodes" };
    if (backlog + size > config.backlogLimit) return this.#refuse(event.agent, "backlog");
    if (!shouldAccept(fleet, config.rejectThreshold)) return this.#refuse(event.agent, "backpressure");
    const number = this.#state.nextRun;
    this.emit(event);
    this.#endIfDone(this.#state.run(number));
    return this.#accepted();
  }

  #refuse(agent: string, code: RefusalCode): Reply {
    const key = JSON.stringify([agent, code]);
    const sum = this.#refusals.get(key) ?? { agent, code, count: 0 };
    sum.count++;
    this.#refusals.set(key, sum);
    return { accepted: false, code };
  }

  /** A worker that is lost, or that begins anew: what it held is settled. */
  #interrupt(worker: Worker | undefined, event: LedgerEvent): Reply {
    if (event.kind === "WorkerLost" && (!worker || worker.status === "Unreachable")) {
      return { accepted: false, code: worker ? "stale" : "unknown" };
    }
    const interrupted = worker ? [...worker.held.keys()].sort((a, b) => a - b) : [];
    this.emit(event);
    for (const key of interrupted) this.#settle(this.#state.run(runOfKey(key)), nodeOfKey(key), true);
    return this.#accepted();
  }

  #reportLoad(number: number, event: Extract<Stimulus, { kind: "WorkerLoadReported" }>): Reply {
    const worker = this.#state.fleet.workers[number];
    if (!worker) return { accepted: false, code: "unknown" };
    if (worker.status === "Draining" || worker.status === "Unreachable")
      return { accepted: false, code: "stale" };
    const overloaded = this.#state.fleet.isOverloaded(worker, event.loadPermille, event.saysOverloaded);
    if (overloaded !== (worker.status === "Overloaded")) this.emit(event);
    return this.#accepted();
  }

  #drain(number: number, event: LedgerEvent): Reply {
    const worker = this.#state.fleet.workers[number];
    if (!worker) return { accepted: false, code: "unknown" };
    if (worker.status === "Draining" || worker.status === "Unreachable")
      return { accepted: false, code: "stale" };
    this.emit(event);
    return this.#accepted();
  }

  #report(report: Report): Reply {
    if (!isWellFormed(report)) return { accepted: false, code: "unknown" };
    const run = this.#state.runs.get(report.run);
    if (!isCurrent(run, report)) return this.#refuseReport(report);
    this.emit(report);
    if (report.kind === "AttemptFinished") this.#endIfDone(run as Run);
    else if (report.kind !== "AttemptStarted")
      this.#settle(run as Run, report.node, report.kind === "AttemptLost");
    return this.#accepted();
  }

  #refuseReport({ kind, run, node, attempt }: Reported): Reply {
    const known = this.#state.runs.get(run);
    invariant(!isCurrent(known, { kind, run, node, attempt }), "a report that was refused is refused again");
    const code = known?.has(node) ? "stale" : "unknown";
    this.emit({ kind: "ReportRefused", run, node, attempt, report: kind, code });
    return { accepted: false, code };
  }

  #cancel(event: CancelRequested): Reply {
    const run = this.#state.runs.get(event.run);
    if (!run || (event.node !== -1 && !run.has(event.node))) return { accepted: false, code: "unknown" };
    const ended =
      event.node === -1
        ? run.outcome !== undefined || run.cancelRequested
        : isEnded(run.statusOf(event.node));
    if (ended) return { accepted: false, code: "stale" };
    this.emit(event);
    if (event.node === -1) this.#cancelRest(run);
    else this.#cancelNode(run, event.node);
    this.#endIfDone(run);
    return this.#accepted();
  }

  #cancelNode(run: Run, node: number): void {
    if (isWaiting(run, node)) {
      this.emit({ kind: "TaskCancelled", run: run.number, node });
      this.#skipDependents(run, node);
    } else if (run.statusOf(node) !== Status.cancelling) {
      const attempt = run.attempt[node] as number;
      this.emit({ kind: "CancelSignalled", run: run.number, node, attempt });
    }
  }

  #cancelRest(run: Run): void {
    for (let node = 0; node < run.graph.size; node++) {
      if (isWaiting(run, node)) this.emit({ kind: "TaskCancelled", run: run.number, node });
      else if (isPlaced(run.statusOf(node))) this.#cancelNode(run, node);
    }
  }

  /** An attempt has ended without a result: try again, or give up. */
  #settle(run: Run, node: number, lost: boolean): void {
    const task = run.graph.taskOf(node);
    const attempt = run.attempt[node] as number;
    if (run.statusOf(node) === Status.settlingCancel || (attempt < task.maxAttempts && hasFailed(run))) {
      this.emit({ kind: "TaskCancelled", run: run.number, node });
      this.#skipDependents(run, node);
    } else if (attempt < task.maxAttempts) {
      const dueAt =
        this.#now + (lost ? 0 : backoffMs(task.backoffMs, attempt, this.#state.config.maxBackoffMs));
      this.emit({ kind: "TaskRetried", run: run.number, node, dueAt });
    } else {
      this.emit({ kind: "TaskFailed", run: run.number, node, code: "attempts" });
      this.#skipDependents(run, node);
      if (run.onFailure === "cancel") this.#cancelRest(run);
    }
    this.#endIfDone(run);
  }

  #skipDependents(run: Run, node: number): void {
    const nodes = run.openDependents(node);
    if (nodes.length > 0) this.emit({ kind: "TasksSkipped", run: run.number, node, nodes });
  }

  #endIfDone(run: Run): void {
    if (run.unfinished > 0 || run.outcome !== undefined) return;
    const outcome = run.cancelRequested
      ? "cancelled"
      : run.count(Status.completed) === run.graph.size
        ? "completed"
        : "failed";
    this.emit({ kind: "RunEnded", run: run.number, outcome });
  }
}

/** Whether nothing of the run shall begin any more, because one of its tasks has failed. */
function hasFailed(run: Run): boolean {
  return run.onFailure === "cancel" && run.count(Status.failed) > 0;
}

/** Numbers from outside that the ledger could not hold, or not read back, are not recorded at all. */
function isWellFormed(report: Report): boolean {
  return (
    Number.isSafeInteger(report.run) &&
    Number.isSafeInteger(report.node) &&
    Number.isSafeInteger(report.attempt) &&
    Number.isSafeInteger(report.startedAt) &&
    (report.kind !== "AttemptFinished" || Number.isSafeInteger(report.resultBytes))
  );
}

function isCurrent(run: Run | undefined, report: Reported): boolean {
  if (!run?.has(report.node)) return false;
  if (run.attempt[report.node] !== report.attempt) return false;
  const status = run.statusOf(report.node);
  return report.kind === "AttemptStarted" ? status === Status.assigned : isPlaced(status);
}

/** Doubles with each attempt. */
function backoffMs(baseMs: number, attempt: number, maxMs: number): number {
  return Math.min(baseMs * 2 ** Math.min(attempt - 1, 40), maxMs);
}
