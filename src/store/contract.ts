import type { Block, Head } from "../ledger/index.ts";
import type {
  ApiKeyRow,
  AuditRow,
  FoundTasks,
  IdempotencyKey,
  InboxRow,
  KeyedTask,
  ListCursor,
  LogLine,
  RefusedRow,
  Retention,
  RowChanges,
  RunRow,
  ScheduleFired,
  ScheduleRow,
  TaskFilter,
  TaskLine,
  TaskRow,
  TaskSearch,
} from "./rows.ts";
import type { WebhookStore } from "./webhook-rows.ts";

/** A state that replay may start from, with its place in the chain. The state itself is the scheduler's. */
export interface SavedSnapshot {
  readonly head: Head;
  readonly stateHash: string;
  readonly state: unknown;
}

/**
 * Where blocks are committed. Whatever it stands on, a block is taken if and only if it builds on the head,
 * and once `commit` has resolved with true the block is there for good.
 */
export interface Store extends AsyncDisposable {
  readonly head: Head;
  /**
   * False: the head is not what the block builds on; nothing was written. Where it cannot be told whether the block
   * was written (the connection broke), it is found out before this resolves, however long that takes. The next one,
   * which builds on it, may be sent before this has resolved: they are taken and resolve in the order of the calls.
   *
   * Rejects with a `StoreError` of code "refused" if the store can never take the content of this block or its rows.
   * Nothing of the block is stored then, and the store stays usable: it takes another block that builds on the same
   * head. Blocks that were sent after the refused one do not find their head and resolve with false. Any other
   * rejection means that this process can commit nothing more.
   */
  commit(block: Block, rows?: RowChanges): Promise<boolean>;
  /**
   * Checks whether the store can take the content of rows that were committed with a block that builds on the head.
   * Stores nothing. Returns the error with the code "refused" that `commit` would reject with, and `undefined` if it can
   * take them or the head is another one.
   */
  probe(block: Block, rows: RowChanges): Promise<StoreError | undefined>;
  /** All blocks in order, or those after a head. */
  blocks(after?: Head): AsyncIterable<Block>;
  /** What is long is written in parts, between which it may be told to wait. */
  saveSnapshot(snapshot: SavedSnapshot, pause?: () => Promise<unknown>): Promise<void>;
  loadSnapshot(): Promise<SavedSnapshot | undefined>;
}

/** The head with who leads. Every commit, every beat and every change of leader changes it. */
export interface Leadership extends Head {
  /** One life of one process, never two; "": nobody leads. */
  readonly holder: string;
  /** Where the holder takes requests; "": nowhere. */
  readonly url: string;
  readonly beat: number;
}

/** Who wants to lead. */
export interface Candidate extends Pick<Leadership, "holder" | "url"> {
  /** After how much silence others take over; undefined: there are no others. */
  readonly leaseMs?: number | undefined;
}

/** A server that shares the store, as it says itself. */
export interface Member {
  readonly name: string;
  readonly url: string;
  readonly role: "leader" | "follower" | "starting";
  /** The last event that it has applied. */
  readonly seq: number;
}

/**
 * Who may commit to a store that several processes have open. Whatever it stands on, the head is compared and
 * swapped: of several who want to lead at most one does, and whoever led before can commit nothing more.
 */
export interface Leading {
  leadership(): Promise<Leadership>;
  /**
   * Begins the epoch after the expected one, if the head is still as expected. From then on `head` is that of the
   * store, and only blocks of the new epoch are taken. False: it has changed, and nothing was written.
   *
   * With a lease, the store shows by itself that this process lives while it computes for so long that it does not
   * call `beat`, for a few leases at most.
   */
  lead(expected: Leadership, as: Candidate): Promise<boolean>;
  /** Shows that the holder is alive. False: this process does not lead any more. */
  beat(): Promise<boolean>;
  /** Lets the next one lead at once. Nothing may be committed after it. */
  release(): Promise<void>;

  /** Adds a member, or says that it is still there. */
  saveMember(member: Member): Promise<void>;
  removeMember(name: string): Promise<void>;
  /** By name, with how long ago each was heard of. */
  members(): Promise<readonly (Member & { readonly seenMsAgo: number })[]>;
}

/**
 * A store that keeps rows as well: what a service needs. Rows change only by `commit`; logs, API keys and
 * what retention drops are outside of the ledger.
 */
export interface StoredPayload {
  readonly payload: string;
  /** The settings of a task that belongs to a trace, which stands in them. */
  readonly tracedSettings: string | undefined;
}

export interface ServiceStore extends Store, Leading {
  /** `memory` or `postgresql`. */
  readonly backend: string;
  /** Undefined: it has no transactions that others could submit in. */
  readonly inbox: Inbox | undefined;
  readonly webhooks: WebhookStore;
  readonly schedules: ScheduleStore;
  readonly audit: AuditStore;
  readonly tickets: TicketStore;
  /** The head as it is stored now: another process may have moved it. `head` stays what this one knows and builds on. */
  refresh(): Promise<Head>;
  /** Whether it can be reached now. */
  isReachable(): Promise<boolean>;
  /**
   * Why commits have got nowhere for about a second; undefined while they are written, or none is under way. They are
   * tried until they succeed. A store can be reachable and still be in trouble, on a full disk for example.
   */
  trouble(): string | undefined;
  /** The block that holds the event of that sequence; undefined: there is none, or no longer. */
  blockAt(seq: number): Promise<Block | undefined>;

  /** One query for all of them. */
  keyed(keys: readonly IdempotencyKey[]): Promise<readonly KeyedTask[]>;
  /** One query for all of them; by id. */
  payloads(ids: readonly string[]): Promise<ReadonlyMap<string, StoredPayload>>;
  /** One query for all of them: of completed tasks the results, as JSON texts by id. */
  results(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  task(id: string): Promise<TaskRow | undefined>;
  /** Newest first, after the cursor. */
  tasks(filter: TaskFilter, after: ListCursor | undefined, limit: number): Promise<readonly TaskLine[]>;
  /** Those that fit among the next `look`, or so many of each status: bounded, however few there are. */
  findTasks(
    search: TaskSearch,
    after: ListCursor | undefined,
    limit: number,
    look: number,
  ): Promise<FoundTasks>;
  run(id: string): Promise<RunRow | undefined>;
  runs(
    filter: Pick<TaskFilter, "zone" | "agent">,
    after: ListCursor | undefined,
    limit: number,
  ): Promise<readonly RunRow[]>;

  appendLogs(lines: readonly LogLine[]): Promise<void>;
  /** Lines of a task after that number, oldest first. */
  logs(taskId: string, afterLine: number, limit: number): Promise<readonly LogLine[]>;

  apiKeys(): Promise<readonly ApiKeyRow[]>;
  /** Adds a key, or replaces the one with the same id. */
  saveApiKey(key: ApiKeyRow): Promise<void>;
  /** The value under that name; the first to ask decides it. */
  setting(name: string, initial: () => string): Promise<string>;
  replaceSetting(name: string, value: string): Promise<void>;

  /** Drops what is older than the retention at that time; returns how many tasks went. */
  prune(now: number, retention: Retention): Promise<number>;
}

/** Who did what, beside the ledger: it says what was done, not by which key. Entries are added by `commit`. */
export interface AuditStore {
  /** How many entries are kept; older ones are dropped. */
  readonly kept: number;
  /** Of these zones, newest first, older than the one with that id. */
  list(zones: readonly string[], before: string | undefined, limit: number): Promise<readonly AuditRow[]>;
  /** Every entry, oldest first by its event; -1 for those from before there was such an event. */
  all(): Promise<readonly AuditRow[]>;
  /** Drops all but the newest. */
  prune(kept?: number): Promise<void>;
}

/** Login tickets that were issued and not yet redeemed, by their hashes. */
export interface TicketStore {
  /** Adds a ticket, and drops those that had ended at `now`. */
  add(hash: string, expiresAt: number, now: number): Promise<void>;
  /** Deletes the ticket and returns when it ends; undefined if there is none. Of several callers one gets it. */
  take(hash: string): Promise<number | undefined>;
}

/** Recurring tasks, beside the ledger. */
export interface ScheduleStore {
  /** In the order in which they were made. */
  all(): Promise<readonly ScheduleRow[]>;
  /** Adds one, or says of the one with the same id whether it is paused and how far it has come. */
  save(row: ScheduleRow): Promise<void>;
  /** Nothing where it is gone, or has come further. */
  noteFired(id: string, fired: ScheduleFired): Promise<void>;
  remove(id: string): Promise<void>;
}

/** Submissions that were made inside of other transactions: a row is there if and only if its transaction was committed. */
export interface Inbox {
  /** Oldest first, without those of the agents named, up to so many rows and about so many bytes. */
  waiting(
    without: readonly { readonly zone: string; readonly agent: string }[],
    maxRows: number,
    maxBytes: number,
  ): Promise<readonly InboxRow[]>;
  /** Drops what was taken in, and keeps what never can be with the reason. */
  settle(taken: readonly number[], refused: readonly RefusedRow[]): Promise<void>;
  levels(): Promise<{ readonly waiting: number; readonly refused: number }>;
}

/** Whether the store cannot be reached for now. It tells of that itself; whoever looks again soon need not. */
export function isAway(error: unknown): boolean {
  return error instanceof StoreError && error.code === "unavailable";
}

/**
 * The causes of a `StoreError`. "refused" is the only one that is about the content of a commit and not about the
 * state of the store: the same commit would be refused again, and nothing of it was stored.
 */
type StoreErrorCode =
  | "damaged"
  | "foreign"
  | "locked"
  | "missing"
  | "refused"
  | "unavailable"
  | "unreadable"
  | "unwritable";

/** The world failed, or what is stored is not what was written. `code` is stable. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}
