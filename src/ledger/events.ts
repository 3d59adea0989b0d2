import type {
  BudgetPart,
  Risk,
  SpeculationCause,
  SpeculationSettings,
  WireGraph,
  WireSpec,
} from "../graph/index.ts";
import type { PlacementConfig, Reason, WorkerSpec } from "../placement/index.ts";
import type { QueueConfig, RequestState } from "../queue/index.ts";

/**
 * Everything that the ledger can say. An event is an input (a fact from outside, with all the data that
 * decisions use) or a decision. Runs and workers are named by their number in the ledger (the order in which
 * it first mentions them), nodes by their index in the run's graph. A task that belongs to no run has the run -1,
 * and its node is its own number.
 */
export type LedgerEvent = Input | Decision;
export type EventKind = LedgerEvent["kind"];
export type EventOf<Kind extends EventKind> = Extract<LedgerEvent, { readonly kind: Kind }>;

export type Input =
  | SchedulerConfigured
  | ClockCorrected
  | RunSubmitted
  | TaskSubmitted
  | SubmissionsRefused
  | WorkerRegistered
  | WorkerLoadReported
  | DrainRequested
  | WorkerLost
  | AttemptStarted
  | AttemptFinished
  | AttemptFailed
  | AttemptTimedOut
  | AttemptLost
  | AttemptCancelled
  | ReportRefused
  | CancelRequested
  | ChunkLost
  | RunReleased
  | TaskBudgetExhausted
  | TaskRecharged
  | AgentConfigured
  | ZoneConfigured
  | LimitConfigured
  | CreditsGranted
  | QueuePaused
  | QueueResumed
  | AuditRecorded;

export type Decision =
  | TaskAssigned
  | TaskSpeculated
  | VoteTaken
  | TaskReused
  | ExpansionEnded
  | TaskRetried
  | TaskFailed
  | TaskCancelled
  | TasksSkipped
  | TasksWithdrawn
  | TaskRecalled
  | ChunksFreed
  | CacheEvicted
  | NodesRecomputed
  | CancelSignalled
  | ReservationMade
  | RoomReserved
  | RunEnded;

/** Names the rules that decided. `apply` reads every version; `--redecide` is promised for the same one. */
export const POLICY_VERSION = 5;

export interface SchedulerConfig extends PlacementConfig, QueueConfig {
  readonly policyVersion: number;
  readonly maxNodes: number;
  /** Above this many waiting tasks a submission is refused. */
  readonly backlogLimit: number;
  /** Above this many estimated bytes of waiting and running work a submission is refused. Left out or null: no limit. */
  readonly backlogBytes?: number | null;
  /** The part of both limits that one zone may use, and the part of a zone's that one agent may use, in permille. Left out: all. */
  readonly zoneShare?: number;
  readonly agentShare?: number;
  /** Usage of the workers' queues, 0 to 1, at which a submission is refused; null: never. */
  readonly rejectThreshold: number | null;
  /** How long a task may be passed over for lack of capacity before a worker is kept free for it. */
  readonly reserveAfterMs: number;
  /**
   * A node that has been ready for longer is raised by a priority, and after six times as long goes first. Left out: four
   * hours.
   */
  readonly starveNodeMs?: number;
  /** How much of a limit may run at once in each zone, where nobody has set it: by name. */
  readonly resources?: Readonly<Record<string, number>>;
  /** When nodes are tried in several alternatives at once. Left out: never. */
  readonly speculation?: SpeculationSettings;
  readonly maxBackoffMs: number;
  /** By how much a wait before a retry may be longer than it would be, so that not all come at once. */
  readonly jitterPermille: number;
  /** Of results that may be used again, how much workers keep at most. Left out: nothing but what is stored with tasks. */
  readonly cacheBytes?: number;
  /** Ended runs that stay in the state; the oldest is forgotten first. */
  readonly keepEndedRuns: number;
}

export interface SchedulerConfigured {
  readonly kind: "SchedulerConfigured";
  readonly config: SchedulerConfig;
}

export interface RunSubmitted {
  readonly kind: "RunSubmitted";
  readonly runId: string;
  readonly name: string;
  readonly agent: string;
  readonly zone: string;
  /** What becomes of the rest when a node has failed for good. */
  readonly onFailure: "continue" | "cancel";
  readonly graph: WireGraph;
  /** The attempt that ended by submitting it: its node gets the result of one of these. */
  readonly parent?: RunParent | undefined;
}

export interface RunParent extends Ended {
  /** The node of the new run whose result it is. */
  readonly tail: number;
  /** Nodes of the new run that stand for nodes of the runs above it, and have their results. */
  readonly links?: readonly RunLink[];
}

export type RunLink = readonly [node: number, ofRun: number, ofNode: number];

/** A task of its own. */
export interface TaskSubmitted {
  readonly kind: "TaskSubmitted";
  readonly id: string;
  readonly agent: string;
  readonly zone: string;
  readonly spec: WireSpec;
  readonly requestState: RequestState;
  readonly boostMicros: number;
  /** As a time of day; -1: none. */
  readonly deadline: number;
  /** The time of day before which the task does not start; -1: at once. */
  readonly runAt: number;
  readonly requestHash: string;
  /** Attempts that were made before: its next one goes on from there. */
  readonly attempts: number;
  /** It had ended, and was put back into the queue. */
  readonly requeued?: boolean;
}

/** Refusals in sum: one event per turn, agent and code. */
export interface SubmissionsRefused {
  readonly kind: "SubmissionsRefused";
  readonly agent: string;
  readonly code: RefusalCode;
  readonly count: number;
  /** Id of the task or run, if the store refused its content; such refusals are recorded one by one. */
  readonly id?: string;
}

export type RefusalCode =
  | "backlog"
  | "backpressure"
  | "fair-share"
  | "rate-limit"
  | "credits"
  | "content-refused";

export interface WorkerRegistered {
  readonly kind: "WorkerRegistered";
  readonly worker: WorkerSpec;
}

/** A heartbeat whose load changed the worker's status; others are not events. */
export interface WorkerLoadReported {
  readonly kind: "WorkerLoadReported";
  readonly worker: number;
  readonly loadPermille: number;
  readonly saysOverloaded: boolean;
}

export interface DrainRequested {
  readonly kind: "DrainRequested";
  readonly worker: number;
}

export interface WorkerLost {
  readonly kind: "WorkerLost";
  readonly worker: number;
  readonly code: "lease" | "left" | "restart";
}

interface OfAttempt {
  readonly run: number;
  readonly node: number;
  readonly attempt: number;
}

/** When the attempt began, on the worker's word; -1 if it never did. */
interface Ended extends OfAttempt {
  readonly startedAt: number;
}

export interface AttemptStarted extends Ended {
  readonly kind: "AttemptStarted";
}

export interface AttemptFinished extends Ended {
  readonly kind: "AttemptFinished";
  readonly resultHash: string;
  readonly resultBytes: number;
  /** What it cost, in millionths; undefined in ledgers from before there was a cost: nothing. */
  readonly costMicros?: number;
  /** What its worker thinks of the result; undefined: no more than that there is one. */
  readonly assessment?: Assessment | undefined;
  /** What it consumed, in the order of `BUDGET_PARTS`; undefined: nobody counted. */
  readonly used?: readonly number[];
  /** The result stays on the worker; undefined: it is stored with the task. */
  readonly held?: true | undefined;
  /** What was brought from other workers for it; undefined: nothing. */
  readonly movedBytes?: number | undefined;
  /** How that came; undefined: nobody said. */
  readonly transfers?: readonly Transfer[];
  /** How long it ran, as its worker says; undefined: as long as from its start until it was reported. */
  readonly tookMicros?: number | undefined;
}

/** The result of a node came from a worker: so long after the attempt began (mostly before), and in that time. */
export type Transfer = readonly [node: number, from: number, beganMs: number, tookMicros: number];

/** What alternatives are compared by. Numbers are whole and not negative. */
export interface Assessment {
  readonly verified: boolean;
  readonly confidencePermille: number;
  /** How much the result changes. */
  readonly lines: number;
  readonly risk: Risk;
}

export interface AttemptFailed extends Ended {
  readonly kind: "AttemptFailed";
  readonly code: string;
  readonly message: string;
  readonly costMicros?: number;
  /** False: another attempt would fail in the same way. Undefined: it may be tried again. */
  readonly retry?: boolean;
  readonly used?: readonly number[];
}

export interface AttemptTimedOut extends Ended {
  readonly kind: "AttemptTimedOut";
}

export interface AttemptLost extends Ended {
  readonly kind: "AttemptLost";
}

export interface AttemptCancelled extends Ended {
  readonly kind: "AttemptCancelled";
}

/** What a worker can report of an attempt, by the name of the event that it becomes. */
export type Report =
  | AttemptStarted
  | AttemptFinished
  | AttemptFailed
  | AttemptTimedOut
  | AttemptLost
  | AttemptCancelled;

/** A report that came too late, or twice. */
export interface ReportRefused extends OfAttempt {
  readonly kind: "ReportRefused";
  readonly report: Report["kind"];
  readonly code: "stale" | "unknown";
  /** The id of the task, which the state may have forgotten. Undefined in older ledgers. */
  readonly taskId?: string | undefined;
  /** The worker that reported. Undefined in older ledgers. */
  readonly worker?: number | undefined;
}

export interface CancelRequested {
  readonly kind: "CancelRequested";
  readonly run: number;
  /** -1: the whole run. */
  readonly node: number;
}

/** A worker did not have the result of a node that it should have, or not the right one. */
export interface ChunkLost {
  readonly kind: "ChunkLost";
  readonly run: number;
  readonly node: number;
  readonly worker: number;
}

/** Nobody needs the results of a run that were kept any more. */
export interface RunReleased {
  readonly kind: "RunReleased";
  readonly run: number;
}

/** A running attempt has used up a part of its budget, and waits until it is recharged. */
export interface TaskBudgetExhausted extends OfAttempt {
  readonly kind: "TaskBudgetExhausted";
  readonly part: BudgetPart;
  /** How often its worker has heard that it was recharged. What it said before the last time is no news. */
  readonly recharges: number;
}

/** A running attempt may consume so much more, in the order of `BUDGET_PARTS`. */
export interface TaskRecharged extends OfAttempt {
  readonly kind: "TaskRecharged";
  readonly amounts: readonly number[];
}

/** How many tasks of an agent run at once. Null: any number; undefined: as its zone or the configuration says. */
export interface AgentConfigured {
  readonly kind: "AgentConfigured";
  readonly zone: string;
  readonly agent: string;
  /** Left out, or -1 where a rate follows: as its zone or the configuration says. */
  readonly max?: number | null;
  /** How fast it may submit. Null: as it likes; left out: as the configuration says. */
  readonly rateCount?: number | null;
  readonly ratePeriodMs?: number;
}

export interface ZoneConfigured {
  readonly kind: "ZoneConfigured";
  readonly zone: string;
  readonly max?: number | null;
}

/** What tasks that name a limit share. Null: no limit. */
export interface LimitConfigured {
  readonly kind: "LimitConfigured";
  readonly zone: string;
  readonly name: string;
  readonly concurrency: number | null;
  readonly rateCount: number | null;
  readonly ratePeriodMs: number;
}

export interface CreditsGranted {
  readonly kind: "CreditsGranted";
  readonly zone: string;
  readonly agent: string;
  readonly micros: number;
}

/**
 * The leader's time of day has left the ledger's time by another amount than before: `offsetMs` is the time of day minus
 * the ledger's time. Deadlines and start times, which users give as times of day, move in the ledger's time.
 */
export interface ClockCorrected {
  readonly kind: "ClockCorrected";
  readonly offsetMs: number;
}

/** Nothing of the executor in that zone is given out; "": of the whole zone. */
/** Puts an entry of the audit, which lies beside the ledger, into the chain. */
export interface AuditRecorded {
  readonly kind: "AuditRecorded";
  /** SHA-256 of the entry. */
  readonly hash: string;
}

export interface QueuePaused {
  readonly kind: "QueuePaused";
  readonly zone: string;
  readonly executor: string;
}

export interface QueueResumed {
  readonly kind: "QueueResumed";
  readonly zone: string;
  readonly executor: string;
}

export interface TaskAssigned extends OfAttempt {
  readonly kind: "TaskAssigned";
  readonly worker: number;
  readonly reason: Reason;
  /** The number of the second best worker; -1 if there was none. */
  readonly runnerUp: number;
  /** How many workers were rejected, by the order of `REJECTIONS`, without trailing zeros. */
  readonly rejected: readonly number[];
}

/**
 * A node is tried in several alternatives at once. They are tasks of no run with numbers from `first` on, and are given to
 * workers in the same turn; the node itself waits for the vote on them.
 */
export interface TaskSpeculated {
  readonly kind: "TaskSpeculated";
  readonly run: number;
  readonly node: number;
  readonly first: number;
  readonly count: number;
  readonly because: SpeculationCause;
}

/** Which alternative of a node was taken. */
export interface VoteTaken {
  readonly kind: "VoteTaken";
  readonly run: number;
  readonly node: number;
  /** Its place among the alternatives; -1: none is good enough, and a person has to look. */
  readonly winner: number;
  readonly by: "majority" | "score" | "nobody";
  /**
   * For each alternative the points for verification, confidence, size, risk and speed; null for those that had not ended,
   * which no longer mattered.
   */
  readonly scores: readonly (readonly number[] | null)[];
}

/** A node is not run, because the same was made before from the same: it has the result of that task. */
export interface TaskReused {
  readonly kind: "TaskReused";
  readonly run: number;
  readonly node: number;
  readonly taskId: string;
  readonly resultHash: string;
  readonly resultBytes: number;
}

/** The run that a node's attempt had submitted has completed, and the node has the result of its tail. */
export interface ExpansionEnded {
  readonly kind: "ExpansionEnded";
  readonly run: number;
  readonly node: number;
  /** The number of that run. */
  readonly child: number;
}

export interface TaskRetried {
  readonly kind: "TaskRetried";
  readonly run: number;
  readonly node: number;
  readonly dueAt: number;
}

export interface TaskFailed {
  readonly kind: "TaskFailed";
  readonly run: number;
  readonly node: number;
  /**
   * `fatal`: its worker said that trying again is no use. `expired`: its deadline passed before it began. `escalated`: none
   * of its alternatives is good enough. `poison`: three workers were lost while they ran it. `corrupt`: workers did not have
   * the result that they had said they made, three times. `expansion`: the run that it submitted did not complete.
   */
  readonly code: "attempts" | "fatal" | "expired" | "escalated" | "poison" | "corrupt" | "expansion" | "link";
}

export interface TaskCancelled {
  readonly kind: "TaskCancelled";
  readonly run: number;
  readonly node: number;
}

/** What hangs on a node that will never complete. */
export interface TasksSkipped {
  readonly kind: "TasksSkipped";
  readonly run: number;
  readonly node: number;
  readonly nodes: readonly number[];
}

/** Nodes that a worker was given ahead of an input that it will not make now: they wait again. In the order of the chain. */
export interface TasksWithdrawn {
  readonly kind: "TasksWithdrawn";
  readonly run: number;
  readonly nodes: readonly number[];
}

/**
 * A worker is asked to give back what it has not begun, because another stands idle. It answers with the end of the attempt
 * (`AttemptLost` that never started), or that it has begun. In microseconds: the wait where it is, the wait behind what is
 * recalled with it, and what bringing its inputs to the other takes.
 */
export interface TaskRecalled extends OfAttempt {
  readonly kind: "TaskRecalled";
  readonly worker: number;
  /** The worker that has a slot free. */
  readonly idle: number;
  readonly waitMicros: number;
  readonly queueMicros: number;
  readonly moveMicros: number;
}

/** Results on workers that no node needs any more. */
export interface ChunksFreed {
  readonly kind: "ChunksFreed";
  readonly run: number;
  readonly nodes: readonly number[];
}

/** A result that workers kept for whoever may use it again: it was used longest ago, and they keep too much. */
export interface CacheEvicted {
  readonly kind: "CacheEvicted";
  readonly zone: string;
  /** What it was made from, as a hash. */
  readonly key: string;
}

/** Completed nodes that run again: their results were lost with workers, and are needed. Ascending. */
export interface NodesRecomputed {
  readonly kind: "NodesRecomputed";
  readonly run: number;
  readonly nodes: readonly number[];
}

export interface CancelSignalled extends OfAttempt {
  readonly kind: "CancelSignalled";
}

/** So much of its limits is kept for the task as it needs: what needs less no longer goes ahead of it. */
export interface RoomReserved {
  readonly kind: "RoomReserved";
  readonly run: number;
  readonly node: number;
}

export interface ReservationMade {
  readonly kind: "ReservationMade";
  readonly run: number;
  readonly node: number;
  readonly worker: number;
  /** When the worker is expected to have room, by the estimates of what it holds. */
  readonly freeAt: number;
}

export type RunOutcome = "completed" | "failed" | "cancelled";

export interface RunEnded {
  readonly kind: "RunEnded";
  readonly run: number;
  readonly outcome: RunOutcome;
}
