import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type Block, ChainVerifier, GENESIS, type Head, headOf } from "../../ledger/index.ts";
import {
  type Candidate,
  type Leadership,
  type Member,
  type SavedSnapshot,
  type ServiceStore,
  type StoredPayload,
  StoreError,
} from "../contract.ts";
import {
  type ApiKeyRow,
  type FoundTasks,
  type IdempotencyKey,
  type KeyedTask,
  type ListCursor,
  type LogLine,
  NO_CHANGES,
  type Retention,
  ROW_STATUSES,
  type RowChanges,
  type RunRow,
  type TaskFilter,
  type TaskLine,
  type TaskRow,
  type TaskSearch,
} from "../rows.ts";
import type { WebhookStore } from "../webhook-rows.ts";
import { PostgresAudit } from "./audit.ts";
import { Committer } from "./committer.ts";
import { Sockets } from "./connection.ts";
import { Debounced } from "./debounced.ts";
import { HeadRow } from "./head-row.ts";
import { PostgresInbox } from "./inbox.ts";
import { Outage } from "./outage.ts";
import { arraysOf, type TaskRecord, taskFrom } from "./parameters.ts";
import { prepare } from "./prepare.ts";
import { probe } from "./probe.ts";
import { Reader } from "./reader.ts";
import {
  type ApiKeyRecord,
  apiKeyFrom,
  type FoundRecord,
  foundFrom,
  type KeyRecord,
  keyedFrom,
  type LogRecord,
  logFrom,
  type RunRecord,
  runFrom,
} from "./records.ts";
import { PostgresSchedules } from "./schedules.ts";
import { loadSnapshot, saveSnapshot } from "./snapshots.ts";
import { PostgresTickets } from "./tickets.ts";
import { PostgresWebhooks } from "./webhooks.ts";

export interface PostgresOptions {
  readonly url: string;
  /** Where the tables are; made if it is not there. */
  readonly schema?: string;
  /** Told when it is opened, if it may lose what was committed. */
  readonly onUnsafe?: (message: string) => void;
  /** Told when PostgreSQL cannot be reached, and at growing distances while it cannot. */
  readonly onTrouble?: (message: string) => void;
  /** Told when it can be again. */
  readonly onRecovery?: (message: string) => void;
}

interface PayloadRecord {
  readonly id: string;
  readonly payload: string;
  readonly traced: string | null;
}

const PAGE_BYTES = 8 << 20;
const PRUNE_BATCH = 1_000;
/** Long enough to gather what is submitted together, too short to be noticed. */
const NOTIFY_AFTER_MS = 25;
/** How long connections may take to end in good order. */
const CLOSE_WITHIN_MS = 1_000;

/** A store in PostgreSQL. Several processes may open the same tables; the head decides whose block is next. */
export class PostgresStore implements ServiceStore {
  readonly backend = "postgresql";
  #head: Head = GENESIS;
  readonly #closing = new AbortController();
  readonly #sockets = new Sockets();
  readonly #committer: Committer;
  readonly inbox: PostgresInbox;
  readonly schedules: PostgresSchedules;
  readonly audit: PostgresAudit;
  readonly tickets: PostgresTickets;
  /** What the scheduler itself needs. It does not wait for what callers list and look up. */
  readonly #reader: Reader;
  /** Lists, histories and other answers to callers. */
  readonly #viewer: Reader;
  readonly #headRow: HeadRow;
  readonly #notify: Debounced;
  readonly webhooks: WebhookStore;

  private constructor(options: PostgresOptions) {
    const { url, schema = "orrery", onTrouble = () => {}, onRecovery = () => {} } = options;
    const target = { url, schema, sockets: this.#sockets };
    const closed = this.#closing.signal;
    // Everything that waits for the end of an outage listens to it: Node would take many for a leak.
    setMaxListeners(0, closed);
    const outage = new Outage({ onTrouble, onRecovery, closed });
    this.#committer = new Committer(target, outage, closed);
    this.#reader = new Reader(target, outage, closed);
    this.#viewer = new Reader(target, outage, closed);
    this.#headRow = new HeadRow(target, outage, closed);
    this.inbox = new PostgresInbox(this.#reader);
    this.webhooks = new PostgresWebhooks(this.#reader);
    this.schedules = new PostgresSchedules(this.#reader);
    this.tickets = new PostgresTickets(this.#reader);
    this.audit = new PostgresAudit(this.#viewer);
    this.#notify = new Debounced(NOTIFY_AFTER_MS, () => this.#reader.rows("notify-enqueued", []));
  }

  /** Migrates the tables and reads the head. Waits a while for a server that is still starting. */
  static async open(options: PostgresOptions): Promise<PostgresStore> {
    const { url, schema = "orrery", onUnsafe } = options;
    await prepare({ url, schema }, onUnsafe);
    const store = new PostgresStore(options);
    try {
      store.#head = await store.refresh();
      return store;
    } catch (cause) {
      await store[Symbol.asyncDispose]();
      throw cause;
    }
  }

  get head(): Head {
    return this.#head;
  }

  async refresh(): Promise<Head> {
    const [head] = await this.#reader.rows<Head>("read-head", []);
    if (!head) throw new StoreError("damaged", "the table of the head is empty");
    return head;
  }

  leadership(): Promise<Leadership> {
    return this.#headRow.read();
  }

  async lead(expected: Leadership, as: Candidate): Promise<boolean> {
    const head = await this.#headRow.lead(expected, as);
    if (head) this.#head = head;
    return head !== undefined;
  }

  beat(): Promise<boolean> {
    return this.#headRow.beat();
  }

  release(): Promise<void> {
    return this.#headRow.release();
  }

  saveMember(member: Member): Promise<void> {
    return this.#headRow.saveMember(member);
  }

  removeMember(name: string): Promise<void> {
    return this.#headRow.removeMember(name);
  }

  members(): Promise<readonly (Member & { readonly seenMsAgo: number })[]> {
    return this.#headRow.members();
  }

  isReachable(): Promise<boolean> {
    return this.#headRow.isReachable();
  }

  trouble(): string | undefined {
    return this.#committer.trouble();
  }

  async commit(block: Block, rows: RowChanges = NO_CHANGES): Promise<boolean> {
    if (!(await this.#committer.commit(block, rows))) return false;
    this.#head = headOf(block);
    if (rows.submitted.length > 0) this.#notify.call();
    return true;
  }

  probe(block: Block, rows: RowChanges): Promise<StoreError | undefined> {
    return probe(this.#reader, block, rows);
  }

  async *blocks(after: Head = GENESIS): AsyncGenerator<Block> {
    const chain = new ChainVerifier(after);
    for (;;) {
      const page = await this.#viewer.rows<{ line: string }>("read-blocks", [chain.head.seq, PAGE_BYTES]);
      if (page.length === 0) return;
      for (const { line } of page) {
        const block = chain.accept(line);
        if ("code" in block) {
          const { seq, code, detail } = block;
          throw new StoreError("damaged", `event ${seq} is the first bad one (${code}): ${detail}`);
        }
        yield block;
      }
    }
  }

  async blockAt(seq: number): Promise<Block | undefined> {
    const [block] = await this.#viewer.rows<Block>("block-at", [seq]);
    return block && headOf(block).seq >= seq ? block : undefined;
  }

  saveSnapshot(snapshot: SavedSnapshot, pause?: () => Promise<unknown>): Promise<void> {
    return saveSnapshot(this.#reader, snapshot, pause);
  }

  loadSnapshot(): Promise<SavedSnapshot | undefined> {
    return loadSnapshot(this.#reader);
  }

  async keyed(keys: readonly IdempotencyKey[]): Promise<readonly KeyedTask[]> {
    if (keys.length === 0) return [];
    const columns = arraysOf(keys, [({ zone }) => zone, ({ agent }) => agent, ({ key }) => key]);
    return (await this.#reader.rows<KeyRecord>("keyed", columns)).map(keyedFrom);
  }

  async payloads(ids: readonly string[]): Promise<ReadonlyMap<string, StoredPayload>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#reader.rows<PayloadRecord>("payloads", [ids]);
    return new Map(
      rows.map(({ id, payload, traced }) => [id, { payload, tracedSettings: traced ?? undefined }]),
    );
  }

  async results(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#reader.rows<{ id: string; result: string }>("results", [ids]);
    return new Map(rows.map(({ id, result }) => [id, result]));
  }

  async task(id: string): Promise<TaskRow | undefined> {
    const [record] = await this.#viewer.rows<TaskRecord>("task", [id]);
    return record && taskFrom(record);
  }

  async tasks(
    filter: TaskFilter,
    after: ListCursor | undefined,
    limit: number,
  ): Promise<readonly TaskLine[]> {
    const { zone, agent, statuses, executor, type, runId, among } = filter;
    const rest = [executor, type, runId, after?.submittedSeq, after?.id, limit];
    const list = async (name: string, values: readonly unknown[]) =>
      (await this.#viewer.rows<TaskRecord>(name, values)).map(lineFrom);
    if (!statuses && !among) return await list("list-tasks", [zone, agent, ...rest]);
    const asked = (statuses ?? ROW_STATUSES).map((status) => ROW_STATUSES.indexOf(status));
    const values = [zone, agent, asked, ...rest];
    return among
      ? await list("list-some-tasks", [...values, among])
      : await list("list-tasks-by-status", values);
  }

  async findTasks(
    search: TaskSearch,
    after: ListCursor | undefined,
    limit: number,
    look: number,
  ): Promise<FoundTasks> {
    const { zone, agent, statuses, executor, type, runId, priorityClass, waitedMs, now } = search;
    const asked = statuses?.map((status) => ROW_STATUSES.indexOf(status));
    // What waits may have no progress, and a run is an index by itself.
    const isByStatus = asked !== undefined && !asked.includes(0) && runId === undefined;
    const place = [zone, agent, runId, after?.submittedSeq, after?.id, look];
    const terms = [asked, executor, type, priorityClass, waitedMs?.min, waitedMs?.max, now, limit];
    const rows = await this.#viewer.rows<TaskRecord & FoundRecord>(
      isByStatus ? "find-tasks-by-status" : "find-tasks",
      [...place, ...terms],
    );
    return foundFrom(rows, lineFrom);
  }

  async run(id: string): Promise<RunRow | undefined> {
    const [record] = await this.#viewer.rows<RunRecord>("run", [id]);
    return record && runFrom(record);
  }

  async runs(
    { zone, agent }: Pick<TaskFilter, "zone" | "agent">,
    after: ListCursor | undefined,
    limit: number,
  ): Promise<readonly RunRow[]> {
    const values = [zone, agent, after?.submittedSeq, after?.id, limit];
    return (await this.#viewer.rows<RunRecord>("list-runs", values)).map(runFrom);
  }

  async appendLogs(lines: readonly LogLine[]): Promise<void> {
    if (lines.length === 0) return;
    const columns = arraysOf(lines, [
      ({ taskId }) => taskId,
      ({ line }) => line,
      ({ attempt }) => attempt,
      ({ at }) => at,
      ({ stream }) => stream,
      ({ text }) => text,
    ]);
    await this.#reader.rows("append-logs", columns);
  }

  async logs(taskId: string, afterLine: number, limit: number): Promise<readonly LogLine[]> {
    return (await this.#viewer.rows<LogRecord>("logs", [taskId, afterLine, limit])).map(logFrom);
  }

  async apiKeys(): Promise<readonly ApiKeyRow[]> {
    return (await this.#reader.rows<ApiKeyRecord>("api-keys", [])).map(apiKeyFrom);
  }

  async saveApiKey(key: ApiKeyRow): Promise<void> {
    const { id, name, hmac, scopes, zones, agents, createdAt, expiresAt, revokedAt, keyId, handedTo } = key;
    const rights = [scopes, zones, agents];
    const values = [id, name, hmac, ...rights, createdAt, expiresAt, revokedAt, keyId, handedTo];
    await this.#reader.rows("save-api-key", values);
  }

  async setting(name: string, initial: () => string): Promise<string> {
    for (;;) {
      const [found] = await this.#reader.rows<{ value: string }>("setting", [name]);
      if (found) return found.value;
      await this.#reader.rows("add-setting", [name, initial()]);
    }
  }

  async replaceSetting(name: string, value: string): Promise<void> {
    await this.#reader.rows("replace-setting", [name, value]);
  }

  async prune(now: number, { endedTasksMs, logsMs, idempotencyMs }: Retention): Promise<number> {
    let tasks = 0;
    if (endedTasksMs !== null) {
      tasks = await this.#pruneAll("prune-tasks", now - endedTasksMs);
      await this.#pruneAll("prune-runs", now - endedTasksMs);
    }
    if (logsMs !== null) await this.#pruneAll("prune-logs", now - logsMs);
    await this.#pruneAll("prune-keys", now - idempotencyMs);
    return tasks;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.#notify.stop();
    const closed = Promise.all([
      this.#committer.close(),
      this.#reader.close(),
      this.#viewer.close(),
      this.#headRow.close(),
    ]);
    closed.catch(() => {});
    await Promise.race([closed, sleep(CLOSE_WITHIN_MS, undefined, { ref: false })]);
    // A pool may wait for ever for a connection that was being made: whatever is still open belongs to nobody now.
    this.#sockets.destroy();
  }

  /** In batches, so that no statement holds others up for long. */
  async #pruneAll(statement: string, until: number): Promise<number> {
    let total = 0;
    for (;;) {
      const [row] = await this.#reader.rows<{ count: number }>(statement, [until, PRUNE_BATCH]);
      total += row?.count ?? 0;
      if ((row?.count ?? 0) < PRUNE_BATCH) return total;
    }
  }
}

function lineFrom(record: TaskRecord): TaskLine {
  const { payload: _payload, settings: _settings, result: _result, ...line } = taskFrom(record);
  return line;
}
