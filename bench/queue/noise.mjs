// What the machine does beside us, without which figures of commits say little.

import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { quantile } from "../stats.mjs";

const BLOCK = Buffer.alloc(8192, 1);

/**
 * How long the disk takes to make a small write durable.
 *
 * @param {string} folder
 * @param {number} times
 */
export function measureSync(folder, times) {
  const path = join(folder, "sync");
  const file = openSync(path, "w");
  /** @type {number[]} */
  const tookMs = [];
  try {
    // Written over and over, as a database does with its log, so that the file does not grow.
    writeSync(file, BLOCK, 0, BLOCK.length, 0);
    fdatasyncSync(file);
    for (let at = 0; at < times; at++) {
      const startedAt = performance.now();
      writeSync(file, BLOCK, 0, BLOCK.length, 0);
      fdatasyncSync(file);
      tookMs.push(performance.now() - startedAt);
    }
  } finally {
    closeSync(file);
    rmSync(path);
  }
  return { p50: quantile(tookMs, 0.5), p95: quantile(tookMs, 0.95) };
}
