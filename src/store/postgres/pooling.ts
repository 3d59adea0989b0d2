import type pg from "pg";
import { connect, type Target } from "./connection.ts";

export type Pooling = "none" | "session" | "transaction";

const TRIES = 5;
const QUERY_TIMEOUT_MS = 5_000;

/**
 * Finds out whether a pooler stands between this connection and PostgreSQL, and in which mode. A pooler tells its clients
 * a process number of its own. In transaction mode it lends a session only for a transaction: while others hold one, the
 * next transaction of this connection runs in another session.
 */
export async function poolingOf(client: pg.Client, target: Target): Promise<Pooling> {
  const first = await sessionOf(client);
  if ((client as unknown as { readonly processID: number | null }).processID === first) return "none";
  const others: pg.Client[] = [];
  try {
    for (let tries = 0; tries < TRIES; tries++) {
      const other = await connect(target, "settings-of-reads", QUERY_TIMEOUT_MS);
      others.push(other);
      await other.query("begin");
      if ((await sessionOf(other)) === first || (await sessionOf(client)) !== first) return "transaction";
    }
    return "session";
  } finally {
    for (const other of others) await other.end().catch(() => {});
  }
}

async function sessionOf(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid;
}
