import pg from "pg";
import { StoreError } from "../contract.ts";
import { USE_SESSIONS } from "../inspect.ts";
import { connect, type Target } from "./connection.ts";
import { migrate } from "./migrate.ts";
import { BackOff, isOutage, messageOf, verdictOf } from "./outage.ts";
import { poolingOf } from "./pooling.ts";
import { sql } from "./sql.ts";

/** How long a server that is still starting is waited for. */
const PATIENCE_MS = 10_000;
/** A migration of large tables takes its time. */
const MIGRATION_TIMEOUT_MS = 3_600_000;

/** Makes a database ready to be opened: the tables are what this version needs. Told is what it does not promise. */
export async function prepare(target: Target, onUnsafe: (message: string) => void = () => {}): Promise<void> {
  const backOff = new BackOff(new AbortController().signal);
  const startedMs = performance.now();
  for (;;) {
    try {
      await prepareNow(target, onUnsafe);
      return;
    } catch (cause) {
      if (cause instanceof StoreError) throw cause;
      if (verdictOf(cause) === "step down")
        throw new StoreError("unwritable", `PostgreSQL: ${messageOf(cause)}${remedyFor(cause)}`, cause);
      if (!isOutage(cause)) throw new StoreError("unwritable", `PostgreSQL: ${messageOf(cause)}`, cause);
      if (performance.now() - startedMs > PATIENCE_MS || isHopeless(cause))
        throw new StoreError("unavailable", `PostgreSQL cannot be reached: ${messageOf(cause)}`, cause);
      await backOff.wait();
    }
  }
}

async function prepareNow(target: Target, onUnsafe: (message: string) => void): Promise<void> {
  const client = await connect(target, "settings-of-reads", MIGRATION_TIMEOUT_MS);
  try {
    if ((await poolingOf(client, target)) === "transaction") {
      throw new StoreError(
        "foreign",
        `a pooler in transaction mode stands before PostgreSQL, and Orrery needs sessions of its own: ${USE_SESSIONS}`,
      );
    }
    const { rows } = await client.query<{ encoding: string; is_read_only: boolean; off: string[] }>(
      sql("server-promises").text,
    );
    const { encoding = "", is_read_only: isReadOnly = false, off = [] } = rows[0] ?? {};
    if (isReadOnly)
      throw new StoreError("unwritable", "this PostgreSQL only reads (is it a standby?): name the primary");
    if (encoding !== "UTF8")
      throw new StoreError("foreign", `the database's encoding is ${encoding}; Orrery needs UTF8`);
    await migrate(client, target.schema);
    if (off.length > 0)
      onUnsafe(`PostgreSQL has ${off.join(" and ")} off: what was acknowledged can be lost after a crash`);
  } finally {
    await client.end();
  }
}

/** Returns what an operator can do about a missing right, if it is known. */
function remedyFor(error: unknown): string {
  const { code } = error as { readonly code?: string };
  if (code === "42501") return "; grant the role what it lacks: grant create on database … to …";
  return code === "25006" ? "; name the primary" : "";
}

/** An address that is wrong does not become right by waiting. */
function isHopeless(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return !(error instanceof pg.DatabaseError) && (code === "ERR_INVALID_URL" || code === "ENOTFOUND");
}
