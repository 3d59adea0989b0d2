import { setTimeout as sleep } from "node:timers/promises";
import { figure, PER_SECOND } from "../figure.mjs";
import { ask } from "../postgres.mjs";
import { usageOfThis } from "../usage.mjs";

/** @typedef {import("../system.mjs").Place} Place */
/** @typedef {import("../system.mjs").Queue} Queue */
/** @typedef {import("../system.mjs").System} System */

/**
 * @typedef {object} DrainSizes
 * @property {number} warmUp Drained before, in the same process.
 * @property {number} tasks
 * @property {number} backlog How many more wait.
 */

const SETTLE_MS = 500;

/** @param {DrainSizes} sizes */
export const drainTitle = ({ tasks, backlog }) =>
  `drain of ${tasks} no-ops${backlog === 0 ? "" : ` with ${backlog} more waiting`}`;

/**
 * @param {System} system
 * @param {Place} place
 * @param {Queue} queue
 * @param {DrainSizes} sizes
 */
export async function measureDrain(system, place, queue, sizes) {
  const { warmUp, tasks, backlog } = sizes;
  await queue.load(warmUp);
  const [stop] = await Promise.all([queue.begin(), queue.completed(warmUp)]);
  await stop();
  await queue.load(tasks + backlog);
  // Nobody is measured while the database still looks after what was loaded.
  if (system.keptIn === "postgresql") {
    await ask(place.url, "vacuum analyze");
    await ask(place.url, "checkpoint");
  }
  await sleep(SETTLE_MS);
  const before = usageOfThis();
  const startedAt = performance.now();
  await Promise.all([queue.begin(), queue.completed(warmUp + tasks)]);
  const seconds = (performance.now() - startedAt) / 1000;
  const after = usageOfThis();
  const title = drainTitle(sizes);
  return [
    figure(title, "tasks", PER_SECOND, tasks / seconds),
    figure(title, "CPU of the process, each", "µs", (after.cpuMicros - before.cpuMicros) / tasks),
    figure(title, "memory of the process", "MiB", after.rssBytes / 2 ** 20),
  ];
}
