// What other processes use, by the kernel's count: they are not asked, and need not know.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/**
 * In nanoseconds, of all threads that there are; the count by process has steps of 10 ms.
 *
 * @param {number} pid
 */
function cpuMicros(pid) {
  let nanos = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`))
    nanos += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
  return nanos / 1000;
}

/** @param {readonly number[]} pids */
export function cpuMicrosOf(pids) {
  return pids.reduce((sum, pid) => sum + cpuMicros(pid), 0);
}

/**
 * What it has resident now, and had at most.
 *
 * @param {number} pid
 */
export function residentBytes(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const bytes = (/** @type {string} */ name) =>
    1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]);
  return { now: bytes("VmRSS"), peak: bytes("VmHWM") };
}

/**
 * From now on the most is what it has now.
 *
 * @param {number} pid
 */
export function forgetPeak(pid) {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}
