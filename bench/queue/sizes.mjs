/**
 * @typedef {object} Sizes
 * @property {number} rounds
 * @property {import("./measures/submit.mjs").SubmitSizes} submit
 * @property {readonly import("./measures/drain.mjs").DrainSizes[]} drains
 * @property {import("./measures/latency.mjs").LatencySizes} latency
 * @property {import("./measures/http.mjs").HttpSizes} http
 * @property {number} syncs
 */

/** @type {Sizes} */
const STANDARD = {
  rounds: 3,
  submit: { inFlight: [1, 16], warmUpMs: 2_000, forMs: 2_000, many: 10_000, manyTimes: 7 },
  drains: [{ warmUp: 60_000, tasks: 20_000, times: 4, backlog: 0 }],
  latency: { warmUp: 3_000, samples: 400, pauseMs: 5 },
  http: { connections: 64, warmUpMs: 10_000, forMs: 5_000, pacedPerSecond: 1_000, pacedForMs: 10_000 },
  syncs: 200,
};

/** @type {Sizes} */
const FULL = {
  ...STANDARD,
  drains: [...STANDARD.drains, { warmUp: 60_000, tasks: 20_000, times: 2, backlog: 1_000_000 }],
};

/** @type {Sizes} */
const QUICK = {
  rounds: 1,
  submit: { inFlight: [1, 16], warmUpMs: 50, forMs: 200, many: 1_000, manyTimes: 1 },
  drains: [{ warmUp: 200, tasks: 1_000, times: 1, backlog: 0 }],
  latency: { warmUp: 10, samples: 40, pauseMs: 5 },
  http: { connections: 64, warmUpMs: 200, forMs: 400, pacedPerSecond: 1_000, pacedForMs: 600 },
  syncs: 50,
};

/**
 * @param {import("../report.mjs").Setting} setting
 * @returns {Sizes}
 */
export function sizesFor({ quick, full, rounds }) {
  const sizes = quick ? QUICK : full ? FULL : STANDARD;
  return { ...sizes, rounds: rounds ?? sizes.rounds };
}
