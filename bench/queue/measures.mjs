// What is measured of a system. Each measure opens the system anew, on an empty folder.

import { setTimeout as sleep } from "node:timers/promises";
import { quantile } from "../stats.mjs";
import { SYSTEMS } from "./systems.mjs";

/** @typedef {import("./closers.mjs").Closers} Closers */
/** @typedef {import("./system.mjs").Door} Door */
/** @typedef {import("./system.mjs").Queue} Queue */
/** @typedef {import("./system.mjs").System} System */

/**
 * @typedef {object} Figure
 * @property {string} case
 * @property {string} metric
 * @property {string} unit
 * @property {number} value
 */

/**
 * @typedef {object} SubmitJob
 * @property {"submit"} measure
 * @property {Door} door
 * @property {readonly number[]} inFlight In the order in which they are measured.
 * @property {number} warmUpMs
 * @property {number} forMs
 * @property {number} batch
 */

/**
 * @typedef {object} DrainJob
 * @property {"drain"} measure
 * @property {number} tasks
 * @property {number} agents
 * @property {number} slots
 */

/**
 * @typedef {object} LatencyJob
 * @property {"latency"} measure
 * @property {Door} door
 * @property {number} warmUp
 * @property {number} samples
 */

/** @typedef {{ measure: "claims" } & Omit<import("./system.mjs").ClaimJob, "folder">} ClaimsJob */

/** @typedef {{ measure: "start" }} StartJob */

/**
 * @typedef {object} MemoryJob
 * @property {"memory"} measure
 * @property {number} waiting
 */

/** @typedef {SubmitJob | DrainJob | LatencyJob | ClaimsJob | StartJob | MemoryJob} Task */
/** @typedef {Task & { system: string, folder: string }} Job */

/** What is submitted in one request where a backlog is made. */
const FILL = 10_000;
const SETTLE_MS = 500;

/**
 * @param {Job} job
 * @param {Closers} closers
 * @returns {Promise<Figure[]>}
 */
export function measure(job, closers) {
  const system = SYSTEMS.find(({ name }) => name === job.system);
  if (!system) throw new Error(`there is no system ${job.system}`);
  switch (job.measure) {
    case "submit":
      return measureSubmit(system, job, closers);
    case "drain":
      return measureDrain(system, job, closers);
    case "latency":
      return measureLatency(system, job, closers);
    case "claims":
      return measureClaims(system, job, closers);
    case "start":
      return measureStart(system, job, closers);
    case "memory":
      return measureMemory(system, job, closers);
  }
}

/**
 * @param {System} system
 * @param {SubmitJob & { folder: string }} job
 * @param {Closers} closers
 */
async function measureSubmit(system, { door, folder, inFlight, warmUpMs, forMs, batch }, closers) {
  const queue = await system.open({ door, folder }, closers);
  /** @type {Map<number, Rate>} */
  const rates = new Map();
  for (const width of inFlight) {
    await submitFor(queue, width, warmUpMs);
    rates.set(width, await submitFor(queue, width, forMs));
  }
  const perSecond = (/** @type {number} */ width) => rates.get(width)?.perSecond ?? Number.NaN;
  const inBatch = async () => {
    await queue.submitBatch(batch, "batch");
    return batch;
  };
  const inOne = `submit, ${door}, ${batch} in one request`;
  return [
    ...[...rates]
      .sort(([one], [other]) => one - other)
      .flatMap(([width, rate]) => rateFigures(`submit, ${door}, ${width} in flight`, "submissions", rate)),
    figure(`submit, ${door}, 16 in flight : 1 in flight`, "ratio", "times", perSecond(16) / perSecond(1)),
    // One request is as plain as another.
    ...(door === "plain http" ? [] : rateFigures(inOne, "submissions", await rateOf(queue, inBatch))),
  ];
}

/**
 * @typedef {object} Rate
 * @property {number} perSecond
 * @property {number} cpuMicros Of the process that holds the queue, for each.
 */

/**
 * @param {Queue} queue
 * @param {() => Promise<number>} work How many it has done.
 * @returns {Promise<Rate>}
 */
async function rateOf(queue, work) {
  const before = await queue.usage();
  const startedAt = performance.now();
  const count = await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const after = await queue.usage();
  return { perSecond: count / seconds, cpuMicros: (after.cpuMicros - before.cpuMicros) / count };
}

/**
 * @param {string} title
 * @param {string} what
 * @param {Rate} rate
 */
function rateFigures(title, what, { perSecond, cpuMicros }) {
  return [
    figure(title, what, "1/s", perSecond),
    figure(title, "CPU of the process for each", "µs", cpuMicros),
  ];
}

/**
 * Submissions per second, with so many at any time that are not yet durable.
 *
 * @param {Queue} queue
 * @param {number} inFlight
 * @param {number} forMs
 */
function submitFor(queue, inFlight, forMs) {
  return rateOf(queue, async () => {
    const startedAt = performance.now();
    let count = 0;
    await Promise.all(
      Array.from({ length: inFlight }, async () => {
        do {
          await queue.submit();
          count++;
        } while (performance.now() - startedAt < forMs);
      }),
    );
    return count;
  });
}

/**
 * @param {System} system
 * @param {DrainJob & { folder: string }} job
 * @param {Closers} closers
 */
async function measureDrain(system, { folder, tasks, agents, slots }, closers) {
  const queue = await system.open({ door: system.drainDoor, folder }, closers);
  const letGo = await queue.drainApart?.(tasks, slots);
  if (!letGo) throw new Error(`${system.name} has no worker of another process`);
  for (let agent = 0; agent < agents; agent++) {
    const count = Math.floor((tasks * (agent + 1)) / agents) - Math.floor((tasks * agent) / agents);
    await queue.submitBatch(count, `agent-${agent}`);
  }
  await sleep(SETTLE_MS);
  const rate = await rateOf(queue, async () => {
    await letGo();
    return tasks;
  });
  const title = `drain, ${tasks} tasks, ${slots} slots, ${system.drainsWith}`;
  return rateFigures(title, "tasks", rate);
}

/**
 * @param {System} system
 * @param {LatencyJob & { folder: string }} job
 * @param {Closers} closers
 */
async function measureLatency(system, { door, folder, warmUp, samples }, closers) {
  let begunAt = 0;
  const onStart = () => {
    begunAt = performance.now();
  };
  const queue = await system.open({ door, folder, onStart }, closers);
  /** @type {number[]} */
  const startMs = [];
  /** @type {number[]} */
  const resultMs = [];
  for (let at = -warmUp; at < samples; at++) {
    const calledAt = performance.now();
    await queue.result(await queue.submit());
    const endedAt = performance.now();
    if (at < 0) continue;
    startMs.push(begunAt - calledAt);
    resultMs.push(endedAt - calledAt);
  }
  return [
    ...spread(`one task at a time, ${door}, submit to handler`, startMs),
    ...spread(`one task at a time, ${door}, submit to result`, resultMs),
  ];
}

/**
 * @param {System} system
 * @param {ClaimsJob & { folder: string }} job
 * @param {Closers} closers
 */
async function measureClaims(system, job, closers) {
  const claims = (await system.claims?.(job, closers)) ?? [];
  return claims.flatMap(({ backlog, committedMs, arrivedMs }) => {
    const name = `claim, ${backlog} waiting${job.crowded ? ", 99% of one agent at its limit" : ""}`;
    return [
      figure(name, "free slot to commit, p50", "ms", quantile(committedMs, 0.5)),
      figure(name, "free slot to worker, p50", "ms", quantile(arrivedMs, 0.5)),
    ];
  });
}

/**
 * @param {System} system
 * @param {StartJob & { folder: string }} job
 * @param {Closers} closers
 */
async function measureStart(system, { folder }, closers) {
  /** @type {Figure[]} */
  const figures = [];
  for (const which of system.isKept ? ["cold", "again on the same data"] : ["cold"]) {
    const start = await system.start?.(folder, closers);
    await closers.closeAll();
    if (!start) break;
    figures.push(
      figure(`start, ${which}`, "ready", "ms", start.readyMs),
      figure(`start, ${which}`, "first task done", "ms", start.firstTaskMs),
    );
  }
  return figures;
}

/**
 * @param {System} system
 * @param {MemoryJob & { folder: string }} job
 * @param {Closers} closers
 */
async function measureMemory(system, { folder, waiting }, closers) {
  const queue = await system.open({ door: "http", folder }, closers);
  const { rssBytes: emptyBytes } = await queue.usage();
  for (let left = waiting; left > 0; left -= FILL) await queue.submitBatch(Math.min(left, FILL), "agent");
  await sleep(SETTLE_MS);
  const { rssBytes: fullBytes } = await queue.usage();
  const name = `${waiting} waiting`;
  const figures = [
    figure("none waiting", "server's memory", "MiB", emptyBytes / 2 ** 20),
    figure(name, "server's memory", "MiB", fullBytes / 2 ** 20),
  ];
  if (!system.isKept) return figures;
  await closers.closeAll();
  const startedAt = performance.now();
  const again = await system.open({ door: "http", folder }, closers);
  figures.push(figure(name, "restart to ready", "ms", performance.now() - startedAt));
  const { rssBytes: againBytes } = await again.usage();
  figures.push(figure(name, "server's memory after a restart", "MiB", againBytes / 2 ** 20));
  return figures;
}

/**
 * @param {string} title
 * @param {readonly number[]} values
 */
function spread(title, values) {
  return [
    figure(title, "p50", "ms", quantile(values, 0.5)),
    figure(title, "p95", "ms", quantile(values, 0.95)),
    figure(title, "p99", "ms", quantile(values, 0.99)),
  ];
}

/**
 * @param {string} title
 * @param {string} metric
 * @param {string} unit
 * @param {number} value
 * @returns {Figure}
 */
function figure(title, metric, unit, value) {
  return { case: title, metric, unit, value };
}
