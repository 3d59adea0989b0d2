// What the figures are held to.

import { atLeast, atMost } from "../report.mjs";
import { ABOVE_BARE } from "./measures/latency.mjs";
import { submitTitle } from "./measures/submit.mjs";

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

/**
 * @param {readonly Result[]} results
 * @param {string} ours
 * @returns {Requirement[]}
 */
export function requirementsOf(results, ours) {
  const find = (/** @type {string} */ measure, /** @type {string} */ metric) =>
    results.find((one) => one.system === ours && one.measure === measure && one.metric === metric)?.value;
  const above = find(ABOVE_BARE, "p50");
  const [one, sixteen] = [1, 16].map((width) => find(submitTitle(width), "tasks"));
  return [
    ...(above === undefined
      ? []
      : [{ what: `${ABOVE_BARE}, p50`, unit: "ms", ...atMost(above, ABOVE_BARE_MS) }]),
    ...(one === undefined || sixteen === undefined
      ? []
      : [
          {
            what: "enqueue, 16 in flight : 1 in flight",
            unit: "times",
            ...atLeast(sixteen / one, LEAST_GAIN),
          },
        ]),
  ];
}
