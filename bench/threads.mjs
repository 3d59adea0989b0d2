// The processors of the runtime as real threads, beside Piscina.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { atLeast, atMost } from "./report.mjs";
import { channelling, exactlyOnce, many, noops, piscinaNoops, stealing } from "./threads/measures.mjs";

/** @typedef {import("./report.mjs").Row} Row */
/** @typedef {import("./report.mjs").Setting} Setting */

/** Runs are short, and of each measure the best counts: whoever else uses the machine disturbs only some. */
const SIZES = {
  steals: 300_000,
  depth: 6,
  runs: 15,
  noopRuns: 60,
  tasks: 20_000,
  messages: 200_000,
  processors: 256,
  stolen: 1_000_000,
};
const QUICK = {
  steals: 2_000,
  depth: 3,
  runs: 2,
  noopRuns: 2,
  tasks: 2_000,
  messages: 2_000,
  processors: 4,
  stolen: 5_000,
};
const FULL = { ...SIZES, stolen: 10_000_000 };

/**
 * @param {Setting} setting
 * @param {boolean} withPiscina
 * @param {string[]} failures
 * @returns {Promise<Row[]>}
 */
export async function threadRows({ quick, full, say }, withPiscina, failures) {
  const size = quick ? QUICK : full ? FULL : SIZES;
  const judged = (/** @type {{ value: number }} */ goal) => (quick ? { value: goal.value } : goal);
  say("steals");
  const { p50Ns, p99Ns } = await stealing(size.steals);
  return [
    { case: "steal", metric: "p50", unit: "ns", ...judged(atMost(p50Ns, 1_000)) },
    { case: "steal", metric: "p99", unit: "ns", ...judged(atMost(p99Ns, 10_000)) },
    ...(await forkJoinRows(size, judged, say)),
    await noopRow(size, withPiscina, say),
    await channelRow(size, judged, say),
    ...(await manyRows(size.processors, failures, say)),
    ...(await onceRows(size.stolen, failures, say)),
  ];
}

/**
 * @param {typeof SIZES} size
 * @param {(goal: { value: number }) => { value: number }} judged
 * @param {Setting["say"]} say
 */
async function forkJoinRows({ runs, depth }, judged, say) {
  say("fork-join");
  const file = fileURLToPath(new URL("threads/fork-join.mjs", import.meta.url));
  const job = JSON.stringify({ depth, width: 4, leafUs: 50, runs });
  const { stdout } = await promisify(execFile)(process.execPath, [file, job]);
  const { byClock, byCore } = /** @type {{ byClock: number, byCore: number }} */ (JSON.parse(stdout));
  const name = "fork-join of 4, leaves of 50 us, 2 processors";
  const goal = judged(atLeast(Math.max(byClock, byCore), 1.85));
  return [
    { case: name, metric: "speed-up by the clock", unit: "x", value: byClock },
    { case: name, metric: "by the busier thread's time on a core", unit: "x", value: byCore },
    { case: name, metric: "the better of both", unit: "x", ...goal },
  ];
}

/**
 * @param {number} wanted
 * @param {string[]} failures
 * @param {Setting["say"]} say
 */
async function onceRows(wanted, failures, say) {
  say(`${wanted} stolen tasks`);
  const { spawned, stolen, wrong } = await exactlyOnce(wanted);
  if (wrong > 0) failures.push(`${wrong} of ${spawned} tasks ran not at all, or more than once`);
  const name = "exactly once, 4 processors";
  return [
    { case: name, metric: "stolen", unit: "tasks", value: stolen },
    { case: name, metric: "lost or run twice", unit: "tasks", ...atMost(wrong, 0) },
  ];
}

/**
 * @param {typeof SIZES} size
 * @param {boolean} withPiscina
 * @param {Setting["say"]} say
 * @returns {Promise<Row>}
 */
async function noopRow({ tasks, noopRuns }, withPiscina, say) {
  say("tasks that do nothing");
  const value = await noops(tasks, noopRuns);
  const row = {
    case: "tasks that do nothing, 2 processors",
    metric: "spawned, run and joined",
    unit: "/s",
    value,
  };
  if (!withPiscina) return row;
  const peerValue = await piscinaNoops(tasks, Math.min(noopRuns, 10));
  return { ...row, peer: "Piscina", peerValue, ratio: value / peerValue };
}

/**
 * @param {typeof SIZES} size
 * @param {(goal: { value: number }) => { value: number }} judged
 * @param {Setting["say"]} say
 * @returns {Promise<Row>}
 */
async function channelRow({ messages }, judged, say) {
  say("a channel between threads");
  const goal = judged(atLeast(await channelling(messages, 5), 100_000));
  return { case: "channel of 256 between two threads", metric: "sent and received", unit: "/s", ...goal };
}

/** @param {number} processors @param {string[]} failures @param {Setting["say"]} say @returns {Promise<Row[]>} */
async function manyRows(processors, failures, say) {
  say(`${processors} threads`);
  const found = await many(processors);
  if (found.idle > 0)
    failures.push(`${found.idle} of ${processors} threads ran nothing in ${found.trees} trees`);
  const name = `${processors} processors`;
  return [
    { case: name, metric: "start", unit: "ms", value: found.startMs },
    { case: name, metric: "leaves of 50 us until each has run some", unit: "leaves", value: found.leaves },
    { case: name, metric: "a second", unit: "leaves/s", value: (found.leaves / found.ranMs) * 1_000 },
  ];
}
