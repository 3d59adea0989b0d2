// A worker that ends one task at a time, and keeps the one by which the crowd is at its limit.

import { localCaller } from "../../dist/embedded/index.js";
import { taskOf } from "../queue/tasks.mjs";

/** @typedef {Pick<import("../../dist/worker/index.js").AttemptName, "task" | "attempt"> & { agent: string }} Given */
/** @typedef {import("../../dist/server/index.js").OpenService} OpenService */
/** @typedef {import("../../dist/server/index.js").WorkerSession} WorkerSession */

/**
 * @typedef {object} Claims
 * @property {readonly number[]} committedMs From a free slot to the committed assignment.
 * @property {readonly number[]} arrivedMs To its arrival at the worker, with the payload.
 */

export const ZONE = "default";
export const CROWD = "crowd";

export class OneByOne {
  #service;
  #session;
  #given;

  /**
   * @param {OpenService} service
   * @param {WorkerSession} session
   * @param {Inbox} given
   */
  constructor(service, session, given) {
    this.#service = service;
    this.#session = session;
    this.#given = given;
  }

  /** @param {OpenService} service */
  static async register(service) {
    const given = new Inbox();
    const registration = {
      protocol: /** @type {const} */ (1),
      id: "bench",
      session: "bench-session",
      types: ["noop"],
      executors: ["default"],
      cpu_millicores: 1000,
      memory_bytes: 2 ** 30,
      slots: 2,
    };
    const session = await service.gateway.register(
      localCaller(ZONE),
      registration,
      { attempts: [] },
      {
        assign: (assignments) => given.add(assignments.filter(({ agent }) => agent !== CROWD)),
        send: () => {},
        close: () => {},
      },
    );
    if ("refused" in session) throw new Error(session.message);
    return new OneByOne(service, session, given);
  }

  /**
   * @param {number} count
   * @returns {Promise<Claims>}
   */
  async claim(count) {
    /** @type {number[]} */
    const committedMs = [];
    /** @type {number[]} */
    const arrivedMs = [];
    for (let at = 0; at < count; at++) {
      const { task, attempt } = await this.#given.take();
      const freeAt = performance.now();
      // The turn that ends a task gives the slot away; its commit is that of the assignment.
      const [ack] = await this.#session.report([{ type: "finished", task, attempt, started_at: Date.now() }]);
      committedMs.push(performance.now() - freeAt);
      if (!ack?.accepted) throw new Error(`a report was refused: ${ack?.code}`);
      await this.#given.isFilled();
      arrivedMs.push(performance.now() - freeAt);
      // As many wait as before.
      await this.#service.api.submit(localCaller(ZONE, "replacement"), [taskOf(at)]);
    }
    return { committedMs, arrivedMs };
  }
}

/** What the worker was given and has not ended. */
class Inbox {
  /** @type {Given[]} */
  #given = [];
  /** @type {Set<string>} */
  #seen = new Set();
  #arrived = () => {};

  /**
   * An assignment may come twice.
   *
   * @param {readonly Given[]} given
   */
  add(given) {
    for (const one of given) {
      if (this.#seen.has(one.task)) continue;
      this.#seen.add(one.task);
      this.#given.push(one);
    }
    if (this.#given.length > 0) this.#arrived();
  }

  /** @returns {Promise<Given>} */
  async take() {
    await this.isFilled();
    return /** @type {Given} */ (this.#given.shift());
  }

  async isFilled() {
    while (this.#given.length === 0) {
      await new Promise((resolve) => {
        this.#arrived = () => resolve(undefined);
      });
    }
  }
}
