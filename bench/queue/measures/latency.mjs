import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { quantile } from "../../stats.mjs";
import { figure } from "../figure.mjs";

/** @typedef {import("../system.mjs").Queue} Queue */

/**
 * @typedef {object} LatencySizes
 * @property {number} warmUp So many before, one after the other and without a pause: a process that was just started
 *   compiles its code for as long as it is measured.
 * @property {number} samples
 * @property {number} pauseMs Between two, so that each finds everything idle.
 */

/** With pauses as those that are measured, and not counted. */
const SETTLING = 20;
const LATENCY = "enqueue to handler, one at a time";
const BARE_COMMIT = "bare commit";
export const ABOVE_BARE = "enqueue to handler, above a bare commit";

/**
 * @param {Queue} queue
 * @param {{ next: () => Promise<number> }} starts When the next task begins.
 * @param {LatencySizes} sizes
 * @param {BareCommits} [bare] Measured between the tasks, so that both meet the same disk.
 */
export async function measureLatency(queue, starts, { warmUp, samples, pauseMs }, bare) {
  await queue.begin();
  const tillStart = async () => {
    const begun = starts.next();
    const calledAt = performance.now();
    const [begunAt] = await Promise.all([begun, queue.submit()]);
    return begunAt - calledAt;
  };
  for (let at = 0; at < warmUp; at++) await tillStart();
  /** @type {number[]} */
  const startMs = [];
  /** @type {number[]} */
  const bareMs = [];
  for (let at = -SETTLING; at < samples; at++) {
    const ms = await tillStart();
    await sleep(pauseMs);
    const commitMs = await bare?.commit();
    if (bare) await sleep(pauseMs);
    if (at < 0) continue;
    startMs.push(ms);
    if (commitMs !== undefined) bareMs.push(commitMs);
  }
  if (!bare) return spread(LATENCY, startMs);
  const above = quantile(startMs, 0.5) - quantile(bareMs, 0.5);
  return [
    ...spread(LATENCY, startMs),
    ...spread(LATENCY, bareMs).map((one) => ({ ...one, of: BARE_COMMIT })),
    figure(ABOVE_BARE, "p50", "ms", above),
  ];
}

/** What no durable queue on this database can go below: one row, inserted and committed. */
export class BareCommits {
  #client;
  #count = 0;

  /** @param {string} url */
  constructor(url) {
    this.#client = new pg.Client({ connectionString: url });
  }

  /** @param {string} url */
  static async open(url) {
    const bare = new BareCommits(url);
    await bare.#client.connect();
    await bare.#client.query("create table bare (number integer primary key, payload text not null)");
    return bare;
  }

  async commit() {
    const values = [this.#count++, '{"n":1}'];
    const startedAt = performance.now();
    await this.#client.query({ name: "bare", text: "insert into bare values ($1, $2)", values });
    return performance.now() - startedAt;
  }

  [Symbol.asyncDispose]() {
    return this.#client.end();
  }
}

/**
 * @param {string} title
 * @param {readonly number[]} values
 */
function spread(title, values) {
  return [
    figure(title, "p50", "ms", quantile(values, 0.5)),
    figure(title, "p95", "ms", quantile(values, 0.95)),
    figure(title, "p99", "ms", quantile(values, 0.99)),
  ];
}
