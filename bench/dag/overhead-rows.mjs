// What graphs have shown, as rows.

import { atLeast, atMost } from "../report.mjs";
import { median } from "../stats.mjs";
import { titleOf } from "./overhead.mjs";

/** @typedef {import("../graphs.mjs").Shape} Shape */
/** @typedef {import("../report.mjs").Row} Row */
/** @typedef {import("./client.mjs").GraphResult} GraphResult */
/** @typedef {import("./overhead.mjs").Case} Case */

/** @typedef {Exclude<keyof GraphResult, "fingerprint" | "count" | "completed">} Metric */

/** How many times less than Dask a task may take. @type {Readonly<Record<Shape, number>>} */
const TIMES_LESS = { chain: 10, "fan-out": 10, layered: 5, tree: 5 };
const CHAIN_US = 200;
/** From the smallest graph to the largest. */
const GROWTH = 1.5;

/** @type {readonly { metric: string, unit: string, of: Metric }[]} */
const BESIDE = [
  { metric: "of it, submission", unit: "µs", of: "submitUs" },
  { metric: "CPU of the server per task", unit: "µs", of: "serverCpuUs" },
  { metric: "CPU of the workers per task", unit: "µs", of: "workersCpuUs" },
  { metric: "CPU of the client per task", unit: "µs", of: "clientCpuUs" },
  { metric: "memory of the server per task, at most", unit: "B", of: "peakBytes" },
  { metric: "memory of the server per task, at the end", unit: "B", of: "endBytes" },
];

/**
 * @param {readonly Case[]} cases
 * @param {boolean} isJudged Small sizes are not.
 * @returns {Row[]}
 */
export function overheadRows(cases, isJudged) {
  return [...cases.flatMap((one) => caseRows(one, isJudged)), ...(isJudged ? growthRows(cases) : [])];
}

/**
 * @param {Case} one
 * @param {boolean} isJudged
 * @returns {Row[]}
 */
function caseRows(one, isJudged) {
  const title = titleOf(one);
  const us = of(one.ours, "usPerTask");
  const isChain = isJudged && one.shape === "chain" && !one.isDurable;
  const beside = against(one, "usPerTask");
  const time = { case: title, metric: "time per task", unit: "µs" };
  return [
    { ...time, value: us, ...(isChain && atMost(us, CHAIN_US)), ...spread(one.ours), ...beside },
    ...(isJudged ? ratioRows(one, beside.ratio) : []),
    ...BESIDE.map(({ metric, unit, of: which }) => ({
      case: title,
      metric,
      unit,
      value: of(one.ours, which),
      ...against(one, which),
    })),
  ];
}

/**
 * @param {Case} one
 * @param {number | undefined} ratio
 * @returns {Row[]}
 */
function ratioRows(one, ratio) {
  if (ratio === undefined) return [];
  const title = titleOf(one);
  return [{ case: title, metric: "less than Dask", unit: "times", ...atLeast(ratio, TIMES_LESS[one.shape]) }];
}

/**
 * @param {readonly Case[]} cases
 * @returns {Row[]}
 */
function growthRows(cases) {
  /** @type {Row[]} */
  const rows = [];
  for (const first of cases) {
    const same = cases.filter(
      ({ shape, workers, isDurable }) =>
        shape === first.shape && workers === first.workers && isDurable === first.isDurable,
    );
    const last = same.at(-1);
    if (same[0] !== first || last === undefined || last === first) continue;
    const growth = of(last.ours, "usPerTask") / of(first.ours, "usPerTask");
    const title = `${titleOf(last)}, beside ${first.size}`;
    rows.push({ case: title, metric: "growth of time per task", unit: "times", ...atMost(growth, GROWTH) });
  }
  return rows;
}

/**
 * @param {readonly GraphResult[]} rounds
 * @param {Metric} metric
 */
function of(rounds, metric) {
  return median(rounds.map((round) => round[metric]));
}

/** @param {readonly GraphResult[]} rounds */
function spread(rounds) {
  const all = rounds.map(({ usPerTask }) => usPerTask);
  return all.length < 2 ? {} : { min: Math.min(...all), max: Math.max(...all) };
}

/**
 * @param {Case} one
 * @param {Metric} metric
 * @returns {Partial<Row>}
 */
function against({ dask, ours }, metric) {
  const [first] = dask;
  if (!first) return {};
  const peerValue = of(dask, metric);
  return { peer: `Dask ${first.version}`, peerValue, ratio: peerValue / of(ours, metric) };
}
