// The databases, and who is measured on them now.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { lookForFault } from "../processes.mjs";
import { Apart } from "./apart.mjs";
import { Closers } from "./closers.mjs";
import { drainedBy } from "./measures/drain.mjs";
import { LEDGER } from "./measures/index.mjs";
import { startPostgres } from "./postgres.mjs";
import { startRedis } from "./redis.mjs";
import { isOurs } from "./system.mjs";
import { Turns } from "./turns.mjs";

/** @typedef {import("./child.mjs").Said} Said */
/** @typedef {import("./figure.mjs").Figure} Figure */
/** @typedef {import("./interruptible.mjs").Surroundings} Surroundings */
/** @typedef {import("./measures/index.mjs").Job} Job */
/** @typedef {import("./measures/index.mjs").Task} Task */
/** @typedef {import("./system.mjs").Place} Place */
/** @typedef {import("./system.mjs").System} System */

/** @typedef {{ system: System, figures: Figure[] } | { system: System, error: Error }} Measured */

const child = fileURLToPath(new URL("child.mjs", import.meta.url));

export class Stage {
  #surroundings;
  #postgres;

  /**
   * @param {Surroundings} surroundings
   * @param {Awaited<ReturnType<typeof startPostgres>>} postgres
   */
  constructor(surroundings, postgres) {
    this.#surroundings = surroundings;
    this.#postgres = postgres;
  }

  /** @param {Surroundings} surroundings */
  static async set(surroundings) {
    const { folder, closers, signal } = surroundings;
    const postgres = await startPostgres(join(folder, "postgres"), closers);
    signal.throwIfAborted();
    return new Stage(surroundings, postgres);
  }

  get settings() {
    return this.#postgres.settings;
  }

  /**
   * The same of all of them. They take turns, step by step: the machine is not the same for long, and who is measured
   * minutes after another may meet half of it.
   *
   * @param {readonly System[]} systems
   * @param {Task} task
   * @param {(system: System) => void} say Told before each turn.
   * @returns {Promise<Measured[]>}
   */
  async compare(systems, task, say) {
    const turns = new Turns();
    const measured = await Promise.all(
      systems.map(async (system) => {
        const take = (/** @type {() => Promise<Figure[] | undefined>} */ work) =>
          turns.take(async () => {
            this.#surroundings.signal.throwIfAborted();
            say(system);
            return await work();
          });
        try {
          return { system, figures: await this.#measure(system, task, take) };
        } catch (error) {
          return { system, error: /** @type {Error} */ (error) };
        }
      }),
    );
    this.#surroundings.signal.throwIfAborted();
    return measured;
  }

  /**
   * @param {System} system
   * @param {Task} task
   * @param {(work: () => Promise<Figure[] | undefined>) => Promise<Figure[] | undefined>} take
   */
  async #measure(system, task, take) {
    const { folder: parent, signal } = this.#surroundings;
    const folder = mkdtempSync(join(parent, "measure-"));
    const closers = new Closers();
    /** @type {Place} */
    let place = { url: "" };
    /** @type {Apart | undefined} */
    let apart;
    const stop = () => void apart?.[Symbol.asyncDispose]();
    signal.addEventListener("abort", stop);
    try {
      for (;;) {
        const figures = await take(async () => {
          if (!apart) {
            place = await this.#open(system, folder, closers);
            apart = new Apart(child, [JSON.stringify({ ...task, system: system.name, folder, place })]);
            await closers.use(Promise.resolve(apart));
          }
          apart.send("go");
          const { figures } = /** @type {Said} */ (await apart.message());
          if (figures && task.measure === "drain") await checkDrain(place, system, task, folder, signal);
          return figures;
        });
        if (figures) return figures;
      }
    } finally {
      signal.removeEventListener("abort", stop);
      await closers.closeAll();
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /**
   * A place of its own, with nothing in it.
   *
   * @param {System} system
   * @param {string} folder
   * @param {Closers} closers
   * @returns {Promise<Place>}
   */
  async #open({ keptIn, appendfsync = "always" }, folder, closers) {
    return keptIn === "postgresql"
      ? await closers.use(this.#postgres.openDatabase())
      : { url: await startRedis(join(folder, "redis"), appendfsync, closers) };
  }
}

/**
 * What was counted as completed must be so for others too, and Orrery's decisions must be those that it recorded.
 *
 * @param {Place} place
 * @param {System} system
 * @param {import("./measures/drain.mjs").DrainSizes} sizes
 * @param {string} folder
 * @param {AbortSignal} signal
 */
async function checkDrain(place, system, sizes, folder, signal) {
  const { backlog } = sizes;
  const tasks = drainedBy(sizes);
  const completed = await system.countCompleted(place, tasks + backlog);
  if (completed < tasks || (backlog === 0 && completed !== tasks)) {
    throw new Error(`${system.name} has completed ${completed} of ${tasks} tasks`);
  }
  if (!isOurs(system)) return;
  const fault = await lookForFault(join(folder, LEDGER), signal);
  if (fault !== undefined) throw new Error(`verify --redecide: ${fault}`);
}
