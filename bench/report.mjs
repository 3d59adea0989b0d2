// Rows of results, and how they are shown.

import { cpus, loadavg, totalmem } from "node:os";

/**
 * @typedef {object} Row
 * @property {string} case
 * @property {string} metric
 * @property {string} unit
 * @property {number} value
 * @property {string} [goal] What the value is held to; an aim behind it is a wish.
 * @property {boolean} [met] Whether the value keeps to the goal.
 * @property {string} [peer]
 * @property {number} [peerValue] Measured in the same run; absent if the peer is missing.
 * @property {number} [ratio] How many times better than the peer.
 */

/**
 * @typedef {object} Bench
 * @property {string} name
 * @property {string} summary
 * @property {(setting: Setting) => Promise<Outcome>} run
 */

/**
 * @typedef {object} Setting
 * @property {boolean} quick Small sizes: shows that everything works, measures nothing.
 * @property {(line: string) => void} say
 */

/**
 * @typedef {object} Outcome
 * @property {Row[]} rows
 * @property {string[]} failures What was wrong, not merely slow.
 */

/**
 * @param {number} value
 * @param {number} limit
 * @param {number} [aim]
 */
export function atMost(value, limit, aim) {
  return { value, goal: `<= ${limit}${aim === undefined ? "" : `, aim <= ${aim}`}`, met: value <= limit };
}

/**
 * @param {number} value
 * @param {number} limit
 */
export function atLeast(value, limit) {
  return { value, goal: `>= ${limit}`, met: value >= limit };
}

function machine() {
  const [cpu] = cpus();
  return {
    cpu: cpu?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    platform: `${process.platform} ${process.arch}`,
    /** Work that others did at the same time shows here. */
    loadAverage: Number((loadavg()[0] ?? 0).toFixed(2)),
  };
}

/**
 * @param {string} bench
 * @param {readonly Row[]} results
 */
export function asJson(bench, results) {
  return JSON.stringify({ bench, machine: machine(), results: results.map(rounded) });
}

/**
 * @param {string} bench
 * @param {readonly Row[]} rows
 */
export function asTable(bench, rows) {
  const { cpu, cores, memoryGiB, node, loadAverage } = machine();
  const header = ["case", "metric", "value", "unit", "goal", "", "peer", "peer's", "times better"];
  const cells = rows.map((row) => [
    row.case,
    row.metric,
    formatNumber(row.value),
    row.unit,
    row.goal ?? "",
    row.met === undefined ? "" : row.met ? "met" : "MISSED",
    row.peer ?? "",
    row.peerValue === undefined ? "" : formatNumber(row.peerValue),
    row.ratio === undefined ? "" : formatNumber(row.ratio),
  ]);
  const widths = header.map((name, at) =>
    Math.max(name.length, ...cells.map((line) => line[at]?.length ?? 0)),
  );
  const lines = [header, ...cells].map((line) =>
    line
      .map((cell, at) => (NUMERIC.has(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
  const missed = rows.filter(({ met }) => met === false).length;
  const held = rows.filter(({ met }) => met !== undefined).length;
  return [
    `${bench} on ${cores} x ${cpu}, ${memoryGiB} GiB, Node ${node}, load average ${loadAverage}`,
    "",
    ...lines,
    "",
    missed === 0 ? `${held} of ${held} goals are met.` : `${missed} of ${held} goals are MISSED.`,
  ].join("\n");
}

/** The columns that are aligned to the right. */
const NUMERIC = new Set([2, 7, 8]);

/**
 * @param {Row} row
 * @returns {Row}
 */
function rounded(row) {
  return /** @type {Row} */ (
    Object.fromEntries(
      Object.entries(row).map(([key, value]) => [
        key,
        typeof value === "number" ? Number(value.toPrecision(5)) : value,
      ]),
    )
  );
}

/** @param {number} value */
function formatNumber(value) {
  const digits = value >= 1_000 ? 0 : value >= 100 ? 1 : 2;
  return value.toFixed(digits).replace(/\B(?=(\d{3})+$)/g, digits === 0 ? "," : "");
}
