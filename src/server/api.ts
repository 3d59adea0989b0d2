import type { BudgetPart, Priority, SpeculationCause, TaskBudget } from "../graph/index.ts";
import type { History } from "../history/index.ts";
import type { TaskRecalled, VoteTaken } from "../ledger/index.ts";
import type { CandidateRow } from "../placement/index.ts";
import type {
  Ack,
  ChunkHandle,
  GivenAssignment,
  GraphFile,
  Heartbeat,
  LogEntry,
  PollAnswer,
  Progress,
  Registration,
  Report,
  ServerMessage,
} from "../protocol/index.ts";
import type { Rate, RequestState } from "../queue/index.ts";
import type { DataBytes, InputPlace, WaitReason } from "../scheduler/index.ts";
import type {
  ApiKeyRow,
  AuditRow,
  ListCursor,
  LogLine,
  RowStatus,
  RunRow,
  TaskLine,
  TaskRow,
} from "../store/index.ts";
import type { TraceContext } from "../telemetry/index.ts";
import type { ToldChange } from "../words/index.ts";
import type { AttemptsView, QueuesView, WorkerView } from "./api-fleet.ts";
import type { AuditStanding } from "./audit-check.ts";
import type { LedgerStanding } from "./ledger-check.ts";
import type { Slots } from "./levels.ts";
import type { Activity, Quantiles } from "./recent-activity.ts";
import type { RunGraphView } from "./run-graphs.ts";
import type { RunNodesView } from "./run-nodes.ts";
import type { Forecast } from "./run-plan.ts";

export type { AttemptsView, AttemptView, QueuesView, QueueView, WorkerView } from "./api-fleet.ts";
export type { RunGraphView, RunNodesView };

/**
 * What the service does for those who may ask, in the scheduler's own units; the routes turn it into HTTP, and
 * embedded use calls it as it is. Everything that a caller may not see is as if it did not exist.
 */
export interface Api {
  /** One answer per submission, in their order; each is taken or refused by itself. */
  submit(caller: Caller, submissions: readonly TaskSubmission[]): Promise<readonly Submitted[]>;
  task(caller: Caller, id: string): Promise<TaskView | undefined>;
  /** Resolves when the task has ended or the time is over. */
  waitForTask(caller: Caller, id: string, waitMs: number, signal: AbortSignal): Promise<TaskView | undefined>;
  tasks(
    caller: Caller,
    filter: ListFilter,
    after: ListCursor | undefined,
    limit: number,
  ): Promise<Page<TaskLineView>>;
  /** How many there are, as far as that can be said in a moment. */
  countTasks(
    caller: Caller,
    filter: ListFilter,
    after: ListCursor | undefined,
  ): Promise<{ readonly count: number; readonly next: ListCursor | undefined }>;
  /** What happened to a task, oldest first, as far as it is remembered. */
  history(caller: Caller, id: string): Promise<readonly StreamEvent[] | undefined>;
  /** False: there was nothing to cancel, or nothing that the caller may see. */
  cancel(caller: Caller, id: string): Promise<boolean>;
  /** Puts a failed or cancelled task back into the queue. */
  retry(caller: Caller, id: string): Promise<TaskView | Refusal | undefined>;
  /** Lets a running task consume more, in the order of `BUDGET_PARTS`. */
  recharge(caller: Caller, id: string, amounts: readonly number[]): Promise<TaskView | Refusal | undefined>;
  why(caller: Caller, id: string): Promise<Explanation | undefined>;
  log(caller: Caller, id: string, afterLine: number, limit: number): Promise<readonly LogLine[] | undefined>;
  metrics(caller: Caller): Promise<Metrics>;
  /** The caller's zone at a glance; cheap, however much waits. */
  overview(caller: Caller): Promise<Overview>;

  submitRun(caller: Caller, run: RunSubmission): Promise<RunView | Refusal>;
  run(caller: Caller, id: string): Promise<RunView | undefined>;
  /** Resolves when the run has ended or the time is over. */
  waitForRun(caller: Caller, id: string, waitMs: number, signal: AbortSignal): Promise<RunView | undefined>;
  /** What happened to its nodes, and when what remains should start and end. */
  runPlan(caller: Caller, id: string): Promise<RunPlanView | undefined>;
  /** What does not change about it; "gone": nobody knows its graph any more. */
  runGraph(caller: Caller, id: string): Promise<RunGraphView | "gone" | undefined>;
  /** Where its nodes stand; with the sequence of an event, those that changed after it. */
  runNodes(caller: Caller, id: string, after: number | undefined): Promise<RunNodesView | "gone" | undefined>;
  /** What the ledger says of its attempts, however long ago. */
  runHistory(caller: Caller, id: string, signal: AbortSignal): Promise<History | undefined>;
  /** And of all that happened in it. */
  runEvents(caller: Caller, id: string, signal: AbortSignal): Promise<AsyncIterable<StreamEvent> | undefined>;
  runs(caller: Caller, after: ListCursor | undefined, limit: number): Promise<Page<RunLineView>>;
  cancelRun(caller: Caller, id: string): Promise<boolean>;
  nodeResult(caller: Caller, runId: string, nodeId: string): Promise<NodeResult | undefined>;
  /** Frees what workers keep of its results. False: there was nothing to release, or nothing that the caller may see. */
  releaseRun(caller: Caller, id: string): Promise<boolean>;

  workers(caller: Caller): Promise<readonly WorkerView[]>;
  /** What workers did since a moment, by default some minutes ago, as far as it is remembered, and do now; the latest of it. */
  attempts(caller: Caller, since: number | undefined, most: number): Promise<AttemptsView>;
  drainWorker(caller: Caller, id: string): Promise<boolean>;
  /** An executor of the caller's zone, or with undefined the whole zone. */
  setPaused(caller: Caller, executor: string | undefined, paused: boolean): Promise<void>;
  queues(caller: Caller): Promise<QueuesView>;
  agents(caller: Caller): Promise<readonly AgentView[]>;
  setAgentLimit(caller: Caller, agent: string, limit: AgentLimit): Promise<AgentView>;
  setZoneLimit(caller: Caller, maxConcurrent: number | null | undefined): Promise<void>;
  grantCredits(caller: Caller, agent: string, micros: number): Promise<AgentView | Refusal>;
  limits(caller: Caller): Promise<readonly LimitView[]>;
  setLimit(caller: Caller, limit: LimitSetting): Promise<LimitView>;

  /** The committed blocks, a line each. They span all zones: who may see them is the caller's to know. */
  ledger(): AsyncIterable<string>;
  /** How far it reaches, and how far it was read again and found as it was written; each call reads a little more. */
  ledgerStanding(): Promise<LedgerStanding>;
  /** Puts an entry of the audit into the ledger's chain and stores it, by one commit. */
  recordAudit(row: AuditRow): Promise<void>;
  checkAudit(): Promise<AuditStanding>;
  /** What happens, from an opaque id on, or from now; ends with the signal. Only what the caller may see. */
  events(caller: Caller, from: EventsFrom, signal: AbortSignal): AsyncIterable<StreamEvent>;
}

/** What can be looked at, now or as it was. */
export const READINGS = [
  "task",
  "tasks",
  "countTasks",
  "history",
  "why",
  "log",
  "metrics",
  "overview",
  "run",
  "runPlan",
  "runGraph",
  "runNodes",
  "runs",
  "workers",
  "attempts",
  "queues",
  "agents",
  "limits",
] as const satisfies readonly (keyof Api)[];

export type Reading = Pick<Api, (typeof READINGS)[number]>;

/** The address at which a worker serves its chunks. */
export interface HolderDoor {
  readonly url: string;
  /** Whether the address that the URL leads to may be connected to. */
  readonly permits: (address: string) => boolean;
}

/** Where the result of a node is. */
export type NodeResult =
  /** JSON text. */
  | { readonly is: "stored"; readonly result: string }
  /** To be fetched by whoever shows the token, from where workers serve their chunks, best first. */
  | {
      readonly is: "held";
      readonly handle: ChunkHandle;
      readonly chunk: string;
      readonly from: readonly HolderDoor[];
      readonly token: string;
      /** Whether nobody else could come back with it, or make it again. */
      readonly isLast: boolean;
    }
  | { readonly is: "not-completed"; readonly status: RowStatus; readonly error: string }
  /** Nobody needed it any more. */
  | { readonly is: "gone" }
  /** Those who have it may come back, or it is made again. */
  | { readonly is: "away" }
  /** It was kept, and its workers went after its run had ended. */
  | { readonly is: "lost" };

export const SCOPES = ["submit", "read", "work", "admin", "operator"] as const;
export type Scope = (typeof SCOPES)[number];

/** Who asks, as the key and the headers say. */
export interface Caller {
  readonly keyId: string;
  readonly zone: string;
  readonly agent: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Sees and changes what any agent of the zone has: an admin that does not act for an agent. */
  readonly isZoneAdmin: boolean;
}

export interface TaskSubmission {
  readonly executor: string;
  readonly type: string;
  /** JSON text. */
  readonly payload: string;
  readonly priority: Priority;
  readonly requestState: RequestState;
  readonly estimateMs: number;
  readonly boostMicros: number;
  /** -1: none. */
  readonly deadline: number;
  readonly runAt: number;
  readonly idempotencyKey: string | undefined;
  /** SHA-256 of the canonical request, to tell whether the same key came with another one; "" without a key. */
  readonly bodyHash: string;
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  /** Sorted by code unit, without duplicates. */
  readonly capabilities: readonly string[];
  readonly limits: readonly string[];
  /** What it counts towards each of them; empty: one each. */
  readonly amounts: readonly number[];
  /** What it may consume; empty: as much as it likes. */
  readonly budget: TaskBudget;
  readonly maxAttempts: number;
  readonly backoffMs: number;
  /** 0: no limit. */
  readonly timeoutMs: number;
  /** Where the trace of whoever runs it goes on. No decision depends on it. */
  readonly trace?: TraceContext;
}

export type Submitted =
  | {
      readonly accepted: true;
      readonly id: string;
      readonly task: TaskView;
      /** An earlier submission with the same key made it. */
      readonly repeated: boolean;
      /** The submitter should slow down. */
      readonly throttle: boolean;
    }
  | Refusal;

export interface Refusal {
  readonly accepted: false;
  readonly code: RefusalCode;
  readonly message: string;
  readonly retryAfterMs?: number;
}

/** `key-reused`: the idempotency key came with another request before. `ended`/`not-ended`: the task's status forbids it. */
export type RefusalCode =
  | "backlog"
  | "backpressure"
  | "fair-share"
  | "rate-limit"
  | "credits"
  | "content-refused"
  | "key-reused"
  | "duplicate-run"
  | "too-many-nodes"
  | "not-ended"
  | "part-of-a-run"
  | "no-budget"
  | "not-running"
  | "too-many-schedules"
  | "unreadable-task";

export interface TaskView extends Omit<TaskRow, "result"> {
  readonly effectiveTier: number;
  /** JSON text; undefined: none. */
  readonly result: string | undefined;
  readonly progress:
    | { readonly fraction: number | undefined; readonly message: string | undefined }
    | undefined;
  /** Where it is, or was, tried in several ways at once, as long as its run is remembered. */
  readonly speculation: SpeculationView | undefined;
  /** Undefined: it has none. */
  readonly budget: BudgetView | undefined;
}

export interface BudgetView {
  /** In the order of `BUDGET_PARTS`. */
  readonly given: TaskBudget;
  readonly recharged: readonly number[];
  readonly exhausted: BudgetPart | undefined;
  /** Undefined before its end. */
  readonly used: readonly number[] | undefined;
}

export interface SpeculationView {
  readonly because: SpeculationCause;
  readonly alternatives: readonly {
    readonly id: string;
    readonly tag: string;
    readonly isOpen: boolean;
    /** Points for verification, confidence, size, risk and speed; undefined before the vote, or if it ended after it. */
    readonly points: readonly number[] | undefined;
  }[];
  /** Undefined before the vote. The winner is its place among the alternatives; -1: nobody. */
  readonly outcome: { readonly winner: number; readonly by: VoteTaken["by"] } | undefined;
}

export interface TaskLineView extends TaskLine {
  readonly effectiveTier: number;
}

export interface ListFilter {
  readonly statuses?: readonly RowStatus[];
  readonly executor?: string;
  readonly type?: string;
  readonly runId?: string;
  readonly priorityClass?: number;
  readonly waitedMs?: { readonly min?: number; readonly max?: number };
  /** Only for zone admins; others see their own. */
  readonly agent?: string;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Where the next page begins; undefined: this was the last. */
  readonly next: ListCursor | undefined;
}

export interface Recalled
  extends Pick<TaskRecalled, "attempt" | "waitMicros" | "queueMicros" | "moveMicros"> {
  readonly worker: string;
  readonly idle: string;
}

export interface Explanation {
  readonly id: string;
  readonly status: RowStatus;
  /** Why it does not run yet, the primary reason first. */
  readonly waiting: readonly (WaitReason & { readonly text: string })[];
  /** Why it runs, or last ran, where it does. */
  readonly placed:
    | {
        readonly worker: string;
        readonly attempt: number;
        readonly reason: Readonly<Record<string, unknown>>;
        readonly runnerUp: string | undefined;
        readonly rejected: Readonly<Record<string, number>>;
        /** Another stood idle, so the worker of this attempt or the one before it was asked to give it back. */
        readonly recalled: Recalled | undefined;
        readonly text: string;
      }
    | undefined;
  /** Where the results are that it gets; undefined where nodes of its run hand nothing to each other. */
  readonly inputs: readonly (InputPlace & { readonly text: string })[] | undefined;
  /** While it waits: what goes first, when it should start, and who could take it. */
  readonly outlook: Outlook | undefined;
}

export interface Outlook {
  /** Those of them that the caller may see. */
  readonly ahead: readonly { readonly id: string; readonly node: string | undefined }[];
  /** Undefined: as things stand it does not start, or nobody can say when. */
  readonly forecast:
    | { readonly startsInMs: number; readonly ahead: number; readonly slots: number }
    | undefined;
  readonly candidates: readonly CandidateRow[];
  /** What it hangs on, each on the next. */
  readonly chain: readonly { readonly node: string; readonly status: string }[];
  /** What would make it start sooner, the best first. */
  readonly sooner: readonly SoonerView[];
}

export interface SoonerView {
  readonly change: ToldChange;
  /** To follow "it would start sooner if". */
  readonly text: string;
  readonly startsInMs: number;
}

export interface Metrics {
  readonly queueByClass: readonly {
    readonly priorityClass: number;
    readonly count: number;
    /** Milliseconds. */
    readonly avgWaitMs: number;
    readonly maxWaitMs: number;
  }[];
  readonly fairShare: Readonly<
    Record<
      string,
      { readonly running: number; readonly max: number | null; readonly available: number | null }
    >
  >;
  readonly useHrrn: boolean;
  readonly totals: Readonly<Record<RowStatus, number>>;
  readonly backend: string;
}

export interface Overview {
  readonly zone: string;
  readonly now: number;
  /** Interactive, batch, background. */
  readonly classes: readonly {
    readonly ready: number;
    readonly running: number;
    readonly oldestWaitMs: number;
  }[];
  /** All that waits, by the first reason that applies. */
  readonly waiting: Readonly<Record<string, number>>;
  readonly ended: { readonly completed: number; readonly failed: number; readonly cancelled: number };
  readonly activity: Activity;
  readonly commitMs: Quantiles | undefined;
  readonly workers: number;
  readonly slots: Slots;
  /** Those with most running. */
  readonly agents: readonly {
    readonly agent: string;
    readonly running: number;
    readonly maxConcurrent: number | null;
  }[];
  /** Of those that have not ended, the latest whose nodes hand data to each other. */
  readonly dataRuns: readonly { readonly id: string; readonly name: string; readonly data: DataBytes }[];
}

export interface RunSubmission {
  /** Undefined: a new one. A run with this id must not exist. */
  readonly id: string | undefined;
  readonly graph: GraphFile;
  readonly failFast: boolean;
  readonly trace?: TraceContext;
}

export interface RunView extends RunRow {
  /** Nodes by status; undefined once the run is no longer in the state and its nodes have to be listed instead. */
  readonly counts: Readonly<Record<RowStatus, number>>;
  /** What its nodes handed to each other, while the run is remembered. */
  readonly data: DataBytes | undefined;
  readonly stuck: readonly StuckNodes[];
}

export interface RunLineView extends RunRow {
  /** Undefined: they would have to be counted. */
  readonly counts: Readonly<Record<RowStatus, number>> | undefined;
}

/** Ready nodes of one kind that no worker which is known could run. */
export interface StuckNodes {
  /** The first of them, and how many there are. */
  readonly node: string;
  readonly nodes: number;
  readonly text: string;
}

export interface RunPlanView {
  readonly run: RunRow;
  readonly now: number;
  readonly rows: readonly TaskLine[];
  /** Undefined for a run that has ended. */
  readonly forecast: Forecast | undefined;
}

/** Null: no limit; undefined: as the zone or the configuration says. */
export interface AgentLimit {
  readonly maxConcurrent: number | null | undefined;
  /** Of submissions. */
  readonly rate: Rate | null | undefined;
}

export interface AgentView {
  readonly agent: string;
  readonly running: number;
  readonly maxConcurrent: number | null;
  readonly rate: Rate | null;
  /** Whether it was set for this agent, rather than for its zone or for all. */
  readonly hasOwnMax: boolean;
  readonly hasOwnRate: boolean;
  readonly creditsMicros: number;
  readonly reservedMicros: number;
  readonly costMicros: number;
}

export interface LimitSetting {
  readonly name: string;
  /** Null: no limit. */
  readonly concurrency: number | null;
  readonly rate: { readonly count: number; readonly periodMs: number } | null;
}

export interface LimitView extends LimitSetting {
  readonly running: number;
}

export type EventsFrom =
  | { readonly at: "now" }
  | { readonly at: "after"; readonly id: string }
  | { readonly at: "start" };

/** An event of the ledger that the caller may see; ids are opaque and resume the stream. */
export interface StreamEvent {
  readonly id: string;
  readonly kind: string;
  readonly at: number;
  readonly taskId: string | undefined;
  readonly runId: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What is outside of the scheduler: keys are the edge's own. */
export interface KeyStore {
  apiKeys(): Promise<readonly ApiKeyRow[]>;
  saveApiKey(key: ApiKeyRow): Promise<void>;
  setting(name: string, initial: () => string): Promise<string>;
}

/** What workers say, over whichever transport; both transports have checked that the key allows the zones. */
export interface WorkerGateway {
  /**
   * Registers, or goes on under the same session. Over a socket, `sink` takes what the server has to say; without
   * one it waits for polls. `peer` is the address that the worker connects from, `undefined` within this process.
   */
  register(
    caller: Caller,
    registration: Registration,
    heartbeat: Heartbeat,
    sink: WorkerSink | undefined,
    peer?: string,
  ): Promise<WorkerSession | RegistrationRefusal>;
  /** The session of a worker that comes by HTTP, if it is the current one and the caller's. */
  session(caller: Caller, workerId: string, session: string): WorkerSession | undefined;
}

/**
 * `worker-taken`: another worker of the zone has this id. It may leave, or its lease may end. `rate-limit` and `backlog`: there are
 * as many workers as the server's limits allow.
 */
export interface RegistrationRefusal {
  readonly refused: "zone-not-allowed" | "worker-taken" | "invalid" | "rate-limit" | "backlog";
  readonly message: string;
  /** `undefined` if it is not known when another try may succeed. */
  readonly retryAfterMs?: number;
}

export interface WorkerSink {
  assign(given: readonly GivenAssignment[]): void;
  send(message: Exclude<ServerMessage, { type: "assign" }>): void;
  close(): void;
}

export interface WorkerSession {
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  /** Resolves once all of them are committed, or refused for good; the answers come in the same order. */
  report(reports: readonly Report[]): Promise<readonly Ack[]>;
  heartbeat(heartbeat: Heartbeat): void;
  log(entries: readonly LogEntry[]): void;
  progress(progress: Progress): void;
  /** What the worker holds: it is told what nobody needs. */
  chunks(ids: readonly string[]): void;
  drain(): Promise<void>;
  leave(): Promise<void>;
  /** Resolves as soon as there is something to bring, or when the time is over. */
  poll(heartbeat: Heartbeat, waitMs: number, signal: AbortSignal): Promise<PollAnswer>;
  /** The connection broke; the worker may come back before its lease ends. */
  disconnected(): void;
}
