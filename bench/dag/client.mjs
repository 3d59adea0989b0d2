// A program that submits graphs of no-ops and waits for their ends, with nothing but OrreryClient. The clock runs from the
// call that submits to the answer that the run has ended.

import { setTimeout as sleep } from "node:timers/promises";
import { OrreryClient } from "../../dist/client/index.js";
import { fingerprint, needsOf } from "../graphs.mjs";
import { endWhenTold } from "../queue/apart.mjs";
import { Closers } from "../queue/closers.mjs";
import { median } from "../stats.mjs";
import { noOpGraph } from "./graph-file.mjs";
import { cpuMicrosOf, forgetPeak, residentBytes } from "./proc.mjs";

/**
 * @typedef {object} GraphJob
 * @property {string} url
 * @property {string} key
 * @property {import("../graphs.mjs").Shape} shape
 * @property {number} size
 * @property {number} warmUpMs So long graphs of the same shape run before, and one at least.
 * @property {number} server Its process.
 * @property {readonly number[]} workers
 */

/**
 * What was found for one graph, per task, of whichever system.
 *
 * @typedef {object} GraphResult
 * @property {number} fingerprint
 * @property {number} count Of its nodes; a tree may have one less than it was asked for.
 * @property {number} completed
 * @property {number} usPerTask
 * @property {number} submitUs Of it, until the submission was answered.
 * @property {number} serverCpuUs
 * @property {number} workersCpuUs
 * @property {number} clientCpuUs
 * @property {number} peakBytes What the server's memory grew by at most.
 * @property {number} endBytes And had grown by when the run had ended.
 */

/** Nodes of a graph that runs before. */
const WARM_UP = 1_000;
/** Before the clock starts, for what ran before. */
const REST_MS = 500;
/** A small graph takes less time than the machine may stand still for: the median of so many. */
const SMALL = 1_000;
const TIMES_SMALL = 5;

/**
 * @param {GraphJob} job
 * @returns {Promise<GraphResult>}
 */
async function measure(job) {
  const { url, key, shape, size, warmUpMs } = job;
  const client = new OrreryClient({ url, key });
  const needs = needsOf(shape, size);
  const graph = noOpGraph(needs);
  const warmUp = noOpGraph(needsOf(shape, WARM_UP));
  const warmAt = performance.now() + warmUpMs;
  do await client.waitForRun((await client.submitRun(warmUp)).id);
  while (performance.now() < warmAt);
  /** @type {Once[]} */
  const found = [];
  const times = size > SMALL ? 1 : TIMES_SMALL;
  while (found.length < times) found.push(await once(client, graph, needs.length, job));
  const middle = (/** @type {keyof Once} */ name) => median(found.map((one) => one[name]));
  return {
    fingerprint: fingerprint(needs),
    count: needs.length,
    completed: Math.min(...found.map(({ completed }) => completed)),
    usPerTask: middle("usPerTask"),
    submitUs: middle("submitUs"),
    serverCpuUs: middle("serverCpuUs"),
    workersCpuUs: middle("workersCpuUs"),
    clientCpuUs: middle("clientCpuUs"),
    peakBytes: middle("peakBytes"),
    endBytes: middle("endBytes"),
  };
}

/** @typedef {Omit<GraphResult, "fingerprint" | "count">} Once */

/**
 * @param {OrreryClient} client
 * @param {Parameters<OrreryClient["submitRun"]>[0]} graph
 * @param {number} count
 * @param {GraphJob} job
 * @returns {Promise<Once>}
 */
async function once(client, graph, count, { server, workers }) {
  await sleep(REST_MS);
  forgetPeak(server);
  const cpu = () => [cpuMicrosOf([server]), cpuMicrosOf(workers), cpuMicrosOf([process.pid])];
  const [before, cpuBefore] = [residentBytes(server).now, cpu()];
  const startedAt = performance.now();
  const { id } = await client.submitRun(graph);
  const submittedAt = performance.now();
  const { counts } = await client.waitForRun(id);
  const endedAt = performance.now();
  const { now, peak } = residentBytes(server);
  const [serverCpuUs = 0, workersCpuUs = 0, clientCpuUs = 0] = cpu().map(
    (micros, at) => (micros - (cpuBefore[at] ?? 0)) / count,
  );
  return {
    completed: counts.completed ?? 0,
    usPerTask: ((endedAt - startedAt) * 1000) / count,
    submitUs: ((submittedAt - startedAt) * 1000) / count,
    serverCpuUs,
    workersCpuUs,
    clientCpuUs,
    peakBytes: (peak - before) / count,
    endBytes: (now - before) / count,
  };
}

endWhenTold(new Closers());
const result = await measure(/** @type {GraphJob} */ (JSON.parse(process.argv[2] ?? "")));
process.send?.(result, () => process.exit(0));
