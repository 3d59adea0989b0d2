import { hash32, invariant } from "../core/index.ts";
import type {
  CancelRequested,
  ChunkLost,
  CreditsGranted,
  Input,
  LedgerEvent,
  RefusalCode,
  Report,
  RunParent,
  RunReleased,
  RunSubmitted,
  TaskBudgetExhausted,
  TaskFailed,
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
  taskKey,
  type Worker,
} from "../placement/index.ts";
import { apply } from "./apply.ts";
import { isNewCharge } from "./charges.ts";
import { reusable } from "./data-events.ts";
import { dispatch, type Emit, isWaiting } from "./dispatch.ts";
import { followersOf, placeFollowers, readersAhead } from "./followers.ts";
import { zonedKey } from "./group.ts";
import { boostCost } from "./new-single.ts";
import { type Cause, causeOf, isCurrent, isWellFormed, type Reported } from "./reports.ts";
import type { Run } from "./run.ts";
import type { AlternativeOf } from "./singles.ts";
import type { State } from "./state.ts";
import { isEnded, isPlaced, isSettling, Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";
import { endedAlternative, voteOn } from "./votes.ts";

/** Anything that happens to the scheduler, in the form in which it is recorded if it counts. */
export type Stimulus = Input;

/** The answer to a stimulus, in the order of the stimuli. */
export type Reply =
  | { readonly accepted: true; readonly throttle: boolean }
  | {
      readonly accepted: false;
      readonly code:
        | RefusalCode
        | "duplicate-run"
        | "duplicate-task"
        | "too-many-nodes"
        | "stale"
        | "unknown";
      /** When it would be taken, where that is known. */
      readonly retryAt?: number;
    };

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
  const replies = stimuli.map((stimulus) => {
    const reply = turn.take(stimulus);
    turn.vote();
    return reply;
  });
  turn.recordRefusals();
  turn.expire();
  turn.reuse();
  turn.freeChunks();
  dispatch(state, now, turn.emit);
  placeFollowers(state, turn.stirred, turn.emit);
  return replies;
}

/** How often the same may be lost before it is taken for the cause. */
const MAX_LOSSES = 3;

const ACCEPTED: Reply = { accepted: true, throttle: false };
const THROTTLED: Reply = { accepted: true, throttle: true };

class Turn {
  readonly emit: Emit;
  readonly #state: State;
  readonly #now: number;
  /** The workers that were given something, or have ended something. */
  readonly stirred: Set<number> = new Set();
  /** Nodes of which an alternative has ended. */
  readonly #toVoteOn: AlternativeOf[] = [];
  readonly #refusals = new Map<string, { agent: string; code: RefusalCode; count: number }>();

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
  }

  #noteStirred(event: LedgerEvent): void {
    if (event.kind === "TaskAssigned") this.stirred.add(event.worker);
    else if (event.kind === "AttemptFinished")
      this.stirred.add(this.#state.tasks(event.run).workerOf(event.node));
  }

  take(stimulus: Stimulus): Reply {
    switch (stimulus.kind) {
      case "RunSubmitted":
        return this.#submit(stimulus);
      case "TaskSubmitted":
        return this.#submitTask(stimulus);
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
      case "ChunkLost":
        return this.#loseChunk(stimulus);
      case "RunReleased":
        return this.#release(stimulus);
      case "TaskBudgetExhausted":
      case "TaskRecharged":
        return this.#charge(stimulus);
      case "CreditsGranted":
        return this.#grant(stimulus);
      case "SchedulerConfigured":
      case "SubmissionsRefused":
      case "AgentConfigured":
      case "ZoneConfigured":
      case "LimitConfigured":
      case "QueuePaused":
      case "QueueResumed":
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
    if (vote.winner === -1) this.#fail(run, vote.node, "escalated");
    this.#cancelAlternatives(run, vote.node);
    this.#endIfDone(run);
  }

  #cancelAlternatives(run: Run, node: number): void {
    const { singles } = this.#state;
    for (const number of run.speculations.get(node)?.open() ?? []) this.#cancelTask(singles, number);
  }

  recordRefusals(): void {
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

  /** Takes from the cache what is there, and then what has become ready by that. */
  reuse(): void {
    for (const run of this.#state.dataRuns) {
      for (
        let found = [...reusable(this.#state, run)];
        found.length > 0;
        found = [...reusable(this.#state, run)]
      ) {
        for (const { node, found: result } of found) {
          const { taskId, resultHash, resultBytes } = result;
          this.emit({ kind: "TaskReused", run: run.number, node, taskId, resultHash, resultBytes });
        }
      }
      this.#endIfDone(run);
    }
  }

  /** Results that nobody needs any more. */
  freeChunks(): void {
    for (const { number, data } of this.#state.dataRuns) {
      if (!data || data.idle.size === 0) continue;
      this.emit({ kind: "ChunksFreed", run: number, nodes: [...data.idle].sort((a, b) => a - b) });
    }
  }

  #accepted(): Reply {
    return shouldThrottle(this.#state.fleet) ? THROTTLED : ACCEPTED;
  }

  #submit(event: RunSubmitted): Reply {
    const { config } = this.#state;
    const size = event.graph.ids.length;
    if (this.#state.runById(event.runId)) return { accepted: false, code: "duplicate-run" };
    if (size > config.maxNodes) return { accepted: false, code: "too-many-nodes" };
    if (event.parent) return this.#expand(event, event.parent);
    const refused = this.#refusalOf(event.zone, event.agent, size);
    if (refused) return this.#refuse(event, refused);
    const number = this.#state.nextRun;
    this.emit(event);
    this.#endIfDone(this.#state.run(number));
    return this.#accepted();
  }

  /** What an attempt adds to its run is part of what was taken already: nothing more is asked than that it may. */
  #expand(event: RunSubmitted, parent: RunParent): Reply {
    const run = this.#state.runs.get(parent.run);
    if (!run?.data || !isCurrent(run, { kind: "AttemptFinished", ...parent }))
      return { accepted: false, code: "stale" };
    if (run.statusOf(parent.node) === Status.cancelling) return { accepted: false, code: "stale" };
    const { ids } = event.graph;
    if (ids.length > (run.taskOf(parent.node).mayAdd ?? 0))
      return { accepted: false, code: "too-many-nodes" };
    const stopped = this.#withdrawFollowers(run, parent.node);
    const number = this.#state.nextRun;
    this.emit(event);
    for (const node of stopped) this.#cancelWithdrawn(run, node);
    this.#endIfDone(this.#state.run(number));
    return this.#accepted();
  }

  /** A node that expanded into a run has ended with it. */
  #endExpansion(child: Run): void {
    const { run: number, node } = child.parent ?? { run: NO_RUN, node: -1 };
    const run = this.#state.runs.get(number);
    if (run?.statusOf(node) !== Status.expanded) return;
    if (child.outcome === "completed") {
      this.emit({ kind: "ExpansionEnded", run: number, node, child: child.number });
      this.#recompute(run);
    } else this.#fail(run, node, "expansion");
    this.#endIfDone(run);
  }

  #submitTask(event: TaskSubmitted): Reply {
    const { config, credits, singles } = this.#state;
    if (singles.byId(event.id)) return { accepted: false, code: "duplicate-task" };
    const refused = this.#refusalOf(event.zone, event.agent, 1);
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

  /** What stands against so many more tasks of an agent. */
  #refusalOf(zone: string, agent: string, tasks: number): RefusalCode | undefined {
    const { config, fleet, backlog, shares, rates } = this.#state;
    if (backlog + tasks > config.backlogLimit) return "backlog";
    if (!shouldAccept(fleet, config.rejectThreshold)) return "backpressure";
    if (config.overLimit === "reject" && !shares.admit(zone, zonedKey(zone, agent))) return "fair-share";
    if (rates.nextAt(zonedKey(zone, agent), this.#now) !== undefined) return "rate-limit";
    return undefined;
  }

  #refuse({ zone, agent }: RunSubmitted | TaskSubmitted, code: RefusalCode): Reply {
    const key = JSON.stringify([agent, code]);
    const sum = this.#refusals.get(key) ?? { agent, code, count: 0 };
    sum.count++;
    this.#refusals.set(key, sum);
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
      if (tasks && isSettling(tasks.statusOf(nodeOfKey(key)))) this.#settle(tasks, nodeOfKey(key), "lost");
    }
    // What has failed now no longer needs anything.
    for (const run of this.#state.dataRuns) this.#recompute(run);
    return this.#accepted();
  }

  /** Makes what was lost and is needed again. What a run that has ended kept is lost for good. */
  #recompute(run: Run): void {
    if (!run.data || run.outcome !== undefined || run.cancelRequested || this.#hasFailed(run)) return;
    const nodes = run.data.toRecompute((node) => run.statusOf(node) === Status.completed);
    if (nodes.length === 0) return;
    const ahead = nodes.flatMap((node) => readersAhead(this.#state, run, node));
    const stopped = this.#withdraw(run, ahead);
    this.emit({ kind: "NodesRecomputed", run: run.number, nodes });
    for (const node of stopped) this.#cancelWithdrawn(run, node);
  }

  #loseChunk(event: ChunkLost): Reply {
    const run = this.#state.runs.get(event.run);
    if (!run?.data || !run.has(event.node)) return { accepted: false, code: "unknown" };
    if (!run.data.holders.get(event.node)?.includes(event.worker)) return { accepted: false, code: "stale" };
    this.emit(event);
    this.#recompute(run);
    const isBad = (run.data.breaches.get(event.node) ?? 0) >= MAX_LOSSES && isWaiting(run, event.node);
    if (isBad) {
      this.#fail(run, event.node, "corrupt");
      this.#endIfDone(run);
    }
    return this.#accepted();
  }

  #release(event: RunReleased): Reply {
    const data = this.#state.runs.get(event.run)?.data;
    if (!data) return { accepted: false, code: "unknown" };
    if (data.isReleased) return { accepted: false, code: "stale" };
    this.emit(event);
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
    const tasks = this.#state.tasksAt(report.run);
    if (!tasks || !isCurrent(tasks, report)) return this.#refuseReport(report);
    // It cannot have what was not made: its worker is wrong, and will be asked again.
    if (report.kind === "AttemptFinished" && this.#isAhead(tasks, report.node))
      return { accepted: false, code: "stale" };
    if (report.kind === "AttemptStarted") this.emit(report);
    else if (report.kind === "AttemptFinished") {
      this.emit(report);
      this.#endIfDone(tasks);
    } else {
      const stopped = this.#withdrawFollowers(tasks, report.node);
      this.emit(report);
      this.#settle(tasks, report.node, causeOf(report));
      for (const node of stopped) this.#cancelWithdrawn(tasks, node);
    }
    return this.#accepted();
  }

  #isAhead(tasks: Tasks, node: number): boolean {
    const worker = this.#state.fleet.workers[tasks.workerOf(node)];
    return worker?.ahead.has(taskKey(tasks.number, node)) ?? false;
  }

  /** What its worker was given in the belief that it would complete there. Those are returned that were to stop. */
  #withdrawFollowers(tasks: Tasks, node: number): number[] {
    const run = this.#state.runs.get(tasks.number);
    return run?.data ? this.#withdraw(run, followersOf(run, node)) : [];
  }

  #withdraw(run: Run, found: readonly number[]): number[] {
    const nodes = [...new Set(found)];
    const stopped = nodes.filter((node) => run.statusOf(node) === Status.cancelling);
    if (nodes.length > 0) this.emit({ kind: "TasksWithdrawn", run: run.number, nodes });
    return stopped;
  }

  /** It was told to stop, and has not even begun. */
  #cancelWithdrawn(tasks: Tasks, node: number): void {
    if (!isWaiting(tasks, node)) return;
    this.#cancelTask(tasks, node);
    this.#endIfDone(tasks);
  }

  #refuseReport({ kind, run, node, attempt }: Reported): Reply {
    const known = this.#state.tasksAt(run);
    invariant(!isCurrent(known, { kind, run, node, attempt }), "a report that was refused is refused again");
    const code = known?.has(node) ? "stale" : "unknown";
    this.emit({ kind: "ReportRefused", run, node, attempt, report: kind, code });
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
    this.#cancelTask(tasks, event.node);
    this.#endIfDone(tasks);
    return this.#accepted();
  }

  #cancelRun(event: CancelRequested): Reply {
    const run = this.#state.runs.get(event.run);
    if (!run) return { accepted: false, code: "unknown" };
    if (run.outcome !== undefined || run.cancelRequested) return { accepted: false, code: "stale" };
    this.emit(event);
    this.#cancelRest(run);
    this.#endIfDone(run);
    return this.#accepted();
  }

  #cancelTask(tasks: Tasks, node: number): void {
    const status = tasks.statusOf(node);
    if (isWaiting(tasks, node) || status === Status.speculating || status === Status.expanded) {
      this.emit({ kind: "TaskCancelled", run: tasks.number, node });
      this.#skipDependents(tasks, node);
      const run = this.#state.runs.get(tasks.number);
      if (run) this.#cancelAlternatives(run, node);
      if (run?.data) this.#cancelExpansion(run, node);
    } else if (tasks.statusOf(node) !== Status.cancelling) {
      this.emit({ kind: "CancelSignalled", run: tasks.number, node, attempt: tasks.attemptOf(node) });
    }
  }

  #cancelExpansion({ number }: Run, node: number): void {
    for (const child of this.#state.dataRuns) {
      if (child.parent?.run !== number || child.parent.node !== node || child.outcome !== undefined) continue;
      this.#cancelRest(child);
      this.#endIfDone(child);
    }
  }

  #cancelRest(run: Run): void {
    for (let node = 0; node < run.graph.size; node++) {
      const status = run.statusOf(node);
      if (isWaiting(run, node)) this.emit({ kind: "TaskCancelled", run: run.number, node });
      else if (isPlaced(status) || status === Status.speculating || status === Status.expanded)
        this.#cancelTask(run, node);
    }
  }

  /** An attempt has ended without a result: try again, or give up. */
  #settle(tasks: Tasks, node: number, cause: Cause): void {
    const { maxAttempts, backoffMs } = tasks.taskOf(node);
    const attempt = tasks.attemptOf(node) - tasks.uncountedOf(node);
    const isPoison = cause === "lost" && this.#isPoison(tasks, node);
    const isLast = attempt >= maxAttempts || cause === "fatal" || isPoison;
    const run = tasks.number;
    const dead = this.#state.runs.get(run)?.deadNeedOf(node);
    if (tasks.statusOf(node) === Status.settlingCancel || (!isLast && this.#hasFailed(tasks))) {
      this.emit({ kind: "TaskCancelled", run, node });
      this.#skipDependents(tasks, node);
    } else if (!isLast && dead !== undefined) this.#skipDependents(tasks, dead);
    else if (!isLast) {
      const waitMs = cause === "lost" ? 0 : this.#backoffMs(tasks, node, backoffMs, attempt);
      this.emit({ kind: "TaskRetried", run, node, dueAt: this.#now + waitMs });
    } else {
      this.#fail(tasks, node, isPoison ? "poison" : cause === "fatal" ? "fatal" : "attempts");
    }
    this.#endIfDone(tasks);
  }

  /** So many workers were lost with it that it is the likely cause. */
  #isPoison(tasks: Tasks, node: number): boolean {
    return (this.#state.runs.get(tasks.number)?.data?.deaths.get(node) ?? 0) >= MAX_LOSSES;
  }

  #fail(tasks: Tasks, node: number, code: TaskFailed["code"]): void {
    this.emit({ kind: "TaskFailed", run: tasks.number, node, code });
    this.#skipDependents(tasks, node);
    const run = this.#state.runs.get(tasks.number);
    if (run?.onFailure === "cancel") this.#cancelRest(run);
  }

  /** Doubles with each attempt; a little longer for some than for others, so that they do not all come at once. */
  #backoffMs(tasks: Tasks, node: number, baseMs: number, attempt: number): number {
    const { maxBackoffMs, jitterPermille } = this.#state.config;
    const waitMs = Math.min(baseMs * 2 ** Math.min(attempt - 1, 40), maxBackoffMs);
    if (jitterPermille === 0) return waitMs;
    const part = hash32(tasks.taskIdOf(node), tasks.attemptOf(node)) % (jitterPermille + 1);
    return waitMs + Math.floor((waitMs * part) / 1000);
  }

  #skipDependents(tasks: Tasks, node: number): void {
    const run = this.#state.runs.get(tasks.number);
    const nodes = run?.openDependents(node) ?? [];
    if (nodes.length > 0) this.emit({ kind: "TasksSkipped", run: tasks.number, node, nodes });
  }

  /** Whether nothing of its run shall begin any more, because one of its tasks has failed. */
  #hasFailed(tasks: Tasks): boolean {
    const run = this.#state.runs.get(tasks.number);
    return run?.onFailure === "cancel" && run.count(Status.failed) > 0;
  }

  #endIfDone(tasks: Tasks): void {
    const run = this.#state.runs.get(tasks.number);
    if (!run || run.unfinished > 0 || run.outcome !== undefined) return;
    const outcome =
      run.cancelRequested || this.#isOrphan(run)
        ? "cancelled"
        : run.count(Status.completed) === run.graph.size
          ? "completed"
          : "failed";
    this.#freeForgotten(run);
    this.emit({ kind: "RunEnded", run: run.number, outcome });
    if (run.parent) this.#endExpansion(run);
  }

  /** The node that it was submitted for has ended without it. */
  #isOrphan({ parent }: Run): boolean {
    return (
      parent !== undefined && this.#state.runs.get(parent.run)?.statusOf(parent.node) !== Status.expanded
    );
  }

  /** A run that ends may be one too many to remember: what was kept of the oldest goes. */
  #freeForgotten(ending: Run): void {
    const { endedRuns, config, runs } = this.#state;
    if (endedRuns.length < config.keepEndedRuns) return;
    const run = runs.get(endedRuns[0] ?? ending.number);
    const nodes = [...(run?.data?.holders.keys() ?? [])].sort((a, b) => a - b);
    if (run && nodes.length > 0) this.emit({ kind: "ChunksFreed", run: run.number, nodes });
  }
}
