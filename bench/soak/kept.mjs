// What is kept, asked by a connection that is nobody else's.

import { createReadStream, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { ask, askNumber } from "../queue/postgres.mjs";

/** @typedef {{ name: string, rows: number, bytes: number }} Table With its indexes. */

/**
 * @typedef {object} Kept
 * @property {number} tasks
 * @property {readonly Table[]} tables
 */

const TABLES = ["submissions", "progress", "blocks", "idempotency_keys", "snapshots", "snapshot_chunks"];
const COMPLETED = 2;
const DRAINED_WITHIN_MS = 300_000;
const IDS_AT_ONCE = 20_000;

/**
 * @param {string} store
 * @returns {Promise<Kept>}
 */
export async function readKept(store) {
  /** @type {Table[]} */
  const tables = [];
  for (const name of TABLES) {
    const [row] = await ask(
      store,
      `select count(*)::int as rows, pg_total_relation_size('orrery.${name}')::float8 as bytes from orrery.${name}`,
    );
    tables.push({ name, rows: Number(row?.["rows"]), bytes: Number(row?.["bytes"]) });
  }
  return { tasks: tables[0]?.rows ?? 0, tables };
}

/**
 * How many have not ended when the time is over.
 *
 * @param {string} store
 * @param {AbortSignal} signal
 */
export async function untilDrained(store, signal) {
  for (const until = Date.now() + DRAINED_WITHIN_MS; ; ) {
    const open = await askNumber(store, "select count(*) from orrery.tasks where ended_at < 0");
    if (open === 0 || Date.now() > until) return open;
    await sleep(200, undefined, { signal });
  }
}

/**
 * @param {string} store
 * @param {string} file With the ids that were acknowledged.
 */
export async function countCompleted(store, file) {
  const ids = [...new Set(readFileSync(file, "utf8").split("\n").filter(Boolean))];
  const found = { distinct: ids.length, completed: 0, again: 0 };
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
    const [row] = await ask(
      store,
      `select count(*)::int as completed, (count(*) filter (where attempt > 1))::int as again
         from orrery.tasks where id = any($1) and status = ${COMPLETED}`,
      [ids.slice(at, at + IDS_AT_ONCE)],
    );
    found.completed += Number(row?.["completed"]);
    found.again += Number(row?.["again"]);
  }
  return found;
}

/**
 * How many completions a ledger holds. As many as there are completed tasks: then each has exactly one.
 *
 * @param {string} ledger
 */
export async function countCompletions(ledger) {
  let count = 0;
  for await (const line of createInterface({ input: createReadStream(ledger) }))
    count += line.split('["AttemptFinished",').length - 1;
  return count;
}
