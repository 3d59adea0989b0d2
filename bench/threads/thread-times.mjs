// On a machine that others use too, the time by the clock says little. How long each thread was on a core does.

import { readdirSync, readFileSync } from "node:fs";

/** Milliseconds on a core by thread; nothing where the system does not say. @returns {Map<string, number>} */
export function threadTimesMs() {
  /** @type {Map<string, number>} */
  const times = new Map();
  try {
    for (const thread of readdirSync("/proc/self/task")) {
      const [ns = "0"] = readFileSync(`/proc/self/task/${thread}/schedstat`, "utf8").split(" ");
      times.set(thread, Number(ns) / 1e6);
    }
  } catch {
    // A thread that ended meanwhile, or no such system.
  }
  return times;
}

/** The longest that a thread was on a core since then. @param {Map<string, number>} since */
export function longestMs(since) {
  let longest = 0;
  for (const [thread, ms] of threadTimesMs()) longest = Math.max(longest, ms - (since.get(thread) ?? 0));
  return longest;
}
