// How long a server takes to start, as a user starts it with a private PostgreSQL: from the command to its announcement,
// and to the result of a first task by a worker that connects then.

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { OrreryClient } from "../dist/client/index.js";
import { task, WebSocketTransport, Worker } from "../dist/worker/index.js";
import { Apart } from "./queue/apart.mjs";
import { Closers } from "./queue/closers.mjs";
import { interruptible } from "./queue/interruptible.mjs";
import { outcomeOf } from "./report.mjs";
import { median } from "./stats.mjs";

/** @typedef {import("./queue/interruptible.mjs").Surroundings} Surroundings */
/** @typedef {import("./report.mjs").Setting} Setting */

/** @type {import("./report.mjs").Bench} */
export const start = {
  name: "start",
  summary:
    "from the command that starts a server to its announcement and to the first result; cold, and again",
  run: (setting) => interruptible((surroundings) => run(setting, surroundings)),
};

const ROUNDS = 5;
const cli = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

/**
 * @param {Setting} setting
 * @param {Surroundings} surroundings
 */
async function run({ quick, rounds = quick ? 1 : ROUNDS, say }, { folder, signal }) {
  /** @type {Map<string, number[]>} */
  const found = new Map();
  for (let round = 0; round < rounds; round++) {
    const dataDir = join(folder, String(round));
    // A second start on the same data knows the key.
    const key = `sk-bench-${randomUUID()}`;
    for (const which of ["cold", "again on the same data"]) {
      say(`round ${round + 1} of ${rounds}: ${which}`);
      const { readyMs, firstTaskMs } = await measureStart(dataDir, key, signal);
      found.set(`${which}, ready`, [...(found.get(`${which}, ready`) ?? []), readyMs]);
      found.set(`${which}, first result`, [...(found.get(`${which}, first result`) ?? []), firstTaskMs]);
    }
  }
  const rows = [...found].map(([title, values]) => ({
    case: "start",
    metric: title,
    unit: "ms",
    value: median(values),
    min: Math.min(...values),
    max: Math.max(...values),
  }));
  return outcomeOf(rows, []);
}

/**
 * @param {string} dataDir
 * @param {string} key
 * @param {AbortSignal} signal
 */
async function measureStart(dataDir, key, signal) {
  signal.throwIfAborted();
  const closers = new Closers();
  const stop = () => void closers.closeAll();
  signal.addEventListener("abort", stop);
  try {
    const startedAt = performance.now();
    const args = ["serve", "--json", "--port", "0", "--data", dataDir];
    const server = new Apart(cli, args, { env: { ORRERY_API_KEY: key } });
    await closers.use(Promise.resolve(server));
    const { url, store } = /** @type {{ url: string, store: string }} */ (await server.printed());
    const readyMs = performance.now() - startedAt;
    if (store.startsWith("memory")) throw new Error(`this is not what should be measured: ${store}`);
    await closers.use(Promise.resolve(startWorker(url, key)));
    await new OrreryClient({ url, key }).submitAndWait({ task_type: "noop" });
    return { readyMs, firstTaskMs: performance.now() - startedAt };
  } finally {
    signal.removeEventListener("abort", stop);
    await closers.closeAll();
    signal.throwIfAborted();
  }
}

/**
 * @param {string} url
 * @param {string} key
 * @returns {AsyncDisposable}
 */
function startWorker(url, key) {
  const worker = new Worker({
    transport: new WebSocketTransport({ url, key }),
    handlers: { noop: task(() => undefined) },
    registration: {
      id: "bench",
      executors: ["default"],
      cpu_millicores: 1000,
      memory_bytes: 2 ** 30,
      slots: 1,
    },
  });
  const ended = worker.run();
  return {
    async [Symbol.asyncDispose]() {
      worker.drain();
      await ended;
    },
  };
}
