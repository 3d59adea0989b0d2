import type pg from "pg";
import { sha256Hex } from "../../core/index.ts";
import { type Block, ChainVerifier, type Damage, type Head } from "../../ledger/index.ts";
import { StoreError } from "../contract.ts";
import { connect } from "./connection.ts";
import { messageOf } from "./outage.ts";
import { poolingOf } from "./pooling.ts";
import { migrations, sql } from "./sql.ts";

/** What there is to know about a database before it is opened, found without changing anything in it. */
export interface DatabaseFacts {
  readonly server: ServerFacts;
  /** Its clock against ours; positive: it is ahead. */
  readonly skewMs: number;
  readonly schema: SchemaFacts;
  /** Undefined where there is no ledger of ours to read. */
  readonly chain: ChainFacts | undefined;
  /** Undefined where there is none yet. */
  readonly inbox: { readonly waiting: number; readonly refused: number } | undefined;
  /** Fingerprint of the secret that the servers of the store share; undefined if no server has started yet. */
  readonly secretFingerprint: string | undefined;
}

export interface ServerFacts {
  readonly version: number;
  readonly version_text: string;
  readonly encoding: string;
  readonly fsync: string;
  readonly synchronous_commit: string;
  readonly full_page_writes: string;
  readonly max_connections: number;
  readonly reserved_connections: number;
  readonly is_standby: boolean;
  readonly connections: number;
  /** Sessions that hold a transaction open and do nothing. */
  readonly forgotten: number;
  readonly now_ms: number;
}

/** `foreign`: somebody else's tables stand under our name. */
export interface SchemaFacts {
  readonly state: "absent" | "foreign" | "ours";
  /** Whether the role may make what is not there yet. */
  readonly mayCreate: boolean;
  readonly missing: readonly string[];
  readonly changed: readonly string[];
  /** Applied by a later version. */
  readonly newer: readonly string[];
}

export interface ChainFacts {
  readonly blocks: number;
  readonly head: Head;
  /** What is wrong, if anything is. */
  readonly damage: Damage | undefined;
}

const QUERY_TIMEOUT_MS = 15_000;
const BLOCKS = 1_000;
const BLOCK_BYTES = 64 << 20;

/** Throws a `StoreError` where the database cannot be asked. */
export async function inspectDatabase(url: string, schema = "orrery"): Promise<DatabaseFacts> {
  const target = { url, schema };
  const client = await connect(target, "settings-of-reads", QUERY_TIMEOUT_MS).catch((cause: unknown) => {
    throw new StoreError("unavailable", messageOf(cause), cause);
  });
  try {
    const pooling = await poolingOf(client, target);
    // Settings of the connection, such as the schema, are lost before the next statement.
    if (pooling === "transaction")
      throw new StoreError("foreign", "a pooler in transaction mode stands before it");
    const { server, skewMs } = await inspectServer(client);
    const facts = await inspectSchema(client, schema);
    const chain = facts.state === "ours" && facts.newer.length === 0 ? await inspectChain(client) : undefined;
    const inbox =
      facts.state === "ours" && facts.missing.length === 0 ? await inspectInbox(client) : undefined;
    const secretFingerprint = facts.state === "ours" ? await inspectSecret(client) : undefined;
    return { server, skewMs, schema: facts, chain, inbox, secretFingerprint };
  } catch (cause) {
    if (cause instanceof StoreError) throw cause;
    throw new StoreError("unreadable", messageOf(cause), cause);
  } finally {
    await client.end().catch(() => {});
  }
}

/** The time that the answer took is the doubt that is left. */
async function inspectServer(client: pg.Client): Promise<Pick<DatabaseFacts, "server" | "skewMs">> {
  const sentAt = Date.now();
  const { rows } = await client.query<ServerFacts>(sql("inspect-server").text);
  const server = rows[0] as ServerFacts;
  const doubtMs = (Date.now() - sentAt) / 2;
  const aheadMs = server.now_ms - (sentAt + doubtMs);
  return { server, skewMs: Math.sign(aheadMs) * Math.max(0, Math.abs(aheadMs) - doubtMs) };
}

async function inspectSchema(client: pg.Client, schema: string): Promise<SchemaFacts> {
  const nothing = { missing: [], changed: [], newer: [] };
  const found = await client.query<{
    exists: boolean;
    is_ours: boolean;
    relations: number;
    may_create: boolean;
  }>({ text: sql("inspect-schema").text, values: [schema] });
  const {
    exists = false,
    is_ours = false,
    relations = 0,
    may_create: mayCreate = false,
  } = found.rows[0] ?? {};
  if (!is_ours) return { ...nothing, mayCreate, state: exists && relations > 0 ? "foreign" : "absent" };
  const { rows: applied } = await client.query<{ number: number; name: string; hash: string }>(
    sql("read-migrations").text,
  );
  const known = migrations();
  const textOf = (number: number) => known.find((migration) => migration.number === number)?.text;
  return {
    state: "ours",
    mayCreate,
    missing: known
      .filter(({ number }) => !applied.some((one) => one.number === number))
      .map(({ name }) => name),
    changed: applied
      .filter(({ number, hash }) => sha256Hex(textOf(number) ?? "") !== hash && textOf(number) !== undefined)
      .map(({ name }) => name),
    newer: applied.filter(({ number }) => textOf(number) === undefined).map(({ name }) => name),
  };
}

async function inspectInbox(client: pg.Client): Promise<DatabaseFacts["inbox"]> {
  const { rows } = await client.query<{ waiting: number; refused: number }>(sql("inbox-levels").text);
  return rows[0];
}

async function inspectSecret(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query<{ value: string }>(sql("inspect-secret").text);
  return rows[0]?.value;
}

/** Hashes the last blocks again and compares the end with the head, both as of one moment. */
async function inspectChain(client: pg.Client): Promise<ChainFacts> {
  await client.query("begin isolation level repeatable read read only");
  const { rows: heads } = await client.query<Head>(sql("read-head").text);
  const { rows } = await client.query<Block>({
    text: sql("last-blocks").text,
    values: [BLOCKS, BLOCK_BYTES],
  });
  await client.query("commit");
  const [head] = heads;
  if (!head) throw new StoreError("damaged", "the table of the head is empty");
  const first = rows.at(-1);
  const facts = { blocks: rows.length, head: { epoch: head.epoch, seq: head.seq, hash: head.hash } };
  const chain = first
    ? new ChainVerifier({ epoch: 0, seq: first.seq - 1, hash: first.prev })
    : new ChainVerifier();
  for (const row of rows.reverse()) {
    const block = chain.accept(row.line);
    const damage = "code" in block ? block : columnDamage(row, block);
    if (damage) return { ...facts, damage };
  }
  return { ...facts, damage: endDamage(chain, head) };
}

/** What stands beside the line is what is in it: some readers look only there. */
function columnDamage(row: Block, block: Block): Damage | undefined {
  const wrong = (["seq", "count", "epoch", "now", "prev", "hash"] as const).find(
    (name) => row[name] !== block[name],
  );
  if (wrong === undefined) return undefined;
  const detail = `the column ${wrong} of its block is ${row[wrong]}, and its line says ${block[wrong]}`;
  return { seq: block.seq, code: "changed", detail };
}

function endDamage(chain: ChainVerifier, head: Head): Damage | undefined {
  const { seq, hash } = chain.head;
  if (seq === head.seq && hash === head.hash) return undefined;
  if (head.seq > seq) return chain.acceptEnd(head);
  return { seq: head.seq, code: "broken chain", detail: `the blocks end at ${seq}, the head at ${head.seq}` };
}
