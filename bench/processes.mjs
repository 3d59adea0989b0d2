// The programs that a benchmark starts.

import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** @typedef {import("./measures/latency.mjs").LatencyJob} LatencyJob */
/** @typedef {import("./measures/latency.mjs").LatencyResult} LatencyResult */
/** @typedef {import("./measures/overhead.mjs").MemoryJob} MemoryJob */
/** @typedef {import("./measures/overhead.mjs").OverheadJob} OverheadJob */
/** @typedef {import("./measures/rate.mjs").RateJob} RateJob */

const child = fileURLToPath(new URL("child.mjs", import.meta.url));
const cli = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

/** @typedef {ReturnType<typeof import("./measures/overhead.mjs").measureMemory>} MemoryResult */
/** @typedef {ReturnType<typeof import("./measures/overhead.mjs").measureOverhead>} OverheadResult */
/** @typedef {ReturnType<typeof import("./measures/rate.mjs").measureRate>} RateResult */

/** @type {(job: LatencyJob) => LatencyResult} */
export const latency = (job) => /** @type {LatencyResult} */ (measureApart(job));
/** @type {(job: MemoryJob) => MemoryResult} */
export const memory = (job) => /** @type {MemoryResult} */ (measureApart(job));
/** @type {(job: OverheadJob) => OverheadResult} */
export const overhead = (job) => /** @type {OverheadResult} */ (measureApart(job));
/** @type {(job: RateJob) => RateResult} */
export const rate = (job) => /** @type {RateResult} */ (measureApart(job));

/**
 * Measures in a process of its own: what was measured before leaves neither garbage nor optimised code.
 *
 * @param {LatencyJob | MemoryJob | OverheadJob | RateJob} job
 * @returns {unknown}
 */
function measureApart(job) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--expose-gc", child, JSON.stringify(job)],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`${JSON.stringify(job)} failed:\n${stderr}`);
  return JSON.parse(stdout);
}

/**
 * Whether `orrery verify --redecide` finds a ledger sound; what it said if not.
 *
 * @param {string} ledger
 * @returns {string | undefined}
 */
export function findFault(ledger) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [cli, "verify", "--redecide", "--json", ledger],
    { encoding: "utf8", maxBuffer: 1 << 28 },
  );
  return status === 0 ? undefined : `${stderr}${stdout}`.trim() || `exit code ${status}`;
}

/**
 * The same, while we can still be interrupted: a long ledger takes its time.
 *
 * @param {string} ledger
 * @param {AbortSignal} signal
 * @returns {Promise<string | undefined>}
 */
export async function lookForFault(ledger, signal) {
  try {
    await promisify(execFile)(process.execPath, [cli, "verify", "--redecide", "--json", ledger], {
      signal,
      maxBuffer: 1 << 28,
    });
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    const {
      stderr = "",
      stdout = "",
      message,
    } = /** @type {Error & Partial<Record<"stdout" | "stderr", string>>} */ (error);
    return `${stderr}${stdout}`.trim() || message;
  }
}

/**
 * Runs with a folder that is removed afterwards.
 *
 * @template T
 * @param {(folder: string) => T} work
 * @returns {T}
 */
export function withScratch(work) {
  const folder = mkdtempSync(join(tmpdir(), "orrery-bench-"));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
