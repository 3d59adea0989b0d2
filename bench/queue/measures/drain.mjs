import { setTimeout as sleep } from "node:timers/promises";
import { median } from "../../stats.mjs";
import { figure, PER_SECOND } from "../figure.mjs";
import { ask } from "../postgres.mjs";
import { usageOfThis } from "../usage.mjs";

/** @typedef {import("../system.mjs").Place} Place */
/** @typedef {import("../system.mjs").Queue} Queue */
/** @typedef {import("../system.mjs").System} System */
/** @typedef {Awaited<ReturnType<typeof drainOnce>>} Drained */

/**
 * @typedef {object} DrainSizes
 * @property {number} warmUp Drained before, in the same process.
 * @property {number} tasks
 * @property {number} times How often so many are drained after a rest, and once more at once; of each the median.
 * @property {number} backlog How many more wait, from the first time on.
 */

const SETTLE_MS = 500;

/** @param {DrainSizes} sizes */
export const drainTitle = ({ tasks, backlog }) =>
  `drain of ${tasks} no-ops${backlog === 0 ? "" : ` with ${backlog} more waiting`}`;

/**
 * All that it drains.
 *
 * @param {DrainSizes} sizes
 */
export const drainedBy = ({ warmUp, tasks, times }) => warmUp + 2 * times * tasks;

/**
 * @param {System} system
 * @param {Place} place
 * @param {Queue} queue
 * @param {DrainSizes} sizes
 * @returns {import("./index.mjs").Steps}
 */
export async function* measureDrain(system, place, queue, sizes) {
  const { warmUp, tasks, times, backlog } = sizes;
  await queue.load(warmUp);
  const [stop] = await Promise.all([queue.begin(), queue.completed(warmUp)]);
  await stop();
  /** @type {Drained[]} */
  const rested = [];
  /** @type {Drained[]} */
  const drained = [];
  let completed = warmUp;
  for (let time = 0; time < times; time++) {
    yield;
    for (const results of [rested, drained]) {
      await queue.load(tasks + (completed === warmUp ? backlog : 0));
      completed += tasks;
      results.push(await drainOnce(system, place, queue, tasks, completed));
    }
  }
  const title = drainTitle(sizes);
  return [
    figure(title, "tasks", PER_SECOND, median(drained.map(({ perSecond }) => perSecond))),
    figure(title, "tasks, after a rest", PER_SECOND, median(rested.map(({ perSecond }) => perSecond))),
    figure(title, "CPU of the process, each", "µs", median(drained.map(({ cpuMicros }) => cpuMicros))),
    figure(title, "memory of the process", "MiB", usageOfThis().rssBytes / 2 ** 20),
  ];
}

/**
 * @param {System} system
 * @param {Place} place
 * @param {Queue} queue
 * @param {number} tasks
 * @param {number} completed When they are, with all before them.
 */
async function drainOnce(system, place, queue, tasks, completed) {
  // Nobody is measured while the database still looks after what was loaded.
  if (system.keptIn === "postgresql") {
    await ask(place.url, "vacuum analyze");
    await ask(place.url, "checkpoint");
  }
  await sleep(SETTLE_MS);
  const before = usageOfThis();
  const startedAt = performance.now();
  const [stop] = await Promise.all([queue.begin(), queue.completed(completed)]);
  const seconds = (performance.now() - startedAt) / 1000;
  const cpuMicros = (usageOfThis().cpuMicros - before.cpuMicros) / tasks;
  await stop();
  return { perSecond: tasks / seconds, cpuMicros };
}
