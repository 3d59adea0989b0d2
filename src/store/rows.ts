/**
 * What a service keeps beside its ledger, as rows. The ledger and the payloads are the truth; the rest of a row
 * follows from the ledger, and is kept so that it can be looked up and listed without the scheduler's state.
 * Times are milliseconds since 1970, money is in millionths.
 */

export const ROW_STATUSES = ["queued", "running", "completed", "failed", "cancelled"] as const;
export type RowStatus = (typeof ROW_STATUSES)[number];

/** A task as it was submitted: alone, or as a node of a run. */
export interface SubmittedTask {
  readonly id: string;
  /** Undefined for a task of its own. */
  readonly run: { readonly id: string; readonly node: string } | undefined;
  readonly zone: string;
  readonly agent: string;
  readonly executor: string;
  readonly type: string;
  /** 0 (critical) to 4 (best effort). */
  readonly priority: number;
  readonly requestState: string;
  /** Start class after boost and io_wait: 0 interactive, 1 batch, 2 background. */
  readonly priorityClass: number;
  readonly boostMicros: number;
  readonly estimateMs: number;
  /** -1: none. */
  readonly deadline: number;
  /** -1: at once. */
  readonly runAt: number;
  /** Resources, capabilities, limits, attempts, time-out: what else was asked, as JSON text. */
  readonly settings: string;
  /** JSON text. */
  readonly payload: string;
  readonly payloadHash: string;
  readonly enqueuedAt: number;
  readonly submittedSeq: number;
}

/** What changes while a task runs and when it ends. Written whole, the last one counts. */
export interface TaskProgress {
  readonly status: RowStatus;
  readonly attempt: number;
  /** "": none yet. */
  readonly worker: string;
  /** -1: not yet. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** JSON text; undefined: none. */
  readonly result: string | undefined;
  readonly resultHash: string;
  readonly errorCode: string;
  readonly errorMessage: string;
  readonly costMicros: number;
  /** The event that this follows from. */
  readonly seq: number;
}

/** How a task of an earlier block went on. */
export interface ProgressedTask {
  readonly id: string;
  readonly progress: TaskProgress;
  /** Its submission, where nothing was written of it since: then it need not be looked up, and neither what was written. */
  readonly first?: { readonly zone: string; readonly agent: string; readonly seq: number } | undefined;
}

export interface Usage {
  readonly id: string;
  readonly used: readonly number[];
  readonly recharged: readonly number[];
}

/** Payload and settings are those of the other task. */
export interface AlternativeTask {
  readonly task: SubmittedTask;
  readonly of: string;
}

/** The result is that of the other task. */
export interface ChosenTask {
  readonly id: string;
  readonly progress: TaskProgress;
  readonly of: string;
  /** Of one that came in the same block: its submission. */
  readonly first?: ProgressedTask["first"];
}

export const QUEUED: TaskProgress = {
  status: "queued",
  attempt: 0,
  worker: "",
  startedAt: -1,
  endedAt: -1,
  result: undefined,
  resultHash: "",
  errorCode: "",
  errorMessage: "",
  costMicros: 0,
  seq: 0,
};

export interface TaskRow extends SubmittedTask, TaskProgress {
  /** What its attempt consumed, where that was counted; only where one task is looked up. */
  readonly used?: readonly number[] | undefined;
  /** And what it had been recharged by. */
  readonly recharged?: readonly number[] | undefined;
}

/** A row without what may be large. */
export type TaskLine = Omit<TaskRow, "payload" | "result" | "settings" | "used" | "recharged">;

/** The same key of the same agent in the same zone means the same task, until some time after it ended. */
export interface IdempotencyKey {
  readonly zone: string;
  readonly agent: string;
  readonly key: string;
}

export interface KeyedTask extends IdempotencyKey {
  readonly taskId: string;
  /** Of the request that the key came with first. */
  readonly bodyHash: string;
}

export interface RunRow {
  readonly id: string;
  readonly zone: string;
  readonly agent: string;
  readonly name: string;
  readonly nodes: number;
  readonly submittedAt: number;
  readonly submittedSeq: number;
  readonly outcome: "" | "completed" | "failed" | "cancelled";
  /** -1: not yet. */
  readonly endedAt: number;
}

/** What a block changes in the rows; committed with it or not at all. A task is named once in each list at most. */
export interface RowChanges {
  readonly submitted: readonly { readonly task: SubmittedTask; readonly progress: TaskProgress }[];
  /** Tasks that ask for the same as another task of an earlier block. */
  readonly alternatives: readonly AlternativeTask[];
  readonly progressed: readonly ProgressedTask[];
  /** Tasks of earlier blocks that have the result of another one, which ended in an earlier block. */
  readonly chosen: readonly ChosenTask[];
  /** What attempts consumed that ended in this block. */
  readonly usages: readonly Usage[];
  readonly keys: readonly KeyedTask[];
  readonly runs: readonly RunRow[];
  /** Runs of earlier blocks. */
  readonly runsEnded: readonly {
    readonly id: string;
    readonly outcome: RunRow["outcome"];
    readonly endedAt: number;
  }[];
  /** Entries of the audit whose hashes the block holds; left out in most blocks. */
  readonly audits?: readonly AuditRow[];
}

export const NO_CHANGES: RowChanges = {
  submitted: [],
  alternatives: [],
  progressed: [],
  chosen: [],
  usages: [],
  keys: [],
  runs: [],
  runsEnded: [],
};

export interface TaskFilter {
  readonly zone: string;
  /** Undefined: all agents. */
  readonly agent?: string;
  readonly statuses?: readonly RowStatus[];
  readonly executor?: string;
  readonly type?: string;
  readonly runId?: string;
  /** Only these, by id. */
  readonly among?: readonly string[];
}

/** What can be asked beyond what an index knows. */
export interface TaskSearch extends Omit<TaskFilter, "among"> {
  readonly priorityClass?: number;
  /** From when it could run until it did, or ended, or now. */
  readonly waitedMs?: { readonly min?: number; readonly max?: number };
  readonly now: number;
}

/** What was found among as many as were looked at. */
export interface FoundTasks {
  readonly lines: readonly TaskLine[];
  /** Also those beyond the limit. */
  readonly fitting: number;
  /** Where to look on; undefined: there is nothing more. */
  readonly lookedTo: ListCursor | undefined;
}

/** How long a task waited, or waits. */
export function waitedMs(
  { enqueuedAt, runAt, startedAt, endedAt }: Pick<TaskLine, "enqueuedAt" | "runAt" | "startedAt" | "endedAt">,
  now: number,
): number {
  const until = startedAt >= 0 ? startedAt : endedAt >= 0 ? endedAt : now;
  return until - Math.max(enqueuedAt, runAt);
}

/** A place in a list that is ordered by (submittedSeq, id), newest first. */
export interface ListCursor {
  readonly submittedSeq: number;
  readonly id: string;
}

export interface LogLine {
  readonly taskId: string;
  readonly attempt: number;
  /** Grows within a task. */
  readonly line: number;
  readonly at: number;
  readonly stream: "stdout" | "stderr" | "log";
  readonly text: string;
}

/** An API key without its secret, of which only an HMAC is kept. */
export interface ApiKeyRow {
  readonly id: string;
  readonly name: string;
  readonly hmac: string;
  readonly scopes: readonly string[];
  /** ["*"]: all. */
  readonly zones: readonly string[];
  readonly agents: readonly string[];
  readonly createdAt: number;
  /** -1: never. */
  readonly expiresAt: number;
  /** -1: not revoked. */
  readonly revokedAt: number;
  /** Id of the key that made this one, which ends with it; "" if it belongs to no key. */
  readonly keyId: string;
  /** Id of the key that everything belongs to that this key made; "" if that is this key itself. */
  readonly handedTo: string;
}

/** A submission that was made inside of another transaction, and waits to be taken in. */
export interface InboxRow {
  readonly number: number;
  /** Of the task that it becomes. */
  readonly taskId: string;
  readonly zone: string;
  readonly agent: string;
  /** JSON text: what would be submitted by HTTP. */
  readonly body: string;
  /** Its task is there already: whoever took it in did not come to drop the row. */
  readonly isTaken: boolean;
}

/** A row that can never be taken in, with the reason. */
export interface RefusedRow {
  readonly number: number;
  readonly error: string;
}

/** Something that somebody did who may do more than submit and look. */
export interface AuditRow {
  /** Grows with time. */
  readonly id: string;
  readonly at: number;
  /** "": it concerns all zones. */
  readonly zone: string;
  readonly keyId: string;
  readonly agent: string;
  readonly action: string;
  /** What it was done to. */
  readonly target: string;
  /** JSON text: what was set before; "null" if there was nothing. Never a secret. */
  readonly before: string;
  /** JSON text: what was asked for. Never a secret. */
  readonly detail: string;
  /** Sequence number of the event that holds its hash; -1 before that event is decided. */
  readonly seq: number;
}

/** A recurring task: what is submitted, and when. */
export interface ScheduleRow extends ScheduleFired {
  readonly id: string;
  readonly zone: string;
  /** Who made it, and submits its tasks. */
  readonly agent: string;
  readonly name: string;
  readonly cron: string;
  readonly timeZone: string;
  /** JSON text: what would be submitted by HTTP. */
  readonly task: string;
  readonly catchUp: "none" | "latest" | "all";
  readonly catchUpLimit: number;
  readonly overlap: "allow" | "skip";
  /** -1: none. */
  readonly startAt: number;
  readonly endAt: number;
  readonly paused: boolean;
  readonly createdAt: number;
  /** Id of the key that made the schedule; "" if it belongs to no key. */
  readonly keyId: string;
}

/** How far a recurring task has come. */
export interface ScheduleFired {
  /** All times up to this one have been seen to: they made a task, or deliberately none. */
  readonly seenTo: number;
  /** -1: not yet. */
  readonly lastFiredAt: number;
  /** "": none. */
  readonly lastTaskId: string;
  readonly lastError: string;
}

/** How long things are kept; null: for ever. */
export interface Retention {
  readonly endedTasksMs: number | null;
  readonly logsMs: number | null;
  readonly idempotencyMs: number;
}
