// Decisions per second, from the first turn after the submission until the run has ended.

import { wireGraph } from "../../dist/graph/index.js";
import { needsOf, nodesOf } from "../graphs.mjs";
import { Loop, plainWorkers, submission } from "../loop.mjs";

/** @typedef {import("../graphs.mjs").Shape} Shape */
/** @typedef {import("../../dist/ledger/index.js").RunSubmitted} RunSubmitted */

/**
 * @typedef {object} RateJob
 * @property {"rate"} measure
 * @property {Shape} shape
 * @property {number} size
 * @property {number} workers
 * @property {number} warmUpMs
 * @property {number} prepared So many nodes are prepared together, so that their preparation leaves no garbage to the timed part.
 * @property {number} minMs Small graphs are run again and again, each in a fresh state, for this long.
 */

const WARM_UP_SIZE = 10_000;

/**
 * @param {RateJob} job
 * @returns {{ perSecond: number }}
 */
export function measureRate({ shape, size, workers, prepared, warmUpMs, minMs }) {
  sample(submitted(shape, Math.min(size, WARM_UP_SIZE)), workers, prepared, warmUpMs);
  const { decisions, ms } = sample(submitted(shape, size), workers, prepared, minMs);
  return { perSecond: (decisions / ms) * 1_000 };
}

/**
 * @param {RunSubmitted} event
 * @param {number} workers
 * @param {number} nodes
 * @param {number} minMs
 */
function sample(event, workers, nodes, minMs) {
  const size = event.graph.ids.length;
  const batch = Math.max(1, Math.floor(nodes / size));
  let decisions = 0;
  let ms = 0;
  while (ms < minMs) {
    const loops = Array.from({ length: batch }, () => loopWith(event, workers));
    global.gc?.();
    for (const loop of loops) {
      decisions += size - loop.running.length;
      const started = performance.now();
      while (loop.running.length > 0) loop.finishAll();
      ms += performance.now() - started;
      if (loop.state.runs.get(0)?.outcome !== "completed") throw new Error("the run did not complete");
    }
  }
  return { decisions, ms };
}

/**
 * @param {RunSubmitted} event
 * @param {number} workers
 */
function loopWith(event, workers) {
  const loop = new Loop({ maxQueuePerWorker: 0 }, plainWorkers(workers), () => {});
  loop.turn([event]);
  return loop;
}

/**
 * @param {Shape} shape
 * @param {number} size
 */
function submitted(shape, size) {
  return submission(wireGraph(nodesOf(needsOf(shape, size))));
}
