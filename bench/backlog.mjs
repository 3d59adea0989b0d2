// How long a worker with a free slot waits for its next task while few or many wait, 99% of them of one agent that is
// at its limit.
//
// There is a scheduler for each length of the backlog, with a process and a database of its own on one private
// PostgreSQL. They claim in turn, some tasks each: the disk is not the same for long, and the lengths are compared.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Apart } from "./queue/apart.mjs";
import { interruptible } from "./queue/interruptible.mjs";
import { ask, startPostgres } from "./queue/postgres.mjs";
import { atMost, outcomeOf } from "./report.mjs";
import { quantile, rotated } from "./stats.mjs";

/** @typedef {import("./backlog/claims.mjs").Claims} Claims */
/** @typedef {import("./backlog/host.mjs").HostReady} HostReady */
/** @typedef {import("./queue/interruptible.mjs").Surroundings} Surroundings */
/** @typedef {import("./report.mjs").Outcome} Outcome */
/** @typedef {import("./report.mjs").Row} Row */
/** @typedef {import("./report.mjs").Setting} Setting */

/** @type {import("./report.mjs").Bench} */
export const backlog = {
  name: "backlog",
  summary: "from a free slot to the committed assignment with 10,000 to 1,000,000 waiting; memory of each",
  run: (setting) => interruptible((surroundings) => run(setting, surroundings)),
};

/** @typedef {"hrrn" | "classic"} Order */
/** @typedef {{ rounds: number, claims: number, warmUp: number, waiting: readonly number[], orders: readonly Order[] }} Sizes */

/** @type {Sizes} */
const STANDARD = {
  rounds: 20,
  claims: 50,
  warmUp: 300,
  waiting: [10_000, 100_000, 1_000_000],
  orders: ["hrrn"],
};
/** @type {Sizes} */
const FULL = { ...STANDARD, orders: ["hrrn", "classic"] };
/** @type {Sizes} */
const QUICK = { rounds: 2, claims: 10, warmUp: 20, waiting: [500, 5_000], orders: ["hrrn"] };

/** Between the longest backlog and the shortest. */
const MOST_GROWTH = 2;

const hostFile = fileURLToPath(new URL("backlog/host.mjs", import.meta.url));

/**
 * @param {Setting} setting
 * @param {Surroundings} surroundings
 * @returns {Promise<Outcome>}
 */
async function run({ quick, full, rounds, say }, surroundings) {
  const standard = quick ? QUICK : full ? FULL : STANDARD;
  const sizes = { ...standard, rounds: rounds ?? standard.rounds };
  const { folder, closers } = surroundings;
  const postgres = await startPostgres(join(folder, "postgres"), closers);
  /** @type {Row[]} */
  const rows = [];
  for (const order of sizes.orders) rows.push(...(await measure(order, sizes, postgres, surroundings, say)));
  const outcome = outcomeOf(rows, []);
  return { ...outcome, json: { settings: { ...sizes, postgres: postgres.settings }, ...outcome.json } };
}

/**
 * @param {Order} order
 * @param {Sizes} sizes
 * @param {Awaited<ReturnType<typeof startPostgres>>} postgres
 * @param {Surroundings} surroundings
 * @param {Setting["say"]} say
 * @returns {Promise<Row[]>}
 */
async function measure(order, { rounds, claims, warmUp, waiting }, postgres, { closers, signal }, say) {
  const hosts = [];
  for (const count of waiting) {
    say(`${order}: making ${count} wait`);
    const store = await postgres.createDatabase();
    hosts.push(await Host.start(JSON.stringify({ store, order, waiting: count }), count, closers, signal));
    // What the database does about so many new rows is done before anything is measured.
    await ask(store, "vacuum analyze");
  }
  for (const host of hosts) await host.claim(warmUp, false);
  for (let round = 0; round < rounds; round++) {
    say(`${order}: round ${round + 1} of ${rounds}`);
    for (const host of rotated(hosts, round)) await host.claim(claims, true);
  }
  for (const host of hosts) await host[Symbol.asyncDispose]();
  return rowsOf(order, hosts);
}

/** A scheduler, and what it was measured at. */
class Host {
  #apart;
  #signal;
  bytesEach = 0;
  /** @type {Claims[]} */
  rounds = [];

  /**
   * @param {Apart} apart
   * @param {number} waiting
   * @param {AbortSignal} signal
   */
  constructor(apart, waiting, signal) {
    this.#apart = apart;
    this.#signal = signal;
    this.waiting = waiting;
  }

  /**
   * @param {string} job
   * @param {number} waiting
   * @param {import("./queue/closers.mjs").Closers} closers
   * @param {AbortSignal} signal
   */
  static async start(job, waiting, closers, signal) {
    signal.throwIfAborted();
    const apart = await closers.use(
      Promise.resolve(new Apart(hostFile, [job], { execArgv: ["--expose-gc"] })),
    );
    const host = new Host(apart, waiting, signal);
    host.bytesEach = /** @type {HostReady} */ (await host.#message()).bytesEach;
    return host;
  }

  /**
   * @param {number} count
   * @param {boolean} isKept
   */
  async claim(count, isKept) {
    this.#apart.send(count);
    const claims = /** @type {Claims} */ (await this.#message());
    if (isKept) this.rounds.push(claims);
  }

  async #message() {
    const stop = () => void this[Symbol.asyncDispose]();
    this.#signal.addEventListener("abort", stop);
    try {
      this.#signal.throwIfAborted();
      return await this.#apart.message();
    } finally {
      this.#signal.removeEventListener("abort", stop);
    }
  }

  [Symbol.asyncDispose]() {
    return this.#apart[Symbol.asyncDispose]();
  }
}

/**
 * @param {Order} order
 * @param {readonly Host[]} hosts From the shortest backlog to the longest.
 * @returns {Row[]}
 */
function rowsOf(order, hosts) {
  const [shortest, longest] = [hosts[0], hosts.at(-1)];
  if (!shortest || !longest) return [];
  const name = `${order}, ${longest.waiting} : ${shortest.waiting} waiting`;
  return [
    ...hosts.flatMap((host) => [
      ...SHARES.map((share) => quantileRow(order, host, "committedMs", share)),
      quantileRow(order, host, "arrivedMs", 0.5),
      { case: titleOf(order, host), metric: "memory for each", unit: "bytes", value: host.bytesEach },
    ]),
    ...SHARES.map((share) => ({
      case: name,
      metric: `free slot to commit, ${nameOf(share)}`,
      unit: "times",
      ...atMost(
        quantileRow(order, longest, "committedMs", share).value /
          quantileRow(order, shortest, "committedMs", share).value,
        MOST_GROWTH,
      ),
    })),
  ];
}

const SHARES = [0.5, 0.99];

/**
 * @param {Order} order
 * @param {Host} host
 * @param {"committedMs" | "arrivedMs"} which
 * @param {number} share
 * @returns {Row}
 */
function quantileRow(order, host, which, share) {
  const ofRounds = host.rounds.map((claims) => quantile(claims[which], share));
  return {
    case: titleOf(order, host),
    metric: `free slot to ${which === "committedMs" ? "commit" : "worker"}, ${nameOf(share)}`,
    unit: "ms",
    value: quantile(
      host.rounds.flatMap((claims) => claims[which]),
      share,
    ),
    min: Math.min(...ofRounds),
    max: Math.max(...ofRounds),
  };
}

/** @param {number} share */
const nameOf = (share) => `p${share * 100}`;

/**
 * @param {Order} order
 * @param {{ waiting: number }} host
 */
const titleOf = (order, { waiting }) => `${order}, ${waiting} waiting, 99% of one agent at its limit`;
