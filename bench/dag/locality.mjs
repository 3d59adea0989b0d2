// How much data moves between two workers, and what of it is still in memory afterwards, beside Dask.

import { daskLocality } from "../peers/dask-cluster.mjs";
import { localityRows } from "./locality-rows.mjs";
import { ourLocality } from "./our-locality.mjs";
import { pairNodes } from "./pairs.mjs";

/** @typedef {import("../queue/interruptible.mjs").Surroundings} Surroundings */
/** @typedef {import("./pairs.mjs").PairJob} PairJob */
/** @typedef {import("./pairs.mjs").Pairing} Pairing */

/**
 * What was found for one graph, of whichever system.
 *
 * @typedef {object} LocalityResult
 * @property {number} seconds
 * @property {number} movedBytes
 * @property {readonly number[]} producers By worker.
 * @property {readonly number[]} consumers
 * @property {number} peakHeldBytes
 * @property {number} [keptBytes] What the workers say that they still hold when all is released.
 * @property {number} leftBytes By how much the memory of the workers has grown when all is released.
 * @property {number} [leftInUseBytes] Of it, what is in use; the rest the allocator has not given back.
 * @property {readonly string[]} wrong
 */

/** @typedef {"orrery" | "Dask" | "Dask, queuing off"} System */
/** @typedef {{ pairing: Pairing, ms: number, system: System, results: LocalityResult[] }} LocalityCase */

/**
 * @typedef {object} LocalityScale
 * @property {number} producers
 * @property {readonly Pairing[]} pairings
 * @property {readonly number[]} durations In milliseconds.
 * @property {readonly System[]} systems
 */

const WORKERS = 2;
const WARM_UP = 20;

/**
 * @param {LocalityScale} scale
 * @param {{ rounds: number, python: string | undefined, isJudged: boolean, say: (line: string) => void }} how
 * @param {Surroundings} surroundings
 */
export async function locality({ producers, pairings, durations, systems }, how, surroundings) {
  const { rounds, python, isJudged, say } = how;
  const measured = systems.filter((system) => system === "orrery" || python !== undefined);
  /** @type {LocalityCase[]} */
  const cases = durations.flatMap((ms) =>
    pairings.flatMap((pairing) => measured.map((system) => ({ pairing, ms, system, results: [] }))),
  );
  for (let round = 0; round < rounds; round++) {
    for (const { pairing, ms, system, results } of cases) {
      say(`round ${round + 1}: ${producers} producers, ${pairing}, ${ms} ms: ${system}`);
      const warmUp = pairNodes("disjoint", WARM_UP, 0);
      const job = { workers: WORKERS, ms, warmUp, nodes: pairNodes(pairing, producers, round + 1) };
      results.push(await measure(system, job, python ?? "", surroundings));
    }
  }
  const failures = cases.flatMap(({ pairing, ms, system, results }) =>
    results.flatMap(({ wrong }) => wrong.map((what) => `${pairing}, ${ms} ms, ${system}: ${what}`)),
  );
  return { rows: localityRows(cases, producers, isJudged), failures };
}

/**
 * @param {System} system
 * @param {PairJob} job
 * @param {string} python
 * @param {Surroundings} surroundings
 */
function measure(system, job, python, surroundings) {
  if (system === "orrery") return ourLocality(job, surroundings);
  return daskLocality(python, job, system === "Dask" ? "default" : "off", surroundings);
}
