// How long submissions took, and when nothing was acknowledged.

import { readFileSync } from "node:fs";
import { quantile } from "../stats.mjs";

/** @typedef {import("./pair.mjs").Restart} Restart */
/** @typedef {{ count: number, p50: number, p99: number, max: number }} Spread Milliseconds. */

/** Shorter ones are the pace, and the pauses of a busy machine. */
const GAP_MS = 250;

/** @typedef {{ dueAt: number, sentAt: number, answeredAt: number }} Submit */

/**
 * @param {string} file With three numbers for each submission.
 * @param {readonly Restart[]} restarts
 */
export function readTimes(file, restarts) {
  const all = readSubmits(file);
  const isDuring = (/** @type {number} */ since, /** @type {number} */ until) =>
    restarts.some(({ from, to }) => until >= from && since <= to);
  const isRestarting = (/** @type {Submit} */ { sentAt, answeredAt }) => isDuring(sentAt, answeredAt);
  const sinceDue = (/** @type {Submit} */ { dueAt, answeredAt }) => answeredAt - dueAt;
  const gaps = gapsIn(all.map(({ answeredAt }) => answeredAt));
  return {
    startedAt: all.reduce((first, { dueAt }) => Math.min(first, dueAt), Number.POSITIVE_INFINITY),
    endedAt: all.reduce((last, { answeredAt }) => Math.max(last, answeredAt), 0),
    all: spreadOf(all.map(sinceDue)),
    restarting: spreadOf(all.filter(isRestarting).map(sinceDue)),
    otherwise: spreadOf(all.filter((one) => !isRestarting(one)).map(sinceDue)),
    sinceSent: spreadOf(all.map(({ sentAt, answeredAt }) => answeredAt - sentAt)),
    longestGapMs: gaps.reduce((longest, { ms }) => Math.max(longest, ms), 0),
    gaps: gaps
      .filter(({ ms }) => ms >= GAP_MS)
      .map(({ at, ms }) => ({ at, ms, isRestarting: isDuring(at, at + ms) })),
  };
}

/**
 * @param {string} file
 * @returns {Submit[]}
 */
function readSubmits(file) {
  const bytes = new Uint8Array(readFileSync(file));
  const numbers = new Float64Array(bytes.buffer);
  return Array.from({ length: numbers.length / 3 }, (_, at) => {
    const [dueAt = 0, sentAt = 0, answeredAt = 0] = numbers.subarray(3 * at, 3 * at + 3);
    return { dueAt, sentAt, answeredAt };
  });
}

/** @param {readonly number[]} acknowledgedAt */
function gapsIn(acknowledgedAt) {
  const sorted = Float64Array.from(acknowledgedAt).sort();
  return Array.from(sorted.subarray(1), (at, index) => ({
    at: sorted[index] ?? 0,
    ms: at - (sorted[index] ?? 0),
  }));
}

/**
 * @param {readonly number[]} took
 * @returns {Spread}
 */
function spreadOf(took) {
  return { count: took.length, p50: quantile(took, 0.5), p99: quantile(took, 0.99), max: quantile(took, 1) };
}
