import type pg from "pg";
import type { Block, Head } from "../../ledger/index.ts";
import { StoreError } from "../contract.ts";
import { mayFollow } from "../memory.ts";
import type { RowChanges } from "../rows.ts";
import { CommitQuery } from "./commit-query.ts";
import { commitOf, type Query } from "./commits.ts";
import { connect, disconnect, type Target } from "./connection.ts";
import { BackOff, messageOf, type Outage, refusalOf, throwIfClosed, verdictOf } from "./outage.ts";
import { sql } from "./sql.ts";

/** Longer than commits take; then the network may have swallowed it, or it is still under way. */
const QUERY_TIMEOUT_MS = 30_000;

/** Time, in ms, after which a small commit that has no outcome is in trouble. */
const PROMPT_MS = 1_200;
/** A large commit may take longer: this is how fast a slow disk is assumed to write it. */
const SLOW_BYTES_PER_MS = 2_000;

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
 *
 * What an error means is decided by its SQLSTATE (`verdictOn`). After each failure that can pass, it waits, for longer
 * each time until a commit succeeds, and it opens a new connection only after the last one is closed: an outage of any
 * length costs about one connection and one attempt a second.
 */
export class Committer {
  readonly #target: Target;
  readonly #outage: Outage;
  readonly #closed: AbortSignal;
  readonly #backOff: BackOff;
  #line: Line | undefined;
  #connecting: Promise<Line> | undefined;
  /** Settles when the last connection is closed. */
  #ended: Promise<unknown> = Promise.resolve();
  /** Settles when it is known what came of all commits. */
  #last: Promise<unknown> = Promise.resolve();
  #underWay = 0;
  #bytesUnderWay = 0;
  /** Of those under way, the ones that must first be found out about. */
  #unknown = 0;
  /** When the outcome of a commit was last known, or the first of those under way was sent. */
  #movedMs = 0;
  /** Why the last attempt failed, until a commit succeeds. */
  #failure: string | undefined;

  constructor(target: Target, outage: Outage, closed: AbortSignal) {
    this.#target = target;
    this.#outage = outage;
    this.#closed = closed;
    this.#backOff = new BackOff(closed);
  }

  /** Returns why commits get nowhere, if they have waited for longer than they should; otherwise undefined. */
  trouble(): string | undefined {
    if (this.#underWay === 0) return undefined;
    const waitedMs = performance.now() - this.#movedMs;
    const mayTakeMs = PROMPT_MS + this.#bytesUnderWay / SLOW_BYTES_PER_MS;
    if (waitedMs > PROMPT_MS && this.#failure !== undefined) return this.#failure;
    return waitedMs > mayTakeMs ? `PostgreSQL has not answered a commit for ${seconds(waitedMs)}` : undefined;
  }

  commit(block: Block, rows: RowChanges): Promise<boolean> {
    if (this.#underWay++ === 0) this.#movedMs = performance.now();
    const query = commitOf(block, rows);
    let bytes = 0;
    for (const value of query.values) bytes += value?.length ?? 0;
    this.#bytesUnderWay += bytes;
    const result = this.#commit(block, query, this.#last).finally(() => {
      this.#underWay--;
      this.#bytesUnderWay -= bytes;
      this.#movedMs = performance.now();
    });
    this.#last = result.catch(() => {});
    return result;
  }

  async close(): Promise<void> {
    await this.#line?.client.end().catch(() => {});
  }

  async #commit(block: Block, query: Query, before: Promise<unknown>): Promise<boolean> {
    const isAlone = this.#underWay === 1;
    if (!isAlone && (!this.#line || this.#unknown > 0)) await before;
    const moved = await this.#sendCommit(query);
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
      if (hasBlock || !mayFollow(block, head, head.holder)) {
        this.#recovered();
        return hasBlock;
      }
      if (await this.#sendCommit(query)) return true;
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

  async #sendCommit(query: Query): Promise<boolean | undefined> {
    const moved = await this.#send((line) => line.client.query(new CommitQuery(query, line.prepared)).moved);
    if (moved !== undefined && this.#failure !== undefined) this.#recovered();
    return moved;
  }

  /** Only a commit shows that commits work again: reading the head also works on a full disk. */
  #recovered(): void {
    this.#failure = undefined;
    this.#backOff.reset();
    this.#outage.passed(this);
  }

  /** Undefined: it is unknown what came of it. */
  async #send<T>(work: (line: Line) => Promise<T>): Promise<T | undefined> {
    throwIfClosed(this.#closed);
    const line = this.#line ?? (await this.#connected());
    try {
      const result = await work(line);
      if (!line.isUnsafe) return result;
      this.#failed("it stopped waiting for its standbys");
    } catch (cause) {
      // Its transaction may still be open.
      this.#drop(line);
      this.#failed(messageOf(cause), cause);
    }
    this.#drop(line);
    await this.#backOff.wait();
    return undefined;
  }

  /** Notes a failure that can pass, and throws what the driver has to know about any other. */
  #failed(message: string, cause?: unknown): void {
    const refusal = refusalOf(cause);
    if (refusal) throw refusal;
    switch (verdictOf(cause)) {
      case "retry":
        this.#failure = message;
        this.#outage.failed(this, message, true);
        break;
      case "step down":
        throw new StoreError("locked", `this server may not write to PostgreSQL now: ${message}`, cause);
      default:
        throw new StoreError("unwritable", `commit: ${message} (SQLSTATE ${codeOf(cause)})`, cause);
    }
  }

  #connected(): Promise<Line> {
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #connect(): Promise<Line> {
    for (;;) {
      throwIfClosed(this.#closed);
      await this.#ended;
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
        this.#failed(messageOf(cause), cause);
        await this.#backOff.wait();
      }
    }
  }

  #drop(line: Line): void {
    if (this.#line !== line) return;
    this.#line = undefined;
    this.#ended = disconnect(line.client);
  }
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`;
}

function codeOf(cause: unknown): string {
  return (cause as { code?: string } | undefined)?.code ?? "unknown";
}
