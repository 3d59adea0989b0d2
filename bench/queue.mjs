// How fast tasks are enqueued and drained, and how long one waits to be started: by Orrery and by other queues.
//
// All use one private PostgreSQL with the durability that it has by default, which is checked; in turn, each with a
// database and a process of its own. The rounds go through all measures, and begin with another system each; a figure
// is the median of the rounds, with the least and the largest beside it. Client, worker and database share the
// machine. Rates of commits follow the disk, so its speed is measured in every round too.

import { figure } from "./queue/figure.mjs";
import { Found } from "./queue/found.mjs";
import { interruptible } from "./queue/interruptible.mjs";
import { measureSync } from "./queue/noise.mjs";
import { outcomeOfQueues } from "./queue/outcome.mjs";
import { installPackages } from "./queue/packages.mjs";
import { whyNoRedis } from "./queue/redis.mjs";
import { sizesFor } from "./queue/sizes.mjs";
import { Stage } from "./queue/stage.mjs";
import { isOurs } from "./queue/system.mjs";
import { SYSTEMS } from "./queue/systems/index.mjs";
import { rotated } from "./stats.mjs";

/** @typedef {import("./queue/interruptible.mjs").Surroundings} Surroundings */
/** @typedef {import("./queue/measures/index.mjs").Task} Task */
/** @typedef {import("./queue/sizes.mjs").Sizes} Sizes */
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
  const stage = await Stage.set(surroundings);
  for (let round = 0; round < sizes.rounds; round++) {
    addSync(found, surroundings.folder, sizes.syncs);
    for (const [compared, task] of roundOf(systems, sizes, round)) {
      const present = compared.filter(({ name }) => !skipped.some(({ system }) => system === name));
      const say = (/** @type {System} */ { name }) =>
        setting.say(`round ${round + 1} of ${sizes.rounds}: ${task.measure}, ${name}`);
      for (const measured of await stage.compare(present, task, say)) {
        const { system } = measured;
        if ("figures" in measured) for (const one of measured.figures) found.add(system.name, one);
        else {
          const { message } = measured.error;
          skipped.push({ system: system.name, reason: message.slice(0, MAX_REASON) });
          if (isOurs(system)) failures.push(message);
          else setting.say(`FAILED ${system.name}: ${message}`);
        }
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

/**
 * What is measured, and of whom.
 *
 * @param {readonly System[]} systems
 * @param {Sizes} sizes
 * @param {number} round
 * @returns {[readonly System[], Task][]}
 */
function roundOf(systems, { submit, drains, latency, http }, round) {
  const inTurn = rotated(systems, round);
  return [
    [inTurn, { measure: "submit", ...submit, inFlight: rotated(submit.inFlight, round) }],
    ...drains.map(
      (drain) => /** @type {[readonly System[], Task]} */ ([inTurn, { measure: "drain", ...drain }]),
    ),
    [inTurn, { measure: "latency", ...latency }],
    [inTurn.filter(isOurs), { measure: "http", ...http }],
  ];
}

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
