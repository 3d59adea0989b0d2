// Whether what was acknowledged is kept: while tasks are enqueued, the process that hosts Orrery and its PostgreSQL are
// both killed at once (kill -9), right after an acknowledgement; then they start again, and every task that was
// acknowledged must be there. Again and again on the same data. The ledger must be sound afterwards.

import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { lookForFault } from "./processes.mjs";
import { Apart } from "./queue/apart.mjs";
import { interruptible } from "./queue/interruptible.mjs";
import { postmasterOf } from "./queue/postgres.mjs";
import { outcomeOf } from "./report.mjs";

/** @typedef {import("./durability/host.mjs").Checked} Checked */
/** @typedef {import("./durability/host.mjs").CheckJob} CheckJob */
/** @typedef {import("./durability/host.mjs").EnqueueJob} EnqueueJob */
/** @typedef {import("./queue/interruptible.mjs").Surroundings} Surroundings */
/** @typedef {import("./report.mjs").Row} Row */
/** @typedef {import("./report.mjs").Setting} Setting */

/** @type {import("./report.mjs").Bench} */
export const durability = {
  name: "durability",
  summary: "whether all that was acknowledged is there after kill -9 of Orrery and its PostgreSQL",
  run: (setting) => interruptible((surroundings) => run(setting, surroundings)),
};

const STANDARD = { rounds: 5, inFlight: 16, acknowledged: 5_000 };
const QUICK = { rounds: 2, inFlight: 16, acknowledged: 300 };

const hostFile = fileURLToPath(new URL("durability/host.mjs", import.meta.url));

/**
 * @param {Setting} setting
 * @param {Surroundings} surroundings
 */
async function run({ quick, rounds, say }, surroundings) {
  const standard = quick ? QUICK : STANDARD;
  const sizes = { ...standard, rounds: rounds ?? standard.rounds };
  const { folder, signal } = surroundings;
  const [dataDir, ids, ledger] = [join(folder, "data"), join(folder, "ids"), join(folder, "ledger.jsonl")];
  writeFileSync(ids, "");
  /** @type {Row[]} */
  const rows = [];
  /** @type {string[]} */
  const failures = [];
  for (let round = 1; round <= sizes.rounds; round++) {
    say(`round ${round} of ${sizes.rounds}: enqueueing, then kill -9`);
    const { acknowledged } = sizes;
    const added = await enqueueAndKill(
      { do: "enqueue", dataDir, inFlight: sizes.inFlight },
      acknowledged,
      surroundings,
    );
    appendFileSync(ids, added.map((id) => `${id}\n`).join(""));
    const { there, missing } = await checked({ do: "check", dataDir, ids, ledger }, surroundings);
    if (missing.length > 0) failures.push(`acknowledged, and not there: ${missing.slice(0, 10).join(", ")}`);
    rows.push(
      rowOf(`kill ${round}`, "acknowledged and there", there),
      lostRow(`kill ${round}`, missing.length),
    );
  }
  const fault = await lookForFault(ledger, signal);
  if (fault !== undefined) failures.push(`verify --redecide: ${fault}`);
  const sound = { value: fault === undefined ? 1 : 0, goal: "1", met: fault === undefined };
  const outcome = outcomeOf([...rows, { ...rowOf("ledger", "verify --redecide", 0), ...sound }], failures);
  return { ...outcome, json: { settings: sizes, ...outcome.json, failures } };
}

/**
 * The ids of the tasks that were acknowledged.
 *
 * @param {EnqueueJob} job
 * @param {number} count At least.
 * @param {Surroundings} surroundings
 */
async function enqueueAndKill(job, count, surroundings) {
  return await withHost(job, surroundings, async (host) => {
    /** @type {string[]} */
    const ids = [];
    while (ids.length < count) ids.push(.../** @type {string[]} */ (await host.message()));
    process.kill(postmasterOf(job.dataDir), "SIGKILL");
    for (const late of await host.killed()) ids.push(.../** @type {string[]} */ (late));
    return ids;
  });
}

/**
 * @param {CheckJob} job
 * @param {Surroundings} surroundings
 */
async function checked(job, surroundings) {
  return await withHost(job, surroundings, async (host) => /** @type {Checked} */ (await host.message()));
}

/**
 * @template Result
 * @param {EnqueueJob | CheckJob} job
 * @param {Surroundings} surroundings
 * @param {(host: Apart) => Promise<Result>} work
 * @returns {Promise<Result>}
 */
async function withHost(job, { signal }, work) {
  signal.throwIfAborted();
  const host = new Apart(hostFile, [JSON.stringify(job)]);
  const stop = () => void host[Symbol.asyncDispose]();
  signal.addEventListener("abort", stop);
  try {
    return await work(host);
  } finally {
    signal.removeEventListener("abort", stop);
    await host[Symbol.asyncDispose]();
    signal.throwIfAborted();
  }
}

/**
 * @param {string} title
 * @param {string} metric
 * @param {number} value
 * @returns {Row}
 */
function rowOf(title, metric, value) {
  return { case: title, metric, unit: "", value };
}

/**
 * @param {string} title
 * @param {number} lost
 * @returns {Row}
 */
function lostRow(title, lost) {
  return { ...rowOf(title, "acknowledged and lost", lost), goal: "0", met: lost === 0 };
}
