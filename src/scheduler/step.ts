import { invariant } from "../core/index.ts";
import type {
  CancelRequested,
  ChunkLost,
  CreditsGranted,
  Input,
  LedgerEvent,
  RefusalCode,
  Report,
  RunSubmitted,
  TaskBudgetExhausted,
  TaskRecharged,
  TaskSubmitted,
  VoteTaken,
} from "../ledger/index.ts";
import {
  NO_RUN,
  nodeOfKey,
  runOfKey,
  shouldAccept,
  shouldThrottle,
  type Worker,
} from "../placement/index.ts";
import type { Excess } from "./accounts.ts";
import { apply } from "./apply.ts";
import { isNewCharge } from "./charges.ts";
import {
  cancelWithdrawn,
  evictCached,
  freeChunks,
  recomputeLost,
  releaseRun,
  reuseResults,
  takeLostChunk,
  withdrawFollowers,
} from "./data-decisions.ts";
import { dispatch, type Emit } from "./dispatch.ts";
import { Endings } from "./endings.ts";
import { excessOf } from "./excess.ts";
import { expand } from "./expansion.ts";
import { isAhead, placeFollowers } from "./followers.ts";
import { zonedKey } from "./group.ts";
import { settleLinks } from "./links.ts";
import { boostCost } from "./new-single.ts";
import { recallQueued } from "./recalls.ts";
import { causeOf, isCurrent, isWellFormed, type Reported } from "./reports.ts";
import type { Run } from "./run.ts";
import type { AlternativeOf } from "./singles.ts";
import type { State } from "./state.ts";
import { isEnded, isPlaced, isSettling } from "./status.ts";
import { endedAlternative, voteOn } from "./votes.ts";

/** An input, with details that decide whether it is recorded or that only its refusal records. */
export type Stimulus = Exclude<Input, Report | ChunkLost> | ReportOf | LossOf;

type ReportOf = Report & {
  readonly taskId?: string;
  /** The number of the worker that reports. */
  readonly reporter?: number;
};

type RefusedReport = Reported & {
  readonly taskId?: string | undefined;
  readonly reporter?: number | undefined;
};

type LossOf = ChunkLost & {
  /** The attempt that misses the chunk. If it is not the current one, its report changes nothing. */
  readonly missedBy?: Reported;
};

/** The answer to a stimulus, in the order of the stimuli. */
export type Reply = { readonly accepted: true; readonly throttle: boolean } | Refusal;

interface Refusal {
  readonly accepted: false;
  readonly code: RefusalCode | "duplicate-run" | "duplicate-task" | "too-many-nodes" | "stale" | "unknown";
  /** When it would be taken, where that is known. */
  readonly retryAt?: number;
  /** The limit that a `backlog` refusal met, and the amount that is held. */
  readonly excess?: Excess;
}

/**
 * One turn: the stimuli in order of arrival, then one dispatch, all at one `now`.
 *
 * Pure but for the state that it changes: time arrives as an argument, and every event is handed to `record` and
 * applied as it is decided. `record` still sees the state before it, which knows the tasks that the event ends. A
 * turn that records nothing has changed nothing.
 */
export function step(state: State, now: number, stimuli: readonly Stimulus[], record: Emit): Reply[] {
  invariant(now >= state.now, "time never runs backwards");
  const turn = new Turn(state, now, record);
  state.specimens.turn = turn;
  const replies: Reply[] = [];
  for (const stimulus of stimuli) {
    replies.push(turn.take(stimulus));
    turn.vote();
  }
  turn.recordRefusals();
  turn.expire();
  do reuseResults(turn.endings);
  while (settleLinks(turn.endings));
  freeChunks(turn.endings);
  evictCached(turn.endings);
  dispatch(state, now, turn.emit);
  if (turn.stirred) placeFollowers(state, turn.stirred, turn.emit);
  recallQueued(state, now, turn.emit);
  return replies;
}

const ACCEPTED: Reply = { accepted: true, throttle: false };
const THROTTLED: Reply = { accepted: true, throttle: true };

class Turn {
  readonly emit: Emit;
  readonly endings: Endings;
  readonly #state: State;
  readonly #now: number;
  /** The workers that were given something of a run with data, or have ended something. */
  stirred: Set<number> | undefined;
  /** Nodes of which an alternative has ended. */
  readonly #toVoteOn: AlternativeOf[] = [];
  #refusals: Map<string, { agent: string; code: RefusalCode; count: number }> | undefined;

  constructor(state: State, now: number, record: Emit) {
    this.#state = state;
    this.#now = now;
    this.emit = (event: LedgerEvent) => {
      const alternativeOf = state.singles.alternatives > 0 ? endedAlternative(state, event) : undefined;
      if (state.dataRuns.size > 0) this.#noteStirred(event);
      record(event);
      apply(state, event, now);
      if (alternativeOf) this.#toVoteOn.push(alternativeOf);
    };
    this.endings = new Endings(state, now, this.emit);
  }

  #noteStirred(event: LedgerEvent): void {
    if (event.kind !== "TaskAssigned" && event.kind !== "AttemptFinished") return;
    this.stirred ??= new Set();
    this.stirred.add(
      event.kind === "TaskAssigned" ? event.worker : this.#state.tasks(event.run).workerOf(event.node),
    );
  }

  take(stimulus: Stimulus): Reply {
    switch (stimulus.kind) {
      case "RunSubmitted":
        return this.#submit(stimulus);
      case "TaskSubmitted":
        return this.#submitTask(stimulus);
      case "WorkerRegistered":
        return this.#interrupt(this.#state.fleet.continuedBy(stimulus.worker), stimulus);
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
        return this.#refuseReport({ ...stimulus, kind: stimulus.report, reporter: stimulus.worker });
      case "CancelRequested":
        return this.#cancel(stimulus);
      case "ChunkLost":
        return this.#loseChunk(stimulus);
      case "RunReleased":
        return this.#answer(releaseRun(this.endings, stimulus));
      case "TaskBudgetExhausted":
      case "TaskRecharged":
        return this.#charge(stimulus);
      case "CreditsGranted":
        return this.#grant(stimulus);
      case "SchedulerConfigured":
      case "ClockCorrected":
      case "SubmissionsRefused":
      case "AgentConfigured":
      case "ZoneConfigured":
      case "LimitConfigured":
      case "QueuePaused":
      case "QueueResumed":
      case "AuditRecorded":
        this.emit(stimulus);
        return this.#accepted();
    }
  }

  /** Takes the votes that can be decided now. What then still runs is of no use any more. */
  vote(): void {
    for (let next = this.#toVoteOn.shift(); next; next = this.#toVoteOn.shift()) {
      const run = this.#state.runs.get(next.run);
      const vote = run && voteOn(run, next.node, this.#now);
      if (vote) this.#takeVote(run, vote);
    }
  }

  #takeVote(run: Run, vote: VoteTaken): void {
    this.emit(vote);
    if (vote.winner === -1) this.endings.fail(run, vote.node, "escalated");
    this.endings.cancelAlternatives(run, vote.node);
    this.endings.endIfDone(run);
  }

  recordRefusals(): void {
    if (!this.#refusals) return;
    for (const { agent, code, count } of this.#refusals.values()) {
      this.emit({ kind: "SubmissionsRefused", agent, code, count });
    }
  }

  /** Fails what waits beyond its deadline. */
  expire(): void {
    for (let at = this.#state.nextDeadline(); at !== undefined && at <= this.#now; ) {
      const single = this.#state.nextToExpire();
      invariant(single, "a deadline that passes belongs to a task that waits");
      this.emit({ kind: "TaskFailed", run: NO_RUN, node: single.number, code: "expired" });
      at = this.#state.nextDeadline();
    }
  }

  #answer(refused: Refusal["code"] | undefined): Reply {
    return refused ? { accepted: false, code: refused } : this.#accepted();
  }

  #accepted(): Reply {
    return shouldThrottle(this.#state.fleet) ? THROTTLED : ACCEPTED;
  }

  #submit(event: RunSubmitted): Reply {
    const { config } = this.#state;
    const size = event.graph.ids.length;
    if (this.#state.runById(event.runId)) return { accepted: false, code: "duplicate-run" };
    if (size > config.maxNodes) return { accepted: false, code: "too-many-nodes" };
    if (event.parent) return this.#answer(expand(this.endings, event, event.parent));
    const excess = excessOf(this.#state, event);
    if (excess) return this.#refuse(event, "backlog", excess);
    const refused = this.#refusalOf(event.zone, event.agent);
    if (refused) return this.#refuse(event, refused);
    const number = this.#state.nextRun;
    this.emit(event);
    this.endings.endIfDone(this.#state.run(number));
    return this.#accepted();
  }

  #submitTask(event: TaskSubmitted): Reply {
    const { config, credits, singles } = this.#state;
    if (singles.byId(event.id)) return { accepted: false, code: "duplicate-task" };
    const excess = excessOf(this.#state, event);
    if (excess) return this.#refuse(event, "backlog", excess);
    const refused = this.#refusalOf(event.zone, event.agent);
    if (refused) return this.#refuse(event, refused);
    const cost = config.credits ? boostCost(event.boostMicros, config) : 0;
    if (cost > 0 && !credits.canReserve(zonedKey(event.zone, event.agent), cost)) {
      return this.#refuse(event, "credits");
    }
    this.emit(event);
    return this.#accepted();
  }

  /** A balance that could not be counted exactly is not granted. */
  #grant(event: CreditsGranted): Reply {
    const balance = this.#state.credits.balance(zonedKey(event.zone, event.agent));
    if (!Number.isSafeInteger(balance + event.micros)) return { accepted: false, code: "credits" };
    this.emit(event);
    return this.#accepted();
  }

  /** Returns any other reason to refuse more tasks of an agent. */
  #refusalOf(zone: string, agent: string): RefusalCode | undefined {
    const { config, fleet, shares, rates } = this.#state;
    if (!shouldAccept(fleet, config.rejectThreshold)) return "backpressure";
    if (config.overLimit === "reject" && !shares.admit(zone, zonedKey(zone, agent))) return "fair-share";
    if (rates.nextAt(zonedKey(zone, agent), this.#now) !== undefined) return "rate-limit";
    return undefined;
  }

  #refuse({ zone, agent }: RunSubmitted | TaskSubmitted, code: RefusalCode, excess?: Excess): Reply {
    const key = JSON.stringify([agent, code]);
    this.#refusals ??= new Map();
    const sum = this.#refusals.get(key) ?? { agent, code, count: 0 };
    sum.count++;
    this.#refusals.set(key, sum);
    if (excess) return { accepted: false, code, excess };
    if (code !== "rate-limit") return { accepted: false, code };
    const retryAt = this.#state.rates.nextAt(zonedKey(zone, agent), this.#now) ?? this.#now;
    return { accepted: false, code, retryAt };
  }

  /** A worker that is lost, or that begins anew: what it held is settled. */
  #interrupt(worker: Worker | undefined, event: LedgerEvent): Reply {
    if (event.kind === "WorkerLost" && (!worker || worker.status === "Unreachable")) {
      return { accepted: false, code: worker ? "stale" : "unknown" };
    }
    const interrupted = worker ? [...worker.held.keys(), ...worker.ahead].sort((a, b) => a - b) : [];
    this.emit(event);
    for (const key of interrupted) {
      const tasks = this.#state.tasksAt(runOfKey(key));
      // The end of another may have been its own.
      if (tasks && isSettling(tasks.statusOf(nodeOfKey(key))))
        this.endings.settle(tasks, nodeOfKey(key), "lost");
    }
    // What has failed now no longer needs anything.
    for (const run of this.#state.dataRuns) recomputeLost(this.endings, run);
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

  #loseChunk({ kind, run, node, worker, missedBy }: LossOf): Reply {
    if (missedBy && !isCurrent(this.#state.tasksAt(missedBy.run), missedBy))
      return { accepted: false, code: "stale" };
    return this.#answer(takeLostChunk(this.endings, { kind, run, node, worker }));
  }

  #report(report: ReportOf): Reply {
    if (!isWellFormed(report)) return { accepted: false, code: "unknown" };
    const tasks = this.#state.tasksAt(report.run);
    if (!tasks || !isCurrent(tasks, report)) return this.#refuseReport(report);
    // It cannot have what was not made: its worker is wrong, and will be asked again.
    if (report.kind === "AttemptFinished" && isAhead(this.#state, tasks, report.node))
      return { accepted: false, code: "stale" };
    if (report.kind === "AttemptStarted") this.emit(report);
    else if (report.kind === "AttemptFinished") {
      this.emit(report);
      this.endings.endIfDone(tasks);
    } else {
      const stopped = withdrawFollowers(this.endings, tasks, report.node);
      this.emit(report);
      this.endings.settle(tasks, report.node, causeOf(report));
      for (const node of stopped) cancelWithdrawn(this.endings, tasks, node);
    }
    return this.#accepted();
  }

  #refuseReport({ kind, run, node, attempt, taskId, reporter: worker }: RefusedReport): Reply {
    const known = this.#state.tasksAt(run);
    invariant(!isCurrent(known, { kind, run, node, attempt }), "a report that was refused is refused again");
    const code = known?.has(node) ? "stale" : "unknown";
    this.emit({
      kind: "ReportRefused",
      run,
      node,
      attempt,
      report: kind,
      code,
      ...(taskId !== undefined && { taskId }),
      ...(worker !== undefined && { worker }),
    });
    return { accepted: false, code };
  }

  /** Of an attempt with a budget, and for the first time. */
  #charge(event: TaskBudgetExhausted | TaskRecharged): Reply {
    const tasks = this.#state.tasksAt(event.run);
    if (!tasks?.has(event.node)) return { accepted: false, code: "unknown" };
    const { budget } = tasks.taskOf(event.node);
    const isOf = isPlaced(tasks.statusOf(event.node)) && tasks.attemptOf(event.node) === event.attempt;
    if (!isOf || budget.length === 0 || !isNewCharge(this.#state, event))
      return { accepted: false, code: "stale" };
    this.emit(event);
    return this.#accepted();
  }

  #cancel(event: CancelRequested): Reply {
    if (event.node === -1) return this.#cancelRun(event);
    const tasks = this.#state.tasksAt(event.run);
    if (!tasks?.has(event.node)) return { accepted: false, code: "unknown" };
    if (isEnded(tasks.statusOf(event.node))) return { accepted: false, code: "stale" };
    this.emit(event);
    this.endings.cancelNode(tasks, event.node);
    this.endings.endIfDone(tasks);
    return this.#accepted();
  }

  #cancelRun(event: CancelRequested): Reply {
    const run = this.#state.runs.get(event.run);
    if (!run) return { accepted: false, code: "unknown" };
    if (run.outcome !== undefined || run.cancelRequested) return { accepted: false, code: "stale" };
    this.emit(event);
    this.endings.cancelRest(run);
    this.endings.endIfDone(run);
    return this.#accepted();
  }
}
