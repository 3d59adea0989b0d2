// Dask's scheduler and workers, as processes of their own.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** @typedef {import("../dag/client.mjs").GraphResult} GraphResult */
/** @typedef {import("../dag/locality.mjs").LocalityResult} LocalityResult */
/** @typedef {{ folder: string, signal: AbortSignal }} Surroundings */

/** Longer than the longest chain takes. */
const WITHIN_MS = 1_800_000;

/**
 * @param {string} python
 * @param {{ shape: import("../graphs.mjs").Shape, size: number, warmUpMs: number, workers: number }} job
 * @param {Surroundings} surroundings
 * @returns {Promise<GraphResult & { version: string }>}
 */
export async function daskGraph(python, { shape, size, warmUpMs, workers }, surroundings) {
  const args = [shape, size, warmUpMs, workers].map(String);
  const result = await measured(python, "dask_graphs.py", args, surroundings);
  return /** @type {GraphResult & { version: string }} */ (result);
}

/**
 * @param {string} python
 * @param {import("../dag/pairs.mjs").PairJob} job
 * @param {"default" | "off"} queuing Of tasks that need nothing, at the scheduler.
 * @param {Surroundings} surroundings
 */
export async function daskLocality(python, job, queuing, surroundings) {
  const result = await measured(python, "dask_locality.py", [queuing, JSON.stringify(job)], surroundings);
  return /** @type {LocalityResult} */ (result);
}

/**
 * @param {string} python
 * @param {string} script
 * @param {readonly string[]} args
 * @param {Surroundings} surroundings
 * @returns {Promise<unknown>}
 */
async function measured(python, script, args, { folder, signal }) {
  const file = fileURLToPath(new URL(script, import.meta.url));
  try {
    const { stdout } = await promisify(execFile)(python, [file, folder, ...args], {
      signal,
      timeout: WITHIN_MS,
    });
    return JSON.parse(stdout);
  } catch (error) {
    signal.throwIfAborted();
    const { stderr = "", message } = /** @type {Error & { stderr?: string }} */ (error);
    throw new Error(`Dask could not be measured: ${stderr.trim() || message}`);
  }
}
