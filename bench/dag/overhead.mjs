// What a task of a graph costs, beside Dask: each case has a server and workers of its own, and runs one graph.

import { fileURLToPath } from "node:url";
import { daskGraph } from "../peers/dask-cluster.mjs";
import { Apart } from "../queue/apart.mjs";
import { rotated } from "../stats.mjs";
import { withFleet } from "./fleet.mjs";

/** @typedef {import("../graphs.mjs").Shape} Shape */
/** @typedef {import("../queue/interruptible.mjs").Surroundings} Surroundings */
/** @typedef {import("./client.mjs").GraphJob} GraphJob */
/** @typedef {import("./client.mjs").GraphResult} GraphResult */

/**
 * @typedef {object} Case
 * @property {Shape} shape
 * @property {number} size
 * @property {number} workers
 * @property {boolean} isDurable On PostgreSQL. Dask keeps nothing, and is not beside it.
 * @property {GraphResult[]} ours Of all rounds.
 * @property {(GraphResult & { version: string })[]} dask
 */

/**
 * @typedef {object} OverheadScale
 * @property {readonly Shape[]} shapes
 * @property {readonly number[]} sizes
 * @property {readonly number[]} fleets
 * @property {number} warmUpMs
 * @property {number} [durableSize]
 */

/**
 * @typedef {object} Means
 * @property {number} warmUpMs
 * @property {string | undefined} python Which has Dask.
 * @property {(() => Promise<string>) | undefined} createDatabase
 * @property {(line: string) => void} say
 */

const clientFile = fileURLToPath(new URL("client.mjs", import.meta.url));

/**
 * @param {OverheadScale} scale
 * @returns {Case[]}
 */
export function casesOf({ shapes, sizes, fleets, durableSize }) {
  return shapes.flatMap((shape) => {
    const cases = fleets.flatMap((workers) => sizes.map((size) => ({ size, workers, isDurable: false })));
    const workers = fleets.at(-1) ?? 1;
    if (durableSize !== undefined) cases.push({ size: durableSize, workers, isDurable: true });
    return cases.map((one) => ({ shape, ...one, ours: [], dask: [] }));
  });
}

/** @param {Case} one */
export function titleOf({ shape, size, workers, isDurable }) {
  return `${shape} of ${size}, ${workers} worker${workers === 1 ? "" : "s"}${isDurable ? ", PostgreSQL" : ""}`;
}

/**
 * One round, in which both systems go through all cases in turn.
 *
 * @param {readonly Case[]} cases
 * @param {number} round
 * @param {Means} means
 * @param {Surroundings} surroundings
 */
export async function measureRound(cases, round, means, surroundings) {
  const { warmUpMs, python, say } = means;
  for (const one of cases) {
    const isBeside = python !== undefined && !one.isDurable;
    for (const system of rotated(isBeside ? ["orrery", "dask"] : ["orrery"], round)) {
      say(`round ${round + 1}: ${titleOf(one)}: ${system}`);
      if (system === "orrery") one.ours.push(await ourGraph(one, means, surroundings.signal));
      else if (python) one.dask.push(await daskGraph(python, { ...one, warmUpMs }, surroundings));
    }
  }
}

/**
 * @param {Case} one
 * @param {Means} means
 * @param {AbortSignal} signal
 */
async function ourGraph({ shape, size, workers, isDurable }, { warmUpMs, createDatabase }, signal) {
  const store = isDurable ? await createDatabase?.() : undefined;
  return withFleet({ workers, ...(store !== undefined && { store }) }, signal, async (fleet) => {
    /** @type {GraphJob} */
    const job = {
      url: fleet.url,
      key: fleet.key,
      shape,
      size,
      warmUpMs,
      server: fleet.server.pid,
      workers: fleet.workers.map(({ pid }) => pid),
    };
    const client = await fleet.closers.use(Promise.resolve(new Apart(clientFile, [JSON.stringify(job)])));
    return /** @type {GraphResult} */ (await client.message());
  });
}

/**
 * What was wrong, not merely slow.
 *
 * @param {Case} one
 */
export function failuresOf(one) {
  const { ours, dask } = one;
  const title = titleOf(one);
  const failures = ours
    .filter(({ completed, count }) => completed !== count)
    .map(({ completed, count }) => `${title}: ${completed} of ${count} nodes completed`);
  if (dask.some(({ completed, count }) => completed !== count))
    failures.push(`${title}: Dask did not complete it`);
  if (dask.some(({ fingerprint }) => fingerprint !== ours[0]?.fingerprint))
    failures.push(`${title}: Dask was given another graph`);
  return failures;
}
