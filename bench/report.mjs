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
 * @property {readonly string[]} [systems] Which it compares, and can be asked for alone.
 * @property {(setting: Setting) => Promise<Outcome>} run
 */

/**
 * @typedef {object} Setting
 * @property {boolean} quick Small sizes: shows that everything works, measures nothing.
 * @property {boolean} full The largest sizes too.
 * @property {number} [rounds] Instead of as many as the benchmark makes by itself.
 * @property {readonly string[]} only Of the systems; none: all.
 * @property {string} [set] A directory of instances to plan.
 * @property {string} [bounds] Their best known makespans.
 * @property {number} [schedules] So many for each, instead of as many as there is time for.
 * @property {(line: string) => void} say
 */

/**
 * @typedef {object} Outcome
 * @property {Readonly<Record<string, unknown>>} json
 * @property {string} text
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
 * @param {Outcome} outcome
 */
export function asJson(bench, { json }) {
  return JSON.stringify({ bench, machine: machine(), ...json }, (_, /** @type {unknown} */ value) =>
    typeof value === "number" ? Number(value.toPrecision(5)) : value,
  );
}

/**
 * @param {string} bench
 * @param {Outcome} outcome
 */
export function asText(bench, { text }) {
  const { cpu, cores, memoryGiB, node } = machine();
  const title = `${bench} on ${cores} x ${cpu}, ${memoryGiB} GiB, Node ${node}, load average ${loadAverage} at the start`;
  return `${title}\n\n${text}`;
}

/**
 * @param {readonly Row[]} rows
 * @param {string[]} failures
 * @returns {Outcome}
 */
export function outcomeOf(rows, failures) {
  const columns = COLUMNS.filter(({ cell }) => rows.some((row) => cell(row) !== ""));
  const titles = columns.map(({ title }) => title);
  const table = align(
    titles,
    rows.map((row) => columns.map(({ cell }) => cell(row))),
  );
  return { json: { results: rows }, text: [table, ...verdict(rows)].join("\n\n"), failures };
}

/** @param {readonly { met?: boolean }[]} judged */
export function verdict(judged) {
  const held = judged.filter(({ met }) => met !== undefined).length;
  const missed = judged.filter(({ met }) => met === false).length;
  if (held === 0) return [];
  return [missed === 0 ? `${held} of ${held} goals are met.` : `${missed} of ${held} goals are MISSED.`];
}

/**
 * Figures to the right, words to the left.
 *
 * @param {readonly string[]} titles
 * @param {readonly (readonly string[])[]} lines
 */
export function align(titles, lines) {
  const columns = titles.map((title, at) => {
    const cells = lines.map((line) => line[at] ?? "");
    const width = Math.max(title.length, ...cells.map(({ length }) => length));
    const isNumeric = cells.every((text) => /^(-?\d.*)?$/.test(text));
    return [title, ...cells].map((text) => (isNumeric ? text.padStart(width) : text.padEnd(width)));
  });
  return [titles, ...lines]
    .map((_, row) =>
      columns
        .map((cells) => cells[row])
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Those that no row uses are left out. @type {readonly { title: string, cell: (row: Row) => string }[]} */
const COLUMNS = [
  { title: "case", cell: (row) => row.case },
  { title: "metric", cell: (row) => row.metric },
  { title: "value", cell: ({ value }) => formatNumber(value) },
  { title: "min - max", cell: ({ min, max }) => formatRange(min, max) },
  { title: "unit", cell: (row) => row.unit },
  { title: "goal", cell: ({ goal = "" }) => goal },
  { title: "", cell: ({ met }) => (met === undefined ? "" : met ? "met" : "MISSED") },
  { title: "peer", cell: ({ peer = "" }) => peer },
  { title: "peer's", cell: ({ peerValue }) => formatOptional(peerValue) },
  { title: "times better", cell: ({ ratio }) => formatOptional(ratio) },
];

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
export function formatNumber(value) {
  const digits = value >= 1_000 || Number.isInteger(value) ? 0 : value >= 100 ? 1 : 2;
  return value.toFixed(digits).replace(/\B(?=(\d{3})+$)/g, digits === 0 ? "," : "");
}
