/**
 * Answers why a node ran where it did, or why it does not run yet, by replaying to that moment.
 *
 * The table of candidates needs the state just before the assignment, so it is taken while the ledger is
 * replayed, for every assignment of the node; the last one is kept.
 */

import { type SpeculationCause, speculationTag } from "../graph/index.ts";
import type {
  Block,
  LedgerEvent,
  RunSubmitted,
  TaskAssigned,
  TaskFailed,
  VoteTaken,
} from "../ledger/index.ts";
import {
  type CandidateRow,
  type Needs,
  NO_RUN,
  nodeOfKey,
  REJECTIONS,
  type Reason,
  type Rejection,
  runOfKey,
  taskKey,
} from "../placement/index.ts";
import { closest } from "../protocol/index.ts";
import {
  apply,
  eventsOf,
  isWaiting,
  type Recorded,
  type Run,
  STATUS_NAMES,
  State,
  type StatusName,
  type WaitReason,
  whyHere,
  whyNotYet,
} from "../scheduler/index.ts";
import { type AttemptOutcome, type Decider, describeEnd, describeNoWinner } from "../words/index.ts";
import { decide } from "./decider.ts";
import { NotFoundError, UsageError } from "./errors.ts";
import { outcomeOf } from "./history.ts";
import { replaying, soundBlocks } from "./ledger-reading.ts";
import { neutralise } from "./terminal-text.ts";

export interface Explanation {
  readonly run: { readonly id: string; readonly name: string; readonly submittedAt: number };
  readonly node: string;
  /** The event that the question is about: it was asked of the moment after it. */
  readonly seq: number;
  readonly now: number;
  readonly status: StatusName;
  /** Completed in an earlier run and taken over. */
  readonly carried: boolean;
  /** Why not yet, the primary reason first; empty for a node that does not wait. */
  readonly waiting: readonly WaitReason[];
  /** Why here; null for a node that was never assigned. */
  readonly assignment: Assignment | null;
  readonly earlierAttempts: readonly EarlierAttempt[];
  /** What happened to the node since it was assigned, or ever if it never was. */
  readonly aftermath: readonly Happening[];
}

export interface EarlierAttempt {
  readonly seq: number;
  readonly attempt: number;
  readonly worker: string;
  readonly outcome: AttemptOutcome;
  readonly error: Failure["error"];
}

export interface Assignment {
  readonly seq: number;
  readonly at: number;
  readonly attempt: number;
  readonly worker: string;
  readonly reason: Reason;
  readonly runnerUp: string | null;
  readonly strategy: string;
  readonly decider: Decider;
  readonly needs: Needs;
  /** How much it counts towards each limit. */
  readonly limits: Readonly<Record<string, number>>;
  /** From when it was ready. */
  readonly waitedMs: number;
  readonly rejected: Readonly<Partial<Record<Rejection, number>>>;
  /** The chosen one first, then the others by rank, then the rejected by id. */
  readonly candidates: readonly Candidate[];
}

export interface Candidate extends CandidateRow {
  /** Capabilities that it lacks. */
  readonly missing: readonly string[];
  /** The node that it was kept free for. */
  readonly reservedFor: string | null;
}

/** Something that happened to the node, or that was decided about it. */
export type Happening = { readonly seq: number; readonly at: number } & (
  | { readonly type: "started" }
  | { readonly type: "ended"; readonly outcome: AttemptOutcome; readonly error: Failure["error"] }
  | { readonly type: "retried"; readonly dueAt: number }
  | { readonly type: "reserved"; readonly worker: string }
  | { readonly type: "room-reserved" }
  | { readonly type: "cancel-signalled" | "cancel-requested" }
  | { readonly type: "speculated"; readonly alternatives: number; readonly because: SpeculationCause }
  | {
      readonly type: "voted";
      readonly winner: string | null;
      readonly by: VoteTaken["by"];
      readonly totals: readonly (number | null)[];
    }
  /** `error`: why none of several alternatives was taken. */
  | { readonly type: "failed"; readonly code: TaskFailed["code"]; readonly error: string | null }
  | { readonly type: "cancelled"; readonly because: CancelCause }
  | {
      readonly type: "skipped";
      readonly because: { readonly node: string; readonly failure: Failure | null };
    }
);

export interface Failure {
  readonly seq: number;
  readonly outcome: AttemptOutcome;
  readonly error: { readonly code: string; readonly message: string } | null;
}

export type CancelCause =
  | { readonly type: "run-cancelled" | "node-cancelled"; readonly seq: number }
  | { readonly type: "node-failed"; readonly node: string; readonly seq: number }
  | { readonly type: "unknown" };

export interface Question {
  readonly run?: string;
  readonly at?: number;
}

export async function explain(path: string, node: string, question: Question): Promise<Explanation> {
  const at = question.at ?? Number.POSITIVE_INFINITY;
  const state = new State();
  let watch: Watch | undefined;
  for await (const block of soundBlocks(path)) {
    watch = replaying(path, block, () => follow(state, block, watch, node, question));
    if (block.seq + block.count > at) break;
  }
  if (question.at !== undefined && state.seq < question.at) {
    throw new UsageError(`there is no event ${question.at}: ${path} ends at ${state.seq}`);
  }
  if (!watch) throw await notFound(path, node, question);
  return watch.answer(state);
}

/** Takes a block as far as it is asked about, and says which node is watched then. */
function follow(state: State, block: Block, watch: Watch | undefined, node: string, question: Question) {
  let watched = watch;
  for (const recorded of eventsOf(block)) {
    const { event, seq, now } = recorded;
    if (seq > (question.at ?? seq)) break;
    watched?.take(state, recorded);
    apply(state, event, now);
    if (event.kind === "RunSubmitted") watched = watchFor(state, event, node, question) ?? watched;
  }
  return watched;
}

function watchFor(state: State, event: RunSubmitted, node: string, { run }: Question): Watch | undefined {
  if (run !== undefined && !event.runId.startsWith(run)) return undefined;
  const index = event.graph.ids.indexOf(node);
  return index === -1 ? undefined : new Watch(state.run(state.nextRun - 1), index);
}

async function notFound(path: string, node: string, { run, at }: Question): Promise<NotFoundError> {
  const nodes = new Set<string>();
  const runs = new Set<string>();
  for await (const block of soundBlocks(path)) {
    for (const { event, seq } of eventsOf(block)) {
      if (event.kind !== "RunSubmitted" || seq > (at ?? seq)) continue;
      runs.add(event.runId);
      if (run === undefined || event.runId.startsWith(run)) for (const id of event.graph.ids) nodes.add(id);
    }
  }
  const when = at === undefined ? "" : ` at event ${at}`;
  if (runs.size === 0) return new NotFoundError(`${path} has no run${when}`);
  if (run !== undefined && ![...runs].some((id) => id.startsWith(run))) {
    return new NotFoundError(`${path} has no run ${neutralise(run)}${when}${suggest(closest(run, runs))}`);
  }
  const where = run === undefined ? `no run of ${path}` : `run ${neutralise(run)}`;
  const has = run === undefined ? `${where} has a node` : `${where} has no node`;
  return new NotFoundError(`${has} ${neutralise(node)}${when}${suggest(closest(node, nodes))}`);
}

function suggest(name: string | undefined): string {
  return name === undefined ? "" : `; did you mean ${neutralise(name)}?`;
}

/** Follows one node of one run. */
class Watch {
  readonly happenings: Happening[] = [];
  readonly #run: Run;
  readonly #node: number;
  #assignment: Assignment | undefined;
  readonly #earlier: EarlierAttempt[] = [];
  readonly #failures = new Map<number, Failure>();
  #cancelRequest: Extract<CancelCause, { seq: number }> | undefined;
  /** By its number among the tasks of no run, of which node an alternative is, and how it failed last. */
  readonly #alternatives = new Map<number, { readonly node: number; error: string | undefined }>();

  constructor(run: Run, node: number) {
    this.#run = run;
    this.#node = node;
  }

  /** Takes an event in the state before it. */
  take(state: State, recorded: Recorded): void {
    const { event, seq, now } = recorded;
    if (event.kind === "WorkerLost" || event.kind === "WorkerRegistered")
      this.#interrupt(state, event, seq, now);
    if ("run" in event && event.run === NO_RUN) this.#noteAlternative(event);
    if (!("run" in event) || event.run !== this.#run.number) return;
    this.#noteCauses(recorded);
    if (event.kind === "TasksSkipped") {
      if (!event.nodes.includes(this.#node)) return;
      const failure = this.#failures.get(event.node) ?? null;
      this.#happen({ type: "skipped", seq, at: now, because: { node: this.#idOf(event.node), failure } });
    } else if ("node" in event && event.node === this.#node) this.#takeOwn(state, event, seq, now);
  }

  answer(state: State): Explanation {
    const { id, name, submittedAt, graph } = this.#run;
    const inState = state.runs.get(this.#run.number) === this.#run;
    return {
      run: { id, name, submittedAt },
      node: graph.idOf(this.#node),
      seq: state.seq,
      now: state.now,
      status: STATUS_NAMES[this.#run.statusOf(this.#node)] as StatusName,
      carried: this.#run.carried.includes(this.#node),
      waiting: inState && isWaiting(this.#run, this.#node) ? whyNotYet(state, this.#run, this.#node) : [],
      assignment: this.#assignment ?? null,
      earlierAttempts: [...this.#earlier],
      aftermath: this.happenings,
    };
  }

  #takeOwn(state: State, event: LedgerEvent, seq: number, at: number): void {
    switch (event.kind) {
      case "TaskAssigned":
        this.#assign(state, event, seq, at);
        break;
      case "AttemptStarted":
        this.#happen({ type: "started", seq, at: Math.min(event.startedAt, at) });
        break;
      case "AttemptFinished":
      case "AttemptFailed":
      case "AttemptTimedOut":
      case "AttemptLost":
      case "AttemptCancelled": {
        const error = event.kind === "AttemptFailed" ? { code: event.code, message: event.message } : null;
        this.#happen({ type: "ended", seq, at, outcome: outcomeOf(event.kind), error });
        break;
      }
      case "TaskSpeculated":
        this.#happen({ type: "speculated", seq, at, alternatives: event.count, because: event.because });
        break;
      case "VoteTaken":
        this.#happen({ type: "voted", seq, at, ...outcomeOfVote(event) });
        break;
      case "TaskRetried":
        this.#happen({ type: "retried", seq, at, dueAt: event.dueAt });
        break;
      case "ReservationMade":
        this.#happen({ type: "reserved", seq, at, worker: state.worker(event.worker).id });
        break;
      case "RoomReserved":
        this.#happen({ type: "room-reserved", seq, at });
        break;
      case "CancelRequested":
        this.#happen({ type: "cancel-requested", seq, at });
        break;
      case "CancelSignalled":
        this.#happen({ type: "cancel-signalled", seq, at });
        break;
      case "TaskFailed":
        this.#happen({
          ...{ type: "failed", seq, at, code: event.code },
          error: event.code === "escalated" ? (this.#failures.get(event.node)?.error?.message ?? null) : null,
        });
        break;
      case "TaskCancelled":
        this.#happen({ type: "cancelled", seq, at, because: this.#cancelRequest ?? { type: "unknown" } });
        break;
      default:
        break;
    }
  }

  #assign(state: State, event: TaskAssigned, seq: number, at: number): void {
    if (this.#assignment) this.#earlier.push(earlierAttempt(this.#assignment, this.happenings));
    this.#assignment = assignmentOf(state, this.#run, event, seq, at);
    this.happenings.length = 0;
  }

  #happen(happening: Happening): void {
    this.happenings.push(happening);
  }

  /** What a cancellation or a skip may be put down to. */
  #noteCauses({ event, seq }: Recorded): void {
    switch (event.kind) {
      case "AttemptFailed":
        this.#failures.set(event.node, {
          seq,
          outcome: "failed",
          error: { code: event.code, message: event.message },
        });
        break;
      case "AttemptTimedOut":
      case "AttemptLost":
        this.#failures.set(event.node, { seq, outcome: outcomeOf(event.kind), error: null });
        break;
      case "VoteTaken":
        if (event.winner === -1) {
          const error = { code: "escalated", message: describeNoWinner(this.#failuresOf(event.node)) };
          this.#failures.set(event.node, { seq, outcome: "failed", error });
        }
        break;
      case "TaskSpeculated":
        for (let at = 0; at < event.count; at++)
          this.#alternatives.set(event.first + at, { node: event.node, error: undefined });
        break;
      case "CancelRequested":
        if (event.node === -1) this.#cancelRequest = { type: "run-cancelled", seq };
        else if (event.node === this.#node) this.#cancelRequest = { type: "node-cancelled", seq };
        break;
      case "TaskCancelled":
        // What hangs on it is skipped for that, not for a failure that it got over.
        this.#failures.delete(event.node);
        break;
      case "TaskFailed":
        if (this.#run.onFailure === "cancel") {
          this.#cancelRequest ??= { type: "node-failed", node: this.#idOf(event.node), seq };
        }
        break;
      default:
        break;
    }
  }

  #noteAlternative(event: LedgerEvent): void {
    const alternative = "node" in event ? this.#alternatives.get(event.node) : undefined;
    if (!alternative) return;
    if (event.kind === "AttemptFailed") alternative.error = event.message;
    else if (event.kind === "AttemptTimedOut" || event.kind === "AttemptLost")
      alternative.error = describeEnd(outcomeOf(event.kind), null);
    else if (event.kind === "AttemptFinished") alternative.error = undefined;
  }

  #failuresOf(node: number): (string | undefined)[] {
    return [...this.#alternatives.values()].filter((one) => one.node === node).map(({ error }) => error);
  }

  /** A worker that is lost, or registers again, takes its attempts with it, without an event for each. */
  #interrupt(state: State, event: LedgerEvent, seq: number, at: number): void {
    const worker =
      event.kind === "WorkerLost"
        ? state.worker(event.worker)
        : event.kind === "WorkerRegistered"
          ? state.fleet.byId(event.worker.id)
          : undefined;
    for (const key of worker?.held.keys() ?? []) {
      if (runOfKey(key) !== this.#run.number) continue;
      const node = nodeOfKey(key);
      this.#failures.set(node, { seq, outcome: "lost", error: null });
      if (node === this.#node) this.#happen({ type: "ended", seq, at, outcome: "lost", error: null });
    }
  }

  #idOf(node: number): string {
    return this.#run.graph.idOf(node);
  }
}

function outcomeOfVote({
  winner,
  by,
  scores,
}: VoteTaken): Omit<Extract<Happening, { type: "voted" }>, "type" | "seq" | "at"> {
  return {
    winner: winner === -1 ? null : speculationTag(winner),
    by,
    totals: scores.map((points) => points?.reduce((sum, part) => sum + part, 0) ?? null),
  };
}

function earlierAttempt(assignment: Assignment, happenings: readonly Happening[]): EarlierAttempt {
  const { seq, attempt, worker } = assignment;
  const end = happenings.find((happening) => happening.type === "ended");
  return { seq, attempt, worker, outcome: end?.outcome ?? "open", error: end?.error ?? null };
}

function assignmentOf(state: State, run: Run, event: TaskAssigned, seq: number, at: number): Assignment {
  const { executor, capabilities, cpuMillicores, memoryBytes, limits, amounts } = run.graph.taskOf(
    event.node,
  );
  const needs = { executor, zone: run.zone, capabilities, cpuMillicores, memoryBytes };
  const rows = whyHere(state, run, event.node).map((row) => candidateOf(state, run, event.node, needs, row));
  const rejected: Partial<Record<Rejection, number>> = {};
  for (const [index, count] of event.rejected.entries()) {
    if (count > 0) rejected[REJECTIONS[index] as Rejection] = count;
  }
  return {
    seq,
    at,
    attempt: event.attempt,
    worker: state.worker(event.worker).id,
    reason: event.reason,
    runnerUp: state.fleet.workers[event.runnerUp]?.id ?? null,
    strategy: state.config.strategy,
    decider: decide(state.config, rows),
    needs,
    limits: Object.fromEntries(limits.map((name, index) => [name, amounts[index] ?? 1])),
    waitedMs: Math.max(0, at - run.sinceOf(event.node)),
    rejected,
    candidates: rows.toSorted((a, b) => (a.rank ?? rows.length + 1) - (b.rank ?? rows.length + 1)),
  };
}

function candidateOf(state: State, run: Run, node: number, needs: Needs, row: CandidateRow): Candidate {
  const worker = state.fleet.byId(row.worker);
  const reserved = worker?.reservedFor;
  const held = worker?.spec.capabilities ?? [];
  return {
    ...row,
    missing: needs.capabilities.filter((capability) => !held.includes(capability)),
    reservedFor:
      reserved === undefined || reserved === taskKey(run.number, node)
        ? null
        : (state.runs.get(runOfKey(reserved))?.graph.idOf(nodeOfKey(reserved)) ??
          state.singles.taskIdOf(nodeOfKey(reserved))),
  };
}
