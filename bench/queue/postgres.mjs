// The private PostgreSQL that all queues share, one after the other, each with a database of its own.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { openEmbedded } from "../../dist/store/embedded/cluster.js";

/** @typedef {Readonly<Record<string, string>>} ServerSettings */

/** Enough for the largest pool that is measured. Whatever concerns durability is left as it is by default. */
const SETTINGS = { max_connections: "120" };

/** What an acknowledgement is worth. */
const DURABLE = { fsync: "on", synchronous_commit: "on", full_page_writes: "on" };
const SHOWN = [
  "server_version",
  ...Object.keys(DURABLE),
  "wal_sync_method",
  "shared_buffers",
  "max_wal_size",
];

/**
 * @param {string} dataDir
 * @param {import("./closers.mjs").Closers} closers
 */
export async function startPostgres(dataDir, closers) {
  const { url } = await closers.use(openEmbedded({ dataDir, settings: SETTINGS }));
  const settings = await readSettings(url);
  for (const [name, value] of Object.entries(DURABLE)) {
    if (settings[name] !== value)
      throw new Error(`PostgreSQL runs with ${name}=${settings[name]}, not ${value}`);
  }
  let made = 0;
  const createDatabase = async () => {
    const name = `bench_${++made}`;
    await ask(url, `create database ${name}`);
    return name;
  };
  return {
    settings,
    /** An empty database, for as long as PostgreSQL runs. */
    createDatabase: async () => urlOf(url, await createDatabase()),
    /** An empty one, until it is disposed of, and a PostgreSQL that has nothing left to write. */
    async openDatabase() {
      const name = await createDatabase();
      await ask(url, "checkpoint");
      const dispose = () => ask(url, `drop database ${name} with (force)`);
      return { url: urlOf(url, name), [Symbol.asyncDispose]: async () => void (await dispose()) };
    },
  };
}

/**
 * @param {string} url
 * @param {string} database
 */
function urlOf(url, database) {
  return url.replace("@/postgres?", `@/${database}?`);
}

/** @param {string} dataDir */
export function postmasterOf(dataDir) {
  const [pid] = readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8").split("\n");
  return Number(pid);
}

/**
 * By a connection that nobody else uses.
 *
 * @param {string} url
 * @param {string} text
 * @param {readonly unknown[]} [values]
 * @returns {Promise<Record<string, unknown>[]>}
 */
export async function ask(url, text, values = []) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    /** @type {import("pg").QueryResult<Record<string, unknown>>} */
    const { rows } = await client.query(text, [...values]);
    return rows;
  } finally {
    await client.end();
  }
}

/**
 * @param {string} url
 * @param {string} text Answers with one number.
 */
export async function askNumber(url, text) {
  const [row = {}] = await ask(url, text);
  return Number(Object.values(row)[0]);
}

/**
 * @param {string} url
 * @returns {Promise<ServerSettings>}
 */
async function readSettings(url) {
  const rows = await ask(url, "select name, current_setting(name) as value from unnest($1::text[]) name", [
    SHOWN,
  ]);
  return Object.fromEntries(rows.map(({ name, value }) => [String(name), String(value)]));
}
