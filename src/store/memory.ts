import { type Block, GENESIS, type Head, headOf } from "../ledger/index.ts";
import type { SavedSnapshot, ServiceStore } from "./contract.ts";
import { MemoryRows } from "./memory-rows.ts";
import {
  type ApiKeyRow,
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
} from "./rows.ts";

/** Every feature but durability. Of the tasks that ended it keeps the last 10,000. */
export class MemoryStore implements ServiceStore {
  readonly backend = "memory";
  #head: Head = GENESIS;
  readonly #blocks: Block[] = [];
  #snapshot: SavedSnapshot | undefined;
  readonly #rows = new MemoryRows();
  readonly #apiKeys = new Map<string, ApiKeyRow>();
  readonly #settings = new Map<string, string>();

  get head(): Head {
    return this.#head;
  }

  async refresh(): Promise<Head> {
    return this.#head;
  }

  async isReachable(): Promise<boolean> {
    return true;
  }

  async commit(block: Block, rows: RowChanges = NO_CHANGES): Promise<boolean> {
    if (!buildsOn(block, this.#head)) return false;
    this.#rows.change(rows);
    this.#blocks.push(block);
    this.#head = headOf(block);
    return true;
  }

  async *blocks(after: Head = GENESIS): AsyncGenerator<Block> {
    for (const block of this.#blocks) if (block.seq > after.seq) yield block;
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

  async payloads(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#rows.payloads(ids);
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

  async [Symbol.asyncDispose](): Promise<void> {}
}

export function buildsOn(block: Block, head: Head): boolean {
  return block.prev === head.hash && block.seq === head.seq + 1 && block.epoch >= head.epoch;
}
