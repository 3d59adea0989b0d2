// Programs that submit at an even pace, each to one of the servers, with nothing but OrreryClient and its own retries.

import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { OrreryClient } from "../../dist/client/index.js";
import { endWhenTold } from "../queue/apart.mjs";
import { Closers } from "../queue/closers.mjs";
import { payloadOf } from "../queue/tasks.mjs";

/**
 * @typedef {object} ClientsJob
 * @property {readonly string[]} urls
 * @property {string} key
 * @property {number} agents Spread over the servers; each submits under a name of its own.
 * @property {number} inFlight Of one agent; what is due beyond that waits, and its wait counts.
 * @property {number} perSecond Of all together.
 * @property {number} forMs
 * @property {string} ids Where to write those that were acknowledged, a line each.
 * @property {string} times Where to write when each was due, sent and answered: three 64-bit floats in a row.
 */

/** @typedef {{ at: number, server: string, code: string, status: number, detail: string }} Failed */

/**
 * @typedef {object} ClientsResult
 * @property {number} sent
 * @property {number} acknowledged
 * @property {readonly Failed[]} failed After all retries.
 * @property {Readonly<Record<string, number>>} retries By what they were made for.
 */

/** As long as the machine runs, and the same for all processes. */
const now = () => performance.timeOrigin + performance.now();

class Clients {
  /** @type {string[]} */
  ids = [];
  /** @type {number[]} */
  times = [];
  /** @type {Failed[]} */
  failed = [];
  /** @type {Record<string, number>} */
  retries = {};
  #job;
  #agents;

  /** @param {ClientsJob} job */
  constructor(job) {
    this.#job = job;
    this.#agents = Array.from({ length: job.agents }, (_, at) => this.#agentOf(at));
  }

  /** As many as were sent. */
  async submitAll() {
    const { perSecond, forMs } = this.#job;
    const startedAt = now();
    /** @type {Promise<void>[]} */
    const all = [];
    let sent = 0;
    for (let at = startedAt; at < startedAt + forMs; at = now()) {
      for (; sent < ((at - startedAt) * perSecond) / 1000; sent++) {
        const agent = this.#agents[sent % this.#agents.length];
        agent?.due.push({ number: sent, dueAt: startedAt + (sent * 1000) / perSecond });
        if (agent && agent.inFlight < this.#job.inFlight) all.push(this.#submitDue(agent));
      }
      await sleep(1);
    }
    await Promise.all(all);
    return sent;
  }

  /** @param {Agent} agent */
  async #submitDue(agent) {
    agent.inFlight++;
    for (let next = agent.due.shift(); next; next = agent.due.shift()) await this.#submit(agent, next);
    agent.inFlight--;
  }

  /**
   * @param {Agent} agent
   * @param {Due} due
   */
  async #submit({ client, url }, { number, dueAt }) {
    const sentAt = now();
    try {
      const { id } = await client.submit({ task_type: "noop", payload: payloadOf(number) });
      this.ids.push(id);
      this.times.push(dueAt, sentAt, now());
    } catch (error) {
      const { code, status, detail } = /** @type {import("../../dist/client/index.js").OrreryError} */ (
        error
      );
      if (code === undefined) throw error;
      this.failed.push({ at: now(), server: url, code, status, detail });
    }
  }

  /**
   * @param {number} at
   * @returns {Agent}
   */
  #agentOf(at) {
    const { urls, key } = this.#job;
    const url = urls[at % urls.length] ?? "";
    const client = new OrreryClient({
      url,
      key,
      agent: `agent-${at}`,
      onRetry: ({ code, status }) => {
        const why = status === 0 ? code : `${status} ${code}`;
        this.retries[why] = (this.retries[why] ?? 0) + 1;
      },
    });
    return { client, url, due: [], inFlight: 0 };
  }
}

/** @typedef {{ number: number, dueAt: number }} Due */
/** @typedef {{ client: OrreryClient, url: string, due: Due[], inFlight: number }} Agent */

endWhenTold(new Closers());
const job = /** @type {ClientsJob} */ (JSON.parse(process.argv[2] ?? ""));
const clients = new Clients(job);
const sent = await clients.submitAll();
writeFileSync(job.ids, clients.ids.map((id) => `${id}\n`).join(""));
writeFileSync(job.times, Float64Array.from(clients.times));
const { failed, retries } = clients;
/** @type {ClientsResult} */
const result = { sent, acknowledged: clients.ids.length, failed, retries };
process.send?.(result, () => process.exit(0));
