// Graphs of functions on real processes, as users run them: a server, workers and a client, beside Dask's. What a task costs,
// and how much data is moved.

import { join } from "node:path";
import { SERVE } from "./dag/fleet.mjs";
import { locality } from "./dag/locality.mjs";
import { casesOf, failuresOf, measureRound } from "./dag/overhead.mjs";
import { overheadRows } from "./dag/overhead-rows.mjs";
import { SHAPES } from "./graphs.mjs";
import { DASK_MISSING, findDask } from "./peers/dask.mjs";
import { interruptible } from "./queue/interruptible.mjs";
import { startPostgres } from "./queue/postgres.mjs";
import { outcomeOf } from "./report.mjs";

/** @typedef {import("./queue/interruptible.mjs").Surroundings} Surroundings */
/** @typedef {import("./report.mjs").Setting} Setting */

/** @type {import("./report.mjs").Bench} */
export const dag = {
  name: "dag",
  summary: "graphs of functions on a server and worker processes: time per task and bytes moved; beside Dask",
  systems: ["orrery"],
  run: (setting) => interruptible((surroundings) => run(setting, surroundings)),
};

/** @typedef {{ rounds: number, overhead: import("./dag/overhead.mjs").OverheadScale, locality: import("./dag/locality.mjs").LocalityScale }} Scale */

/** @type {Scale} */
const STANDARD = {
  rounds: 3,
  overhead: { shapes: SHAPES, sizes: [1_000, 10_000], fleets: [1, 2], warmUpMs: 3_000, durableSize: 10_000 },
  locality: {
    producers: 200,
    pairings: ["disjoint", "matching", "apart", "sliding"],
    durations: [0, 20],
    systems: ["orrery", "Dask", "Dask, queuing off"],
  },
};
/** @type {Scale} */
const FULL = { ...STANDARD, overhead: { ...STANDARD.overhead, sizes: [1_000, 10_000, 50_000] } };
/** @type {Scale} */
const QUICK = {
  rounds: 1,
  overhead: { shapes: ["layered"], sizes: [250], fleets: [2], warmUpMs: 100 },
  locality: { producers: 12, pairings: ["sliding"], durations: [0], systems: ["orrery", "Dask"] },
};

/**
 * @param {Setting} setting
 * @param {Surroundings} surroundings
 */
async function run({ quick, full, rounds, only, say }, surroundings) {
  const scale = quick ? QUICK : full ? FULL : STANDARD;
  const count = rounds ?? scale.rounds;
  const python = only.includes("orrery") ? undefined : findDask();
  const skipped = python === undefined && only.length === 0 ? [DASK_MISSING] : [];
  for (const what of skipped) say(`SKIPPED: ${what}`);
  const { warmUpMs, durableSize } = scale.overhead;
  const postgres = durableSize === undefined ? undefined : await postgresIn(surroundings);
  const means = { warmUpMs, python, createDatabase: postgres?.createDatabase, say };
  const cases = casesOf(scale.overhead);
  for (let round = 0; round < count; round++) await measureRound(cases, round, means, surroundings);
  const how = { rounds: count, python, isJudged: !quick, say };
  const moved = await locality(scale.locality, how, surroundings);
  const rows = [...overheadRows(cases, !quick), ...moved.rows];
  const outcome = outcomeOf(rows, [...cases.flatMap(failuresOf), ...moved.failures]);
  const settings = { ...scale, rounds: count, serve: SERVE, postgres: postgres?.settings };
  return { ...outcome, json: { settings, ...outcome.json, skipped } };
}

/** @param {Surroundings} surroundings */
function postgresIn({ folder, closers }) {
  return startPostgres(join(folder, "data"), closers);
}
