import { speculationTag } from "../graph/index.ts";
import { outcomeOf } from "../history/index.ts";
import type { LedgerEvent, TaskAssigned, VoteTaken } from "../ledger/index.ts";
import { nodeOfKey, runOfKey } from "../placement/index.ts";
import {
  isWaiting,
  type Recorded,
  type Run,
  STATUS_NAMES,
  type State,
  type StatusName,
  type Tasks,
  whyNotYet,
} from "../scheduler/index.ts";
import { type Assignment, assignmentOf } from "./assignment.ts";
import { Causes } from "./causes.ts";
import type { EarlierAttempt, Explanation, Happening } from "./explanation.ts";

/** A node of a run, or an alternative of one, which is a task of no run. */
interface Watched {
  readonly run: Run;
  readonly node: number;
  readonly alternative?: { readonly tasks: Tasks; readonly number: number; readonly at: number };
}

/** Follows what happens to one node of one run, or to one of its alternatives. */
export class Watch {
  readonly #run: Run;
  readonly #node: number;
  readonly #name: string;
  readonly #isAlternative: boolean;
  /** What is watched among its like: the node itself, or the alternative. */
  readonly #tasks: Tasks;
  readonly #number: number;
  readonly #causes: Causes;
  #happenings: Happening[] = [];
  #assignment: Assignment | undefined;
  readonly #earlier: EarlierAttempt[] = [];
  /** An alternative leaves the state when it ends. */
  #lastStatus: StatusName = "ready";

  constructor({ run, node, alternative }: Watched) {
    this.#run = run;
    this.#node = node;
    this.#isAlternative = alternative !== undefined;
    this.#tasks = alternative?.tasks ?? run;
    this.#number = alternative?.number ?? node;
    this.#causes = new Causes(run, node);
    const name = run.graph.idOf(node);
    this.#name = alternative ? `${name} ${speculationTag(alternative.at)}` : name;
  }

  /** Takes an event in the state before it. */
  take(state: State, recorded: Recorded): void {
    const { event, seq, now } = recorded;
    if (event.kind === "WorkerLost" || event.kind === "WorkerRegistered")
      this.#interrupt(state, event, seq, now);
    this.#causes.take(recorded);
    if (!("run" in event) || event.run !== this.#tasks.number) return;
    if (event.kind === "TasksSkipped") {
      if (!event.nodes.includes(this.#number)) return;
      const because = { node: this.#run.graph.idOf(event.node), failure: this.#causes.failureOf(event.node) };
      this.#happen({ type: "skipped", seq, at: now, because });
    } else if ("node" in event && event.node === this.#number) this.#takeOwn(state, event, seq, now);
  }

  answer(state: State): Explanation {
    const { id, name, submittedAt } = this.#run;
    const isThere = state.tasksAt(this.#tasks.number) === this.#tasks && this.#tasks.has(this.#number);
    return {
      run: { id, name, submittedAt },
      node: this.#name,
      seq: state.seq,
      now: state.now,
      status: this.#status(),
      carried: !this.#isAlternative && this.#run.carried.includes(this.#node),
      waiting:
        isThere && isWaiting(this.#tasks, this.#number) ? whyNotYet(state, this.#tasks, this.#number) : [],
      assignment: this.#assignment ?? null,
      earlierAttempts: [...this.#earlier],
      aftermath: this.#happenings,
    };
  }

  #status(): StatusName {
    if (!this.#tasks.has(this.#number)) return this.#lastStatus;
    return STATUS_NAMES[this.#tasks.statusOf(this.#number)] as StatusName;
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
        if (event.kind === "AttemptFinished") this.#lastStatus = "completed";
        this.#happen({ type: "ended", seq, at, outcome: outcomeOf(event), error });
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
      case "TaskRecalled": {
        const { waitMicros, queueMicros, moveMicros } = event;
        const idle = state.worker(event.idle).id;
        this.#happen({ type: "recalled", seq, at, idle, waitMicros, queueMicros, moveMicros });
        break;
      }
      case "CancelRequested":
        this.#happen({ type: "cancel-requested", seq, at });
        break;
      case "CancelSignalled":
        this.#happen({ type: "cancel-signalled", seq, at });
        break;
      case "TaskFailed": {
        const error = event.code === "escalated" ? this.#causes.failureOf(event.node)?.error : null;
        this.#lastStatus = "failed";
        this.#happen({ type: "failed", seq, at, code: event.code, error: error?.message ?? null });
        break;
      }
      case "TaskCancelled": {
        const { ofCancelledAlternative, ofCancellation } = this.#causes;
        this.#lastStatus = "cancelled";
        const because = this.#isAlternative ? ofCancelledAlternative : ofCancellation;
        this.#happen({ type: "cancelled", seq, at, because });
        break;
      }
      default:
        break;
    }
  }

  #assign(state: State, event: TaskAssigned, seq: number, at: number): void {
    if (this.#assignment) this.#earlier.push(earlierAttempt(this.#assignment, this.#happenings));
    this.#assignment = assignmentOf(state, this.#tasks, event, seq, at);
    this.#happenings = [];
  }

  #happen(happening: Happening): void {
    this.#happenings.push(happening);
  }

  /** A worker that is lost, or registers again, takes its attempts with it, without an event for each. */
  #interrupt(state: State, event: LedgerEvent, seq: number, at: number): void {
    const worker =
      event.kind === "WorkerLost"
        ? state.worker(event.worker)
        : event.kind === "WorkerRegistered"
          ? state.fleet.continuedBy(event.worker)
          : undefined;
    for (const key of worker?.held.keys() ?? []) {
      const [run, number] = [runOfKey(key), nodeOfKey(key)];
      if (run === this.#run.number) this.#causes.lose(number, seq);
      if (run === this.#tasks.number && number === this.#number)
        this.#happen({ type: "ended", seq, at, outcome: "lost", error: null });
    }
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
