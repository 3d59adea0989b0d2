// Rows of results, and how they are shown.

import { cpus, loadavg, totalmem } from "node:os";

/**
 * @typedef {object} Row
 * @property {string} case
 * @property {string} metric
 * @property {string} unit
 * @property {number} value
 * @property {number} [min] Of the rounds whose median the value is.
 * @property {number} [max]
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
 * @property {boolean} full The largest sizes too.
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

/** Before anything is measured: work that others do shows here. */
const loadAverage = Number((loadavg()[0] ?? 0).toFixed(2));

function machine() {
  const [cpu] = cpus();
  return {
    cpu: cpu?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    platform: `${process.platform} ${process.arch}`,
    loadAverage,
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
  const { cpu, cores, memoryGiB, node } = machine();
  const columns = COLUMNS.map(({ title, isNumeric = false, cell }) => {
    const cells = rows.map(cell);
    const width = Math.max(title.length, ...cells.map(({ length }) => length));
    const pad = (/** @type {string} */ text) => (isNumeric ? text.padStart(width) : text.padEnd(width));
    return { title: pad(title), cells: cells.map(pad), isUsed: cells.some((text) => text !== "") };
  }).filter(({ isUsed }) => isUsed);
  const lines = [
    columns.map(({ title }) => title),
    ...rows.map((_, at) => columns.map(({ cells }) => cells[at] ?? "")),
  ].map((line) => line.join("  ").trimEnd());
  const missed = rows.filter(({ met }) => met === false).length;
  const held = rows.filter(({ met }) => met !== undefined).length;
  return [
    `${bench} on ${cores} x ${cpu}, ${memoryGiB} GiB, Node ${node}, load average ${loadAverage} at the start`,
    "",
    ...lines,
    ...(held === 0
      ? []
      : ["", missed === 0 ? `${held} of ${held} goals are met.` : `${missed} of ${held} goals are MISSED.`]),
  ].join("\n");
}

/** Those that no row uses are left out. @type {readonly { title: string, isNumeric?: boolean, cell: (row: Row) => string }[]} */
const COLUMNS = [
  { title: "case", cell: (row) => row.case },
  { title: "metric", cell: (row) => row.metric },
  { title: "value", isNumeric: true, cell: ({ value }) => formatNumber(value) },
  { title: "min - max", isNumeric: true, cell: ({ min, max }) => formatRange(min, max) },
  { title: "unit", cell: (row) => row.unit },
  { title: "goal", cell: ({ goal = "" }) => goal },
  { title: "", cell: ({ met }) => (met === undefined ? "" : met ? "met" : "MISSED") },
  { title: "peer", cell: ({ peer = "" }) => peer },
  { title: "peer's", isNumeric: true, cell: ({ peerValue }) => formatOptional(peerValue) },
  { title: "times better", isNumeric: true, cell: ({ ratio }) => formatOptional(ratio) },
];

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

/** @param {number} [value] */
function formatOptional(value) {
  return value === undefined ? "" : formatNumber(value);
}

/**
 * @param {number} [min]
 * @param {number} [max]
 */
function formatRange(min, max) {
  return min === undefined || max === undefined ? "" : `${formatNumber(min)} - ${formatNumber(max)}`;
}

/** @param {number} value */
function formatNumber(value) {
  const digits = value >= 1_000 ? 0 : value >= 100 ? 1 : 2;
  return value.toFixed(digits).replace(/\B(?=(\d{3})+$)/g, digits === 0 ? "," : "");
}
