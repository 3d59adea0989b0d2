import { compareText } from "../core/index.ts";
import { type Block, GENESIS, type Head, headOf } from "../ledger/index.ts";
import type {
  Candidate,
  Leadership,
  Member,
  SavedSnapshot,
  ServiceStore,
  StoredPayload,
} from "./contract.ts";
import { MemoryAudit } from "./memory-audit.ts";
import { MemoryRows } from "./memory-rows.ts";
import { MemorySchedules } from "./memory-schedules.ts";
import { MemoryTickets } from "./memory-tickets.ts";
import { MemoryWebhooks } from "./memory-webhooks.ts";
import {
  type ApiKeyRow,
  type FoundTasks,
  type IdempotencyKey,
  type KeyedTask,
  type ListCursor,
  type LogLine,
  NO_CHANGES,
  type Retention,
  type RowChanges,
  type RunRow,
  type TaskFilter,
  type TaskLine,
  type TaskRow,
  type TaskSearch,
} from "./rows.ts";
import type { WebhookStore } from "./webhook-rows.ts";

/** Every feature but durability. Of the tasks that ended it keeps the last 10,000. */
export class MemoryStore implements ServiceStore {
  readonly backend = "memory";
  readonly inbox = undefined;
  readonly schedules: MemorySchedules = new MemorySchedules();
  readonly audit: MemoryAudit = new MemoryAudit();
  readonly tickets: MemoryTickets = new MemoryTickets();
  #head: Head = GENESIS;
  #leader = { holder: "", url: "", beat: 0 };
  /** What was won by `lead`: this store belongs to one process, but it may lead, be asked, and lead again. */
  #term: { readonly epoch: number; readonly holder: string } | undefined;
  readonly #members = new Map<string, { readonly member: Member; readonly seenAtMs: number }>();
  readonly #blocks: Block[] = [];
  #snapshot: SavedSnapshot | undefined;
  readonly #rows = new MemoryRows();
  readonly webhooks: WebhookStore = new MemoryWebhooks(this.#rows);
  readonly #apiKeys = new Map<string, ApiKeyRow>();
  readonly #settings = new Map<string, string>();

  get head(): Head {
    return this.#head;
  }

  async refresh(): Promise<Head> {
    return this.#head;
  }

  async leadership(): Promise<Leadership> {
    return { ...this.#head, ...this.#leader };
  }

  async lead({ epoch, seq, beat }: Leadership, { holder, url }: Candidate): Promise<boolean> {
    if (epoch !== this.#head.epoch || seq !== this.#head.seq || beat !== this.#leader.beat) return false;
    this.#head = { ...this.#head, epoch: epoch + 1 };
    this.#leader = { holder, url, beat: beat + 1 };
    this.#term = { epoch: epoch + 1, holder };
    return true;
  }

  async beat(): Promise<boolean> {
    const leads = this.#leads;
    if (leads) this.#leader.beat++;
    return leads;
  }

  async release(): Promise<void> {
    if (this.#leads) this.#leader = { holder: "", url: "", beat: this.#leader.beat + 1 };
    this.#term = undefined;
  }

  async saveMember(member: Member): Promise<void> {
    this.#members.set(member.name, { member, seenAtMs: performance.now() });
  }

  async removeMember(name: string): Promise<void> {
    this.#members.delete(name);
  }

  async members(): Promise<readonly (Member & { readonly seenMsAgo: number })[]> {
    const now = performance.now();
    return [...this.#members.values()]
      .map(({ member, seenAtMs }) => ({ ...member, seenMsAgo: Math.trunc(now - seenAtMs) }))
      .sort((a, b) => compareText(a.name, b.name));
  }

  async isReachable(): Promise<boolean> {
    return true;
  }

  trouble(): undefined {
    return undefined;
  }

  async commit(block: Block, rows: RowChanges = NO_CHANGES): Promise<boolean> {
    if (!mayFollow(block, this.#head, this.#leader.holder)) return false;
    this.#rows.change(rows);
    if (rows.audits) this.audit.add(rows.audits);
    this.#blocks.push(block);
    this.#head = headOf(block);
    return true;
  }

  /** Takes any content. */
  async probe(): Promise<undefined> {}

  async *blocks(after: Head = GENESIS): AsyncGenerator<Block> {
    for (const block of this.#blocks) if (block.seq > after.seq) yield block;
  }

  async blockAt(seq: number): Promise<Block | undefined> {
    let [low, high] = [0, this.#blocks.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (headOf(this.#blocks[middle] as Block).seq < seq) low = middle + 1;
      else high = middle;
    }
    const block = this.#blocks[low];
    return block && block.seq <= seq ? block : undefined;
  }

  async saveSnapshot(snapshot: SavedSnapshot): Promise<void> {
    this.#snapshot = snapshot;
  }

  async loadSnapshot(): Promise<SavedSnapshot | undefined> {
    return this.#snapshot;
  }

  async keyed(keys: readonly IdempotencyKey[]): Promise<readonly KeyedTask[]> {
    return this.#rows.keyed(keys);
  }

  async payloads(ids: readonly string[]): Promise<ReadonlyMap<string, StoredPayload>> {
    return this.#rows.payloads(ids);
  }

  async results(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const results = ids.map((id) => [id, this.#rows.result(id)] as const);
    return new Map(results.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
  }

  async task(id: string): Promise<TaskRow | undefined> {
    return this.#rows.task(id);
  }

  async tasks(
    filter: TaskFilter,
    after: ListCursor | undefined,
    limit: number,
  ): Promise<readonly TaskLine[]> {
    return this.#rows.tasks(filter, after, limit);
  }

  async findTasks(
    search: TaskSearch,
    after: ListCursor | undefined,
    limit: number,
    look: number,
  ): Promise<FoundTasks> {
    return this.#rows.findTasks(search, after, limit, look);
  }

  async run(id: string): Promise<RunRow | undefined> {
    return this.#rows.run(id);
  }

  async runs(
    filter: Pick<TaskFilter, "zone" | "agent">,
    after: ListCursor | undefined,
    limit: number,
  ): Promise<readonly RunRow[]> {
    return this.#rows.runs(filter, after, limit);
  }

  async logs(taskId: string, afterLine: number, limit: number): Promise<readonly LogLine[]> {
    return this.#rows.logs(taskId, afterLine, limit);
  }

  async prune(now: number, retention: Retention): Promise<number> {
    return this.#rows.prune(now, retention);
  }

  async appendLogs(lines: readonly LogLine[]): Promise<void> {
    this.#rows.appendLogs(lines);
  }

  async apiKeys(): Promise<readonly ApiKeyRow[]> {
    return [...this.#apiKeys.values()];
  }

  async saveApiKey(key: ApiKeyRow): Promise<void> {
    this.#apiKeys.set(key.id, key);
  }

  async setting(name: string, initial: () => string): Promise<string> {
    const value = this.#settings.get(name) ?? initial();
    this.#settings.set(name, value);
    return value;
  }

  async replaceSetting(name: string, value: string): Promise<void> {
    this.#settings.set(name, value);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  get #leads(): boolean {
    return this.#term?.epoch === this.#head.epoch && this.#term.holder === this.#leader.holder;
  }
}

export function buildsOn(block: Block, head: Head): boolean {
  return block.prev === head.hash && block.seq === head.seq + 1 && block.epoch >= head.epoch;
}

/** The same where there may be a leader: while somebody leads, only blocks of its epoch are taken. */
export function mayFollow(block: Block, head: Head, holder: string): boolean {
  return buildsOn(block, head) && (holder === "" || block.epoch === head.epoch);
}
