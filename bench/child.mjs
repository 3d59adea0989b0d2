// One measurement in a process of its own, with a fresh heap: reads its job from the first argument and prints
// the result as JSON.

import { measureLatency } from "./measures/latency.mjs";
import { measureMemory, measureOverhead } from "./measures/overhead.mjs";
import { measureRate } from "./measures/rate.mjs";

/** @typedef {import("./measures/latency.mjs").LatencyJob} LatencyJob */
/** @typedef {import("./measures/overhead.mjs").MemoryJob} MemoryJob */
/** @typedef {import("./measures/overhead.mjs").OverheadJob} OverheadJob */
/** @typedef {import("./measures/rate.mjs").RateJob} RateJob */

/** @param {LatencyJob | MemoryJob | OverheadJob | RateJob} job */
function measure(job) {
  switch (job.measure) {
    case "latency":
      return measureLatency(job);
    case "memory":
      return measureMemory(job);
    case "overhead":
      return measureOverhead(job);
    case "rate":
      return measureRate(job);
  }
}

const job = /** @type {LatencyJob | MemoryJob | OverheadJob | RateJob} */ (JSON.parse(process.argv[2] ?? ""));
process.stdout.write(`${JSON.stringify(measure(job))}\n`);
