// What pairs of results have shown, as rows: of ours what is judged, and beside it what Dask has.

import { atMost } from "../report.mjs";
import { median } from "../stats.mjs";
import { leastMoved, MIB } from "./pairs.mjs";

/** @typedef {import("../report.mjs").Row} Row */
/** @typedef {import("./locality.mjs").LocalityCase} LocalityCase */
/** @typedef {import("./locality.mjs").LocalityResult} LocalityResult */

/**
 * @typedef {object} Measure
 * @property {string} metric
 * @property {string} unit
 * @property {(result: LocalityResult) => number | undefined} of Undefined: nobody can say.
 * @property {(setting: { pairing: import("./pairs.mjs").Pairing, producers: number }) => number} [limit]
 */

/** Of two workers the busier one has at most so many times what it would have if both had the same. */
const BALANCE = 1.1;
const LEFT_MB = 10;

/** @type {readonly Measure[]} */
const MEASURES = [
  {
    metric: "moved",
    unit: "MiB",
    of: ({ movedBytes }) => movedBytes / MIB,
    limit: ({ pairing }) => leastMoved(pairing) / MIB,
  },
  {
    metric: "producers of the busier worker",
    unit: "",
    of: ({ producers }) => Math.max(...producers),
    limit: ({ producers }) => (BALANCE * producers) / 2,
  },
  { metric: "consumers of the busier worker", unit: "", of: ({ consumers }) => Math.max(...consumers) },
  { metric: "held at most", unit: "MiB", of: ({ peakHeldBytes }) => peakHeldBytes / MIB },
  { metric: "results kept when released", unit: "B", of: ({ keptBytes }) => keptBytes, limit: () => 0 },
  {
    metric: "memory left when released",
    unit: "MB",
    of: ({ leftBytes }) => leftBytes / 1e6,
    limit: () => LEFT_MB,
  },
  { metric: "of it, in use", unit: "MB", of: ({ leftInUseBytes: left }) => left && left / 1e6 },
  { metric: "time", unit: "s", of: ({ seconds }) => seconds },
];

/**
 * @param {readonly LocalityCase[]} cases
 * @param {number} producers
 * @param {boolean} isJudged
 * @returns {Row[]}
 */
export function localityRows(cases, producers, isJudged) {
  return cases.flatMap(({ pairing, ms, system, results }) => {
    const isOurs = system === "orrery";
    const title = `${producers} x 1 MiB, ${pairing}, ${ms === 0 ? "no-op" : `${ms} ms`}${isOurs ? "" : `: ${system}`}`;
    return MEASURES.flatMap(({ metric, unit, of, limit }) => {
      const all = results.flatMap((result) => of(result) ?? []);
      if (all.length === 0) return [];
      const value = median(all);
      const judged = limit && isJudged && isOurs ? atMost(value, limit({ pairing, producers })) : { value };
      return [{ case: title, metric, unit, ...judged }];
    });
  });
}
