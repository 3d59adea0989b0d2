// How fast tasks are enqueued and drained, and how long one waits to be started: by Orrery and by other queues.
//
// All use one private PostgreSQL with the durability that it has by default, which is checked; one after the other,
// each with an empty database and a process of its own. The rounds go through all measures, and begin with another
// system each; a figure is the median of the rounds, with the least and the largest beside it. Client, worker and
// database share the machine. Rates of commits follow the disk, so its speed is measured in every round too.

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { lookForFault } from "./processes.mjs";
import { Apart } from "./queue/apart.mjs";
import { figure } from "./queue/figure.mjs";
import { Found } from "./queue/found.mjs";
import { interruptible } from "./queue/interruptible.mjs";
import { LEDGER } from "./queue/measures/index.mjs";
import { measureSync } from "./queue/noise.mjs";
import { outcomeOfQueues } from "./queue/outcome.mjs";
import { installPackages } from "./queue/packages.mjs";
import { startPostgres } from "./queue/postgres.mjs";
import { askRedis, startRedis, whyNoRedis } from "./queue/redis.mjs";
import { sizesFor } from "./queue/sizes.mjs";
import { SYSTEMS } from "./queue/systems/index.mjs";
import { rotated } from "./stats.mjs";

/** @typedef {import("./queue/figure.mjs").Figure} Figure */
/** @typedef {import("./queue/interruptible.mjs").Surroundings} Surroundings */
/** @typedef {import("./queue/measures/index.mjs").Task} Task */
/** @typedef {import("./queue/sizes.mjs").Sizes} Sizes */
/** @typedef {import("./queue/system.mjs").Place} Place */
/** @typedef {import("./queue/system.mjs").System} System */
/** @typedef {import("./report.mjs").Outcome} Outcome */
/** @typedef {import("./report.mjs").Setting} Setting */

/** @type {import("./report.mjs").Bench} */
export const queue = {
  name: "queue",
  summary:
    "enqueueing, draining and latency on PostgreSQL, and HTTP; peers: graphile-worker, pg-boss, BullMQ",
  systems: SYSTEMS.map(({ name }) => name),
  run: (setting) => interruptible((surroundings) => run(setting, surroundings)),
};

const child = fileURLToPath(new URL("queue/child.mjs", import.meta.url));
/** Of what is said in the results; all of it goes to the standard error. */
const MAX_REASON = 300;

/** @typedef {{ system: string, reason: string }} Skipped */

/**
 * @param {Setting} setting
 * @param {Surroundings} surroundings
 * @returns {Promise<Outcome>}
 */
async function run(setting, surroundings) {
  const sizes = sizesFor(setting);
  const { systems, skipped } = await present(setting);
  for (const { system, reason } of skipped) setting.say(`SKIPPED ${system}: ${reason}`);
  const found = new Found();
  /** @type {string[]} */
  const failures = [];
  const stage = await Stage.set(systems, surroundings);
  for (let round = 0; round < sizes.rounds; round++) {
    addSync(found, surroundings.folder, sizes.syncs);
    for (const [system, task] of roundOf(systems, sizes, round)) {
      if (skipped.some((one) => one.system === system.name)) continue;
      setting.say(`round ${round + 1} of ${sizes.rounds}: ${task.measure}, ${system.name}`);
      try {
        for (const one of await stage.measure(system, task)) found.add(system.name, one);
      } catch (error) {
        surroundings.signal.throwIfAborted();
        const reason = /** @type {Error} */ (error).message;
        skipped.push({ system: system.name, reason: reason.slice(0, MAX_REASON) });
        if (isOurs(system)) failures.push(reason);
        else setting.say(`FAILED ${system.name}: ${reason}`);
      }
    }
  }
  return outcomeOfQueues({ sizes, systems, skipped, failures, postgres: stage.settings, found });
}

/** @param {Setting} setting */
async function present({ only, say }) {
  const wanted = SYSTEMS.filter(({ name }) => only.length === 0 || only.includes(name));
  const peersMissing = wanted.every(isOurs) ? undefined : await installPackages(say);
  const whyMissing = (/** @type {System} */ system) =>
    isOurs(system) ? undefined : (peersMissing ?? (system.keptIn === "redis" ? whyNoRedis() : undefined));
  /** @type {Skipped[]} */
  const skipped = wanted.flatMap((system) => {
    const reason = whyMissing(system);
    return reason === undefined ? [] : [{ system: system.name, reason }];
  });
  return { systems: wanted.filter((system) => whyMissing(system) === undefined), skipped };
}

/** @param {System} system */
function isOurs({ packages }) {
  return packages.length === 0;
}

/**
 * What is compared is measured close together: the disk is not the same for long.
 *
 * @param {readonly System[]} systems
 * @param {Sizes} sizes
 * @param {number} round
 * @returns {[System, Task][]}
 */
function roundOf(systems, { submit, drains, latency, http }, round) {
  const inTurn = rotated(systems, round);
  const inFlight = (/** @type {System} */ { extraInFlight }) =>
    rotated([...submit.inFlight, ...extraInFlight], round);
  return [
    ...inTurn.map((one) => each(one, { measure: "submit", ...submit, inFlight: inFlight(one) })),
    ...drains.flatMap((drain) => inTurn.map((one) => each(one, { measure: "drain", ...drain }))),
    ...inTurn.map((one) => each(one, { measure: "latency", ...latency })),
    ...inTurn.filter(isOurs).map((one) => each(one, { measure: "http", ...http })),
  ];
}

/**
 * @param {System} system
 * @param {Task} task
 * @returns {[System, Task]}
 */
const each = (system, task) => [system, task];

/**
 * @param {Found} found
 * @param {string} folder
 * @param {number} syncs
 */
function addSync(found, folder, syncs) {
  const { p50, p95 } = measureSync(folder, syncs);
  found.add("disk", figure("fdatasync of 8 KiB", "p50", "ms", p50));
  found.add("disk", figure("fdatasync of 8 KiB", "p95", "ms", p95));
}

/** The databases, and who is measured on them now. */
class Stage {
  #surroundings;
  #postgres;
  #redisUrl;

  /**
   * @param {Surroundings} surroundings
   * @param {Awaited<ReturnType<typeof startPostgres>>} postgres
   * @param {string | undefined} redisUrl
   */
  constructor(surroundings, postgres, redisUrl) {
    this.#surroundings = surroundings;
    this.#postgres = postgres;
    this.#redisUrl = redisUrl;
  }

  /**
   * @param {readonly System[]} systems
   * @param {Surroundings} surroundings
   */
  static async set(systems, surroundings) {
    const { folder, closers, signal } = surroundings;
    const postgres = await startPostgres(join(folder, "postgres"), closers);
    signal.throwIfAborted();
    const needsRedis = systems.some(({ keptIn }) => keptIn === "redis");
    const redisUrl = needsRedis ? await startRedis(join(folder, "redis"), closers) : undefined;
    return new Stage(surroundings, postgres, redisUrl);
  }

  get settings() {
    return this.#postgres.settings;
  }

  /**
   * @param {System} system
   * @param {Task} task
   * @returns {Promise<Figure[]>}
   */
  async measure(system, task) {
    if (system.keptIn === "postgresql") {
      return await this.#postgres.withDatabase((url) => this.#measureAt({ url }, system, task));
    }
    const url = this.#redisUrl ?? "";
    await askRedis(url, "FLUSHALL");
    return await this.#measureAt({ url }, system, task);
  }

  /**
   * @param {Place} place
   * @param {System} system
   * @param {Task} task
   */
  async #measureAt(place, system, task) {
    const folder = join(this.#surroundings.folder, "measure");
    mkdirSync(folder);
    try {
      const figures = await measureApart(
        { ...task, system: system.name, folder, place },
        this.#surroundings.signal,
      );
      if (task.measure === "drain") await checkDrain(place, system, task, folder, this.#surroundings.signal);
      return figures;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

/**
 * @param {import("./queue/measures/index.mjs").Job} job
 * @param {AbortSignal} signal
 */
async function measureApart(job, signal) {
  signal.throwIfAborted();
  const apart = new Apart(child, [JSON.stringify(job)]);
  const stop = () => void apart[Symbol.asyncDispose]();
  signal.addEventListener("abort", stop);
  try {
    return /** @type {Figure[]} */ (await apart.message());
  } finally {
    signal.removeEventListener("abort", stop);
    await apart[Symbol.asyncDispose]();
  }
}

/**
 * What was counted as completed must be so for others too, and Orrery's decisions must be those that it recorded.
 *
 * @param {Place} place
 * @param {System} system
 * @param {import("./queue/measures/drain.mjs").DrainSizes} sizes
 * @param {string} folder
 * @param {AbortSignal} signal
 */
async function checkDrain(place, system, { warmUp, tasks: measured, times, backlog }, folder, signal) {
  const tasks = warmUp + times * measured;
  const completed = await system.countCompleted(place, tasks + backlog);
  if (completed < tasks || (backlog === 0 && completed !== tasks)) {
    throw new Error(`${system.name} has completed ${completed} of ${tasks} tasks`);
  }
  if (!isOurs(system)) return;
  const fault = await lookForFault(join(folder, LEDGER), signal);
  if (fault !== undefined) throw new Error(`verify --redecide: ${fault}`);
}
