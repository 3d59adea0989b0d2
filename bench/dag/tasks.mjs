// The functions of the graphs whose transfers are counted.

import { setTimeout as sleep } from "node:timers/promises";

/**
 * 1 MiB.
 *
 * @param {number} fill
 * @param {number} ms
 */
export async function make(fill, ms) {
  if (ms > 0) await sleep(ms);
  return Buffer.alloc(2 ** 20, fill);
}

/**
 * @param {Buffer} one
 * @param {Buffer} other
 * @param {number} ms
 */
export async function add(one, other, ms) {
  if (ms > 0) await sleep(ms);
  return (one[0] ?? 0) + (other[0] ?? 0);
}
