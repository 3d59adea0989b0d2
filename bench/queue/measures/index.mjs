// What is measured of a queue. Each measure opens it anew, on an empty database.

import { join } from "node:path";
import { isOurs } from "../system.mjs";
import { SYSTEMS } from "../systems/index.mjs";
import { measureDrain } from "./drain.mjs";
import { measureHttp } from "./http.mjs";
import { BareCommits, measureLatency } from "./latency.mjs";
import { measureSubmit } from "./submit.mjs";

/** @typedef {import("../closers.mjs").Closers} Closers */
/** @typedef {import("../figure.mjs").Figure} Figure */
/** @typedef {{ measure: "submit" } & import("./submit.mjs").SubmitSizes} SubmitTask */
/** @typedef {{ measure: "drain" } & import("./drain.mjs").DrainSizes} DrainTask */
/** @typedef {{ measure: "latency" } & import("./latency.mjs").LatencySizes} LatencyTask */
/** @typedef {{ measure: "http" } & import("./http.mjs").HttpSizes} HttpTask */
/** @typedef {SubmitTask | DrainTask | LatencyTask | HttpTask} Task */
/** @typedef {Task & { system: string, folder: string, place: import("../system.mjs").Place }} Job */

/** After each step others may have theirs. @typedef {AsyncGenerator<undefined, Figure[], undefined>} Steps */

export const LEDGER = "ledger.jsonl";

/**
 * @param {Job} job
 * @param {Closers} closers
 * @returns {Steps}
 */
export async function* measure(job, closers) {
  if (job.measure === "http") return await measureHttp(job, closers);
  const system = SYSTEMS.find(({ name }) => name === job.system);
  if (!system) throw new Error(`there is no system ${job.system}`);
  const starts = new Starts();
  const { place, measure: purpose } = job;
  const queue = await system.open({ place, purpose, onStart: () => starts.tell() }, closers);
  switch (job.measure) {
    case "submit":
      return yield* measureSubmit(queue, { ...job, inFlight: [...job.inFlight, ...system.extraInFlight] });
    case "latency": {
      const bare = isOurs(system) ? await closers.use(BareCommits.open(place.url)) : undefined;
      return await measureLatency(queue, starts, job, bare);
    }
    case "drain": {
      const figures = yield* measureDrain(system, place, queue, job);
      await queue.writeLedger?.(join(job.folder, LEDGER));
      return figures;
    }
  }
}

/** When tasks begin, for who waits for the next. */
class Starts {
  #told = (/** @type {number} */ _at) => {};

  tell() {
    this.#told(performance.now());
  }

  /** @returns {Promise<number>} */
  next() {
    return new Promise((resolve) => {
      this.#told = resolve;
    });
  }
}
