// What the figures are held to.

import { atLeast, atMost } from "../report.mjs";
import { PER_SECOND } from "./figure.mjs";
import { drainTitle } from "./measures/drain.mjs";
import { httpTitle, pacedTitle } from "./measures/http.mjs";
import { ABOVE_BARE } from "./measures/latency.mjs";
import { manyTitle, submitTitle } from "./measures/submit.mjs";

/** @typedef {import("./found.mjs").Result} Result */

/**
 * @typedef {object} Requirement
 * @property {string} what
 * @property {number} value
 * @property {string} unit
 * @property {string} goal
 * @property {boolean} met
 */

/** What a scheduler may take beyond the commit that no durable queue can do without. */
const ABOVE_BARE_MS = 0.8;
/** Group commit: what is in flight at once shares a commit. */
const LEAST_GAIN = 5;
/** Of what is drained without a backlog. */
const LEAST_KEPT = 0.6;
const HTTP_PER_SECOND = 6_000;
const HTTP_P99_MS = 50;

/** How many times a peer's rate, where it is not once. */
const ENQUEUE_RATIOS = { "graphile-worker": 10 };
const DRAIN_RATIOS = { "graphile-worker": 1.2 };

/**
 * @param {readonly Result[]} results
 * @param {readonly import("./found.mjs").Ratio[]} ratios
 * @param {import("./sizes.mjs").Sizes} sizes
 * @param {string} ours
 * @returns {Requirement[]}
 */
export function requirementsOf(results, ratios, { submit, drains, http }, ours) {
  const find = (/** @type {string} */ measure, /** @type {string} */ metric) =>
    results.find((one) => one.system === ours && one.measure === measure && one.metric === metric)?.value ??
    Number.NaN;
  const peers = (/** @type {string} */ title, /** @type {Readonly<Record<string, number>>} */ least) =>
    ratios
      .filter(({ measure, metric }) => measure === title && metric === "tasks")
      .map(({ peer, ratio }) => ({
        what: `${title}: ${peer}`,
        unit: "times",
        ...atLeast(ratio, least[peer] ?? 1),
      }));
  const gain = (/** @type {string} */ title, /** @type {string} */ from, /** @type {number} */ least) => ({
    what: `${title}, compared to ${from}`,
    unit: "times",
    ...atLeast(find(title, "tasks") / find(from, "tasks"), least),
  });
  const [drained = "", ...withBacklogs] = drains.map(drainTitle);
  const [flat, paced] = [httpTitle(http.connections), pacedTitle(http.pacedPerSecond)];
  return [
    ...peers(submitTitle(16), ENQUEUE_RATIOS),
    ...peers(manyTitle(submit.many), {}),
    ...peers(drained, DRAIN_RATIOS),
    { what: `${ABOVE_BARE}, p50`, unit: "ms", ...atMost(find(ABOVE_BARE, "p50"), ABOVE_BARE_MS) },
    gain(submitTitle(16), submitTitle(1), LEAST_GAIN),
    ...withBacklogs.map((title) => gain(title, drained, LEAST_KEPT)),
    { what: flat, unit: PER_SECOND, ...atLeast(find(flat, "accepted"), HTTP_PER_SECOND) },
    { what: `${paced}, p99`, unit: "ms", ...atMost(find(paced, "p99"), HTTP_P99_MS) },
  ].filter(({ value }) => !Number.isNaN(value));
}
