// The results for people: a line for each figure, a column for each system.

import { align, formatNumber } from "../report.mjs";

/** @typedef {import("./found.mjs").Ratio} Ratio */
/** @typedef {import("./found.mjs").Result} Result */
/** @typedef {import("./requirements.mjs").Requirement} Requirement */

/**
 * @param {readonly Result[]} results
 * @param {readonly Ratio[]} ratios
 * @param {readonly string[]} first The systems that stand before what else there are figures of.
 */
export function resultsTable(results, ratios, first) {
  const found = distinct(results.map(({ system }) => system));
  const systems = distinct([...first, ...found]).filter((name) => found.includes(name));
  const lines = distinct(results.map(lineOf));
  const cellOf = (/** @type {string} */ line, /** @type {string} */ system) => {
    const result = results.find((one) => one.system === system && lineOf(one) === line);
    if (!result) return "";
    const ratio = ratios.find((one) => one.peer === system && lineOf(one) === line);
    const { value, min, max, rounds } = result;
    const range = rounds.length === 1 ? "" : ` (${formatNumber(min)}–${formatNumber(max)})`;
    return `${formatNumber(value)}${range}${ratio ? ` ×${formatNumber(ratio.ratio)}` : ""}`;
  };
  return align(
    ["", "unit", ...systems],
    lines.map((line) => [
      line,
      results.find((one) => lineOf(one) === line)?.unit ?? "",
      ...systems.map((system) => cellOf(line, system)),
    ]),
  );
}

/** @param {readonly Requirement[]} requirements */
export function requirementsTable(requirements) {
  return align(
    ["required", "value", "unit", "goal", ""],
    requirements.map(({ what, value, unit, goal, met }) => [
      what,
      formatNumber(value),
      unit,
      goal,
      met ? "met" : "MISSED",
    ]),
  );
}

/** @param {{ measure: string, metric: string }} of */
const lineOf = ({ measure, metric }) => `${measure}: ${metric}`;

/**
 * @param {readonly string[]} names
 * @returns {string[]}
 */
const distinct = (names) => [...new Set(names)];
