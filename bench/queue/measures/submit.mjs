import { median } from "../../stats.mjs";
import { figure, PER_SECOND } from "../figure.mjs";
import { usageOfThis } from "../usage.mjs";

/** @typedef {import("../system.mjs").Queue} Queue */

/**
 * @typedef {object} SubmitSizes
 * @property {readonly number[]} inFlight In the order in which they are measured.
 * @property {number} warmUpMs
 * @property {number} forMs
 * @property {number} many
 * @property {number} manyTimes
 */

/** @param {number} width */
export const submitTitle = (width) => `enqueue, ${width} in flight`;

/** @param {number} many */
export const manyTitle = (many) => `enqueue, ${many} in one call`;

/**
 * @param {Queue} queue
 * @param {SubmitSizes} sizes
 * @returns {import("./index.mjs").Steps}
 */
export async function* measureSubmit(queue, { inFlight, warmUpMs, forMs, many, manyTimes }) {
  const figures = [];
  for (const width of inFlight) {
    await submitFor(queue, width, warmUpMs);
    const { perSecond, cpuMicros } = await submitFor(queue, width, forMs);
    figures.push(
      figure(submitTitle(width), "tasks", PER_SECOND, perSecond),
      figure(submitTitle(width), "CPU of the process, each", "µs", cpuMicros),
    );
    yield;
  }
  const rates = [];
  for (let at = 0; at < manyTimes; at++) {
    const startedAt = performance.now();
    await queue.submitMany(many);
    rates.push((many / (performance.now() - startedAt)) * 1000);
    yield;
  }
  return [...figures, figure(manyTitle(many), "tasks", PER_SECOND, median(rates))];
}

/**
 * Submissions per second, with so many at any time that are not yet durable.
 *
 * @param {Queue} queue
 * @param {number} inFlight
 * @param {number} forMs
 */
async function submitFor(queue, inFlight, forMs) {
  const before = usageOfThis();
  const startedAt = performance.now();
  let count = 0;
  const submitAll = async () => {
    do {
      await queue.submit();
      count++;
    } while (performance.now() - startedAt < forMs);
  };
  await Promise.all(Array.from({ length: inFlight }, submitAll));
  const seconds = (performance.now() - startedAt) / 1000;
  const cpuMicros = (usageOfThis().cpuMicros - before.cpuMicros) / count;
  return { perSecond: count / seconds, cpuMicros };
}
