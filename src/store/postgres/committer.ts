import type pg from "pg";
import type { Block, Head } from "../../ledger/index.ts";
import { StoreError } from "../contract.ts";
import { mayFollow } from "../memory.ts";
import type { RowChanges } from "../rows.ts";
import { CommitQuery } from "./commit-query.ts";
import { commitOf, type Query } from "./commits.ts";
import { connect, type Target } from "./connection.ts";
import { BackOff, isOutage, messageOf, type Outage, refusalOf, throwIfClosed } from "./outage.ts";
import { sql } from "./sql.ts";

/** Longer than commits take; then the network may have swallowed it, or it is still under way. */
const QUERY_TIMEOUT_MS = 30_000;

/** PostgreSQL committed here, but stopped waiting for its standbys: not yet safe. */
const WARNING = "01000";

type HeldHead = Head & { readonly holder: string };

/** A connection, and what is known of it. */
interface Line {
  readonly client: pg.Client;
  /** The names of the statements that it knows. */
  readonly prepared: Set<string>;
  /** What was committed over it may yet be lost. */
  isUnsafe: boolean;
}

/**
 * The one connection that commits. What is sent while another commit is under way follows it at once: PostgreSQL takes
 * one after the other, and the second finds its head only if the first was taken.
 *
 * When the connection breaks while commits are under way, their outcome is unknown. It is then found out, one after the
 * other, however long that takes: the block is there, or the head is still what it builds on and it is sent again, or
 * another has moved the head. A commit that was sent twice cannot count twice, because the second one finds another head.
 */
export class Committer {
  readonly #target: Target;
  readonly #outage: Outage;
  readonly #closed: AbortSignal;
  #line: Line | undefined;
  /** Settles when it is known what came of all commits. */
  #last: Promise<unknown> = Promise.resolve();
  #underWay = 0;
  /** Of those under way, the ones that must first be found out about. */
  #unknown = 0;

  constructor(target: Target, outage: Outage, closed: AbortSignal) {
    this.#target = target;
    this.#outage = outage;
    this.#closed = closed;
  }

  commit(block: Block, rows: RowChanges): Promise<boolean> {
    this.#underWay++;
    const result = this.#commit(block, commitOf(block, rows), this.#last).finally(() => this.#underWay--);
    this.#last = result.catch(() => {});
    return result;
  }

  async close(): Promise<void> {
    await this.#line?.client.end().catch(() => {});
  }

  async #commit(block: Block, query: Query, before: Promise<unknown>): Promise<boolean> {
    const isAlone = this.#underWay === 1;
    if (!isAlone && (!this.#line || this.#unknown > 0)) await before;
    const moved = await this.#send((line) => line.client.query(new CommitQuery(query, line.prepared)).moved);
    // The head is another one: that is the answer, unless what it was sent after has yet to be sent again.
    if (moved || (moved === false && isAlone)) {
      await before;
      return moved;
    }
    this.#unknown++;
    try {
      await before;
      return await this.#sendAgain(block, query);
    } finally {
      this.#unknown--;
    }
  }

  async #sendAgain(block: Block, query: Query): Promise<boolean> {
    for (;;) {
      const { head, hasBlock } = await this.#settle(block);
      if (hasBlock) return true;
      if (!mayFollow(block, head, head.holder)) return false;
      if (await this.#send((line) => line.client.query(new CommitQuery(query, line.prepared)).moved))
        return true;
    }
  }

  /**
   * The head, once all that was sent before has come to its end. In two statements: the first waits for a commit that
   * is still under way, and only one that begins after it sees the block of that commit.
   */
  async #settle(block: Block): Promise<{ head: HeldHead; hasBlock: boolean }> {
    const { seq, hash } = block;
    for (;;) {
      const settled = await this.#send(async ({ client }) => {
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
  async #send<T>(work: (line: Line) => Promise<T>): Promise<T | undefined> {
    throwIfClosed(this.#closed);
    const line = this.#line ?? (await this.#connected());
    try {
      const result = await work(line);
      if (!line.isUnsafe) {
        this.#outage.passed(this);
        return result;
      }
      this.#outage.failed(this, "it stopped waiting for its standbys", true);
    } catch (cause) {
      // Its transaction may still be open.
      this.#drop(line);
      const refusal = refusalOf(cause);
      if (refusal) throw refusal;
      if (!isOutage(cause)) throw new StoreError("unwritable", `commit: ${messageOf(cause)}`, cause);
      this.#outage.failed(this, messageOf(cause), true);
    }
    this.#drop(line);
    return undefined;
  }

  async #connected(): Promise<Line> {
    const backOff = new BackOff(this.#closed);
    for (;;) {
      throwIfClosed(this.#closed);
      try {
        const client = await connect(this.#target, "settings-of-commits", QUERY_TIMEOUT_MS);
        const line: Line = { client, prepared: new Set(), isUnsafe: false };
        client.once("end", () => this.#drop(line));
        client.on("notice", ({ code }) => {
          if (code === WARNING) line.isUnsafe = true;
        });
        this.#line = line;
        return line;
      } catch (cause) {
        this.#outage.failed(this, messageOf(cause), true);
        await backOff.wait();
      }
    }
  }

  #drop(line: Line): void {
    if (this.#line !== line) return;
    this.#line = undefined;
    void line.client.end().catch(() => {});
  }
}
