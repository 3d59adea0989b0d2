import type pg from "pg";
import type { Block, Head } from "../../ledger/index.ts";
import { StoreError } from "../contract.ts";
import { mayFollow } from "../memory.ts";
import type { RowChanges } from "../rows.ts";
import { CommitQuery } from "./commit-query.ts";
import { commitOf } from "./commits.ts";
import { connect, type Target } from "./connection.ts";
import { BackOff, isOutage, messageOf, throwIfClosed } from "./outage.ts";
import { sql } from "./sql.ts";

/** Longer than commits take; then the network may have swallowed it, or it is still under way. */
const QUERY_TIMEOUT_MS = 30_000;

/** PostgreSQL committed here, but stopped waiting for its standbys: not yet safe. */
const WARNING = "01000";

type HeldHead = Head & { readonly holder: string };

/**
 * The one connection that commits.
 *
 * When it breaks while a commit is under way, the outcome is unknown. It is then found out, however long that takes:
 * the block is there, or the head is still what it builds on and it is sent again, or another has moved the head. A
 * commit that was sent twice cannot count twice, because the second one finds another head.
 */
export class Committer {
  readonly #target: Target;
  readonly #onTrouble: (message: string) => void;
  readonly #closed: AbortSignal;
  #client: pg.Client | undefined;
  /** The names of the statements that it knows. */
  #prepared = new Set<string>();
  /** What was sent last is committed, and may yet be lost. */
  #isUnsafe = false;
  #isTroubled = false;
  /** Commits go one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(target: Target, onTrouble: (message: string) => void, closed: AbortSignal) {
    this.#target = target;
    this.#onTrouble = onTrouble;
    this.#closed = closed;
  }

  commit(block: Block, rows: RowChanges): Promise<boolean> {
    const result = this.#last.then(() => this.#commit(block, rows));
    this.#last = result.catch(() => {});
    return result;
  }

  async close(): Promise<void> {
    await this.#client?.end().catch(() => {});
  }

  async #commit(block: Block, rows: RowChanges): Promise<boolean> {
    const query = commitOf(block, rows);
    for (let wasSent = false; ; wasSent = true) {
      if (wasSent) {
        const { head, hasBlock } = await this.#settle(block);
        if (hasBlock) return true;
        if (!mayFollow(block, head, head.holder)) return false;
      }
      const moved = await this.#send((client) => client.query(new CommitQuery(query, this.#prepared)).moved);
      if (moved) return true;
      // The head is another one. That is the answer, unless it is we who moved it, unknowingly.
      if (moved === false && !wasSent) return false;
    }
  }

  /**
   * The head, once all that was sent before has come to its end. In two statements: the first waits for a commit that
   * is still under way, and only one that begins after it sees the block of that commit.
   */
  async #settle(block: Block): Promise<{ head: HeldHead; hasBlock: boolean }> {
    const { seq, hash } = block;
    for (;;) {
      const settled = await this.#send(async (client) => {
        await client.query("begin isolation level read committed");
        const heads = await client.query<HeldHead>(sql("settle-head"));
        const found = await client.query({ ...sql("has-block"), values: [seq, hash] });
        await client.query("commit");
        return { head: heads.rows[0], hasBlock: found.rowCount === 1 };
      });
      if (!settled) continue;
      const { head, hasBlock } = settled;
      if (!head) throw new StoreError("damaged", "the table of the head is empty");
      return { head, hasBlock };
    }
  }

  /** Undefined: it is unknown what came of it. */
  async #send<T>(work: (client: pg.Client) => Promise<T>): Promise<T | undefined> {
    throwIfClosed(this.#closed);
    const client = this.#client ?? (await this.#connected());
    this.#isUnsafe = false;
    try {
      const result = await work(client);
      if (!this.#isUnsafe) {
        this.#isTroubled = false;
        return result;
      }
      this.#tellOnce("PostgreSQL stopped waiting for its standbys");
    } catch (cause) {
      // Its transaction may still be open.
      this.#drop(client);
      if (!isOutage(cause)) throw new StoreError("unwritable", `commit: ${messageOf(cause)}`, cause);
      this.#tellOnce(messageOf(cause));
    }
    this.#drop(client);
    return undefined;
  }

  async #connected(): Promise<pg.Client> {
    const backOff = new BackOff(this.#closed);
    for (;;) {
      throwIfClosed(this.#closed);
      if (this.#client) return this.#client;
      try {
        const client = await connect(this.#target, "settings-of-commits", QUERY_TIMEOUT_MS);
        client.once("end", () => this.#drop(client));
        client.on("notice", ({ code }) => {
          if (this.#client === client && code === WARNING) this.#isUnsafe = true;
        });
        this.#client = client;
        this.#prepared = new Set();
      } catch (cause) {
        this.#tellOnce(messageOf(cause));
        await backOff.wait();
      }
    }
  }

  #drop(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    void client.end().catch(() => {});
  }

  #tellOnce(message: string): void {
    if (this.#isTroubled || this.#closed.aborted) return;
    this.#isTroubled = true;
    this.#onTrouble(`PostgreSQL: ${message}; trying again until it is there`);
  }
}
