// How long one decision takes while many tasks wait.

import { wireGraph } from "../../dist/graph/index.js";
import { Status } from "../../dist/scheduler/index.js";
import { mixedTasks, mixedWorkers, someUnwilling } from "../fleet.mjs";
import { needsOf, nodesOf, randomBelow } from "../graphs.mjs";
import { LedgerWriter } from "../ledger-writer.mjs";
import { finished, Loop, submission } from "../loop.mjs";
import { quantile } from "../stats.mjs";

/** @typedef {import("../../dist/ledger/index.js").TaskAssigned} TaskAssigned */
/** @typedef {import("../../dist/placement/index.js").Strategy} Strategy */

/**
 * @typedef {object} LatencyJob
 * @property {"latency"} measure
 * @property {Strategy} strategy
 * @property {number} kinds How many different needs the tasks have.
 * @property {boolean} overdue Whether what waits has waited so long that workers are kept free for it.
 * @property {number} workers
 * @property {number} ready
 * @property {number} warmUp Turns before the first that counts.
 * @property {number} samples
 * @property {string} ledger
 */

/** @typedef {{ p50: number, p99: number, max: number }} Spread In microseconds. */
/**
 * @typedef {object} LatencyResult
 * @property {Spread} single Turns in which one task ended and one was assigned.
 * @property {Spread} filling From one assignment to the next while the idle fleet is filled.
 * @property {string} head The hash of the last block.
 */

/** More than any worker takes beyond its slots, on average. */
const NODES_PER_WORKER = 30;
const NEVER_MS = 2 ** 40;

/**
 * @param {LatencyJob} job
 * @returns {LatencyResult}
 */
export function measureLatency({ strategy, kinds, overdue, workers, ready, warmUp, samples, ledger }) {
  const writer = new LedgerWriter(ledger);
  const config = { strategy, seed: 1, reserveAfterMs: overdue ? 0 : NEVER_MS };
  const loop = new FillingLoop(config, mixedWorkers(workers), (block) => writer.add(block));
  loop.turn(someUnwilling(workers));
  const size = ready + NODES_PER_WORKER * workers + 2 * (warmUp + samples);
  loop.assignedAt = [performance.now()];
  loop.turn([submission(wireGraph(nodesOf(needsOf("fan-out", size), mixedTasks(kinds))))]);
  const filling = gaps(loop.assignedAt);
  loop.assignedAt = undefined;
  global.gc?.();

  /** @type {number[]} */
  const single = [];
  const below = randomBelow(3);
  for (let turn = 0; single.length < samples; turn++) {
    const { us, assigned } = finishOne(loop, below);
    if (turn >= warmUp && assigned === 1) single.push(us);
    if (turn > warmUp + 20 * samples) throw new Error("too few turns assign exactly one task");
  }
  const left = loop.state.runs.get(0)?.count(Status.ready) ?? 0;
  if (left < ready) throw new Error(`only ${left} of ${ready} tasks were still ready at the end`);
  writer.close(loop.head);
  return { single: spread(single), filling: spread(filling), head: loop.head.hash };
}

/**
 * @param {Loop} loop
 * @param {(limit: number) => number} below
 */
function finishOne(loop, below) {
  const { running } = loop;
  const at = below(running.length);
  const ended = /** @type {TaskAssigned} */ (running[at]);
  running[at] = /** @type {TaskAssigned} */ (running[running.length - 1]);
  running.pop();
  const held = running.length;
  loop.now++;
  const stimuli = [finished(ended, loop.now)];
  const started = performance.now();
  loop.turn(stimuli);
  const us = (performance.now() - started) * 1_000;
  return { us, assigned: running.length - held };
}

/** Notes when each task was assigned, while it is asked to. */
class FillingLoop extends Loop {
  /** @type {number[] | undefined} */
  assignedAt;

  /** @override @param {TaskAssigned} event */
  noteAssigned(event) {
    super.noteAssigned(event);
    this.assignedAt?.push(performance.now());
  }
}

/**
 * The first gap is left out: it holds the submission itself.
 *
 * @param {readonly number[]} times
 */
function gaps(times) {
  return times.slice(2).map((time, at) => (time - /** @type {number} */ (times[at + 1])) * 1_000);
}

/**
 * @param {readonly number[]} values
 * @returns {Spread}
 */
function spread(values) {
  return { p50: quantile(values, 0.5), p99: quantile(values, 0.99), max: quantile(values, 1) };
}
