// Two servers on one PostgreSQL and a worker at each, all started as a user starts them.

import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Apart } from "../queue/apart.mjs";

/** @typedef {import("../queue/closers.mjs").Closers} Closers */

/**
 * @typedef {object} Restart
 * @property {string} server
 * @property {number} from Milliseconds of the epoch.
 * @property {number} to
 * @property {number | string | null} ended Its exit code, or the signal that ended it.
 * @property {number} stopMs From SIGTERM to its end.
 * @property {number} startMs From the command to the answer that it is ready.
 * @property {string} role What it is then.
 */

/** @typedef {{ name: string, process: Apart }} Named */

const READY_WITHIN_MS = 60_000;
const SLOTS = 64;

const cli = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const withParent = new URL("with-parent.mjs", import.meta.url).href;

export class Pair {
  #store;
  #key;
  #closers;
  #signal;
  /** @type {(Named & { url: string, port: number })[]} */
  #servers = [];
  /** @type {Named[]} */
  #workers = [];

  /**
   * @param {{ store: string, key: string }} access
   * @param {{ closers: Closers, signal: AbortSignal }} surroundings
   */
  constructor({ store, key }, { closers, signal }) {
    this.#store = store;
    this.#key = key;
    this.#closers = closers;
    this.#signal = signal;
  }

  /** The first one leads. */
  async start() {
    for (const name of ["A", "B"]) {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}`;
      const process = await this.#serve(port, url);
      this.#servers.push({ name: `server ${name}`, url, port, process });
      await this.#ready(url);
    }
    for (const { name, url } of this.#servers) {
      const process = await this.#started(["worker", "--server", url, "--slots", String(SLOTS), "--quiet"]);
      this.#workers.push({ name: name.replace("server", "worker"), process });
    }
  }

  get urls() {
    return this.#servers.map(({ url }) => url);
  }

  get processes() {
    return [...this.#servers, ...this.#workers];
  }

  /**
   * One after the other, each only when the one before is ready again.
   *
   * @param {(restart: Restart) => void} told
   */
  async restartAll(told) {
    for (const server of this.#servers) {
      const from = Date.now();
      const ended = await server.process.stopped();
      const stopMs = Date.now() - from;
      server.process = await this.#serve(server.port, server.url);
      const { role } = await this.#ready(server.url);
      const to = Date.now();
      told({ server: server.name, from, to, ended, stopMs, startMs: to - from - stopMs, role });
    }
  }

  /** How each of them ended. */
  async stop() {
    /** @type {{ name: string, ended: number | string | null, said: string }[]} */
    const all = [];
    for (const { name, process } of [...this.#workers, ...this.#servers])
      all.push({ name, ended: await process.stopped(), said: process.said });
    return all;
  }

  /**
   * @param {number} port
   * @param {string} url
   */
  #serve(port, url) {
    const where = ["--port", String(port), "--strict-port", "--advertise", url];
    return this.#started(["serve", "--store", this.#store, ...where, "--log-level", "warn"]);
  }

  /** @param {readonly string[]} args */
  #started(args) {
    this.#signal.throwIfAborted();
    const options = { execArgv: ["--import", withParent], env: { ORRERY_API_KEY: this.#key } };
    const started = new Apart(cli, args, options);
    // Without being asked: a worker whose server is away would wait for it to hand in what it has done.
    this.#signal.addEventListener("abort", () => void started.killed());
    return this.#closers.use(Promise.resolve(started));
  }

  /**
   * @param {string} url
   * @returns {Promise<{ role: string }>}
   */
  async #ready(url) {
    for (const until = Date.now() + READY_WITHIN_MS; Date.now() < until; ) {
      const signal = AbortSignal.timeout(5_000);
      const headers = { authorization: `Bearer ${this.#key}` };
      const answer = await fetch(`${url}/readyz`, { signal, headers }).catch(() => undefined);
      if (answer?.ok) return /** @type {{ role: string }} */ (await answer.json());
      await sleep(50, undefined, { signal: this.#signal });
    }
    throw new Error(`${url} is not ready within ${READY_WITHIN_MS} ms`);
  }
}

/** It stays the same over a restart. */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  server.close();
  await once(server, "close");
  return port;
}
