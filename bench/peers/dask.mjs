import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** @typedef {import("../graphs.mjs").Shape} Shape */

/**
 * @typedef {object} DaskResult
 * @property {string} version
 * @property {number} fingerprint
 * @property {number} submitUs
 * @property {number} totalUs
 * @property {number} waitingRssBytes
 * @property {number} endRssBytes
 */

export const DASK_MISSING = "Dask: missing (apt-get install python3-distributed)";

const PYTHONS = ["python3", "/usr/bin/python3"];
const script = fileURLToPath(new URL("dask_core.py", import.meta.url));

/** The Python that has Dask's scheduler, if there is one. */
export function findDask() {
  return PYTHONS.find((python) => spawnSync(python, ["-c", "import distributed"]).status === 0);
}

/**
 * @param {string} python
 * @param {Shape} shape
 * @param {number} size
 * @param {number} workers
 * @returns {DaskResult}
 */
export function measureDask(python, shape, size, workers) {
  const { status, stdout, stderr } = spawnSync(python, [script, shape, String(size), String(workers)], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`Dask could not be measured: ${stderr.trim()}`);
  return /** @type {DaskResult} */ (JSON.parse(stdout));
}
