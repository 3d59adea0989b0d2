// A server and workers as `orrery serve` and `orrery worker` start them, each a process of its own.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { OrreryClient } from "../../dist/client/index.js";
import { Apart } from "../queue/apart.mjs";
import { Closers } from "../queue/closers.mjs";

/**
 * @typedef {object} FleetOptions
 * @property {number} workers With one slot each.
 * @property {string} [store] A URL of PostgreSQL; memory by default.
 * @property {string} [tasks] A file of tasks.
 * @property {readonly string[]} [serve] Further options of the server.
 */

/**
 * @typedef {object} Fleet
 * @property {string} url
 * @property {string} key
 * @property {OrreryClient} client
 * @property {Apart} server
 * @property {readonly Apart[]} workers
 * @property {Closers} closers Closed before the server and the workers.
 */

/** What is measured: nobody is kept from running all at once, and no worker waits for its next task. */
export const SERVE = ["--prefetch", "32", "--fair-share", "1000000"];
const READY_WITHIN_MS = 60_000;

const cli = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const withParent = new URL("../soak/with-parent.mjs", import.meta.url).href;
const atRest = new URL("at-rest.mjs", import.meta.url).href;

/**
 * Ended afterwards, however the work ends.
 *
 * @template Result
 * @param {FleetOptions} options
 * @param {AbortSignal} signal
 * @param {(fleet: Fleet) => Promise<Result>} work
 * @returns {Promise<Result>}
 */
export async function withFleet(options, signal, work) {
  signal.throwIfAborted();
  const closers = new Closers();
  // What waits for a process that is gone would never hear of it.
  const over = new AbortController();
  /** @type {Promise<never>} */
  const whenStopped = new Promise((_, reject) => {
    const stop = () => {
      void closers.closeAll();
      reject(/** @type {Error} */ (signal.reason));
    };
    signal.addEventListener("abort", stop, { signal: over.signal });
  });
  try {
    return await Promise.race([start(options, closers).then(work), whenStopped]);
  } finally {
    over.abort();
    await closers.closeAll();
    signal.throwIfAborted();
  }
}

/**
 * @param {FleetOptions} options
 * @param {Closers} closers
 * @returns {Promise<Fleet>}
 */
async function start({ workers: count, store = "memory", tasks, serve = [] }, closers) {
  const key = `sk-bench-${randomUUID()}`;
  const env = { ORRERY_API_KEY: key };
  const where = ["--store", store, "--port", "0", "--json", "--log-level", "warn"];
  const server = new Apart(cli, ["serve", ...where, ...SERVE, ...serve], {
    execArgv: ["--import", withParent],
    env,
  });
  await closers.use(Promise.resolve(server));
  const { url } = /** @type {{ url: string }} */ (await server.printed());
  const execArgv = ["--expose-gc", "--import", withParent, "--import", atRest];
  const args = ["worker", "--server", url, "--slots", "1", "--quiet", ...(tasks ? ["--tasks", tasks] : [])];
  const workers = Array.from(
    { length: count },
    (_, at) => new Apart(cli, [...args, "--id", `worker-${at}`], { execArgv, env }),
  );
  for (const worker of workers) await closers.use(Promise.resolve(worker));
  const client = new OrreryClient({ url, key });
  await untilThere(client, workers);
  return { url, key, client, server, workers, closers };
}

/**
 * @param {OrreryClient} client
 * @param {readonly Apart[]} workers
 */
async function untilThere(client, workers) {
  for (const until = Date.now() + READY_WITHIN_MS; Date.now() < until; await sleep(50))
    if ((await client.workers()).length === workers.length) return;
  throw new Error(`no workers within ${READY_WITHIN_MS} ms: ${workers.map(({ said }) => said).join("\n")}`);
}
