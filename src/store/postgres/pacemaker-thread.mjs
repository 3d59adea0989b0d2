// Shows that its process is alive while the main thread computes. It has nothing to do as long as that one beats.

import { setTimeout as sleep } from "node:timers/promises";
import { workerData } from "node:worker_threads";
import pg from "pg";

/**
 * @typedef {{
 *   url: string, schema: string, settings: string, beat: string, epoch: number, holder: string,
 *   everyMs: number, patienceMs: number, beats: SharedArrayBuffer,
 * }} Options
 */
const options = /** @type {Options} */ (workerData);
const { url, schema, settings, beat, epoch, holder, everyMs, patienceMs, beats } = options;
const counter = new Int32Array(beats);
let known = Atomics.load(counter, 0);
let sinceMs = performance.now();
/** @type {pg.Client | undefined} */
let client;

for (;;) {
  await sleep(everyMs);
  const now = Atomics.load(counter, 0);
  if (now !== known) {
    known = now;
    sinceMs = performance.now();
  } else if (performance.now() - sinceMs < patienceMs) await beatInstead();
}

async function beatInstead() {
  try {
    client ??= await connected();
    await client.query({ text: beat, values: [epoch, holder] });
  } catch {
    // The main thread says so, when it finds the same.
    // Waiting for the old connection to close keeps their number at one.
    await client?.end().catch(() => {});
    client = undefined;
  }
}

async function connected() {
  const made = new pg.Client({
    connectionString: url,
    application_name: "orrery",
    connectionTimeoutMillis: 2_000,
    query_timeout: 2_000,
  });
  made.on("error", () => {});
  await made.connect();
  await made.query({ text: settings, values: [schema] });
  return made;
}
