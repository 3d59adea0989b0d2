// A scheduler with a backlog, in a process of its own. Says what it holds in memory, and claims as often as it is told.

import { localCaller } from "../../dist/embedded/index.js";
import { openService } from "../../dist/server/index.js";
import { openServiceStore } from "../../dist/store/index.js";
import { endWhenTold } from "../queue/apart.mjs";
import { Closers } from "../queue/closers.mjs";
import { taskOf } from "../queue/tasks.mjs";
import { warn } from "../queue/warn.mjs";
import { CROWD, OneByOne, ZONE } from "./claims.mjs";

/** @typedef {import("../../dist/server/index.js").Api} Api */

/**
 * @typedef {object} HostJob
 * @property {string} store
 * @property {"hrrn" | "classic"} order
 * @property {number} waiting
 */

/** @typedef {{ bytesEach: number }} HostReady */

const AGENTS = 10;
const BATCH = 10_000;
const CROWD_SHARE = 0.99;
const HOUR_MS = 3_600_000;

const closers = new Closers();
endWhenTold(closers);
const { store, order, waiting } = /** @type {HostJob} */ (JSON.parse(process.argv[2] ?? ""));
const opened = await closers.use(openServiceStore({ store, dataDir: "", warn }));
const service = await closers.use(
  openService({
    store: opened.store,
    // Nothing in advance: each claim is for a slot that has just become free.
    settings: {
      config: { order, fairShare: 1_000_000, backlogLimit: 10_000_000, maxQueuePerWorker: 0 },
      leaseMs: HOUR_MS,
    },
    warn,
    onFailed: (error) => {
      process.stderr.write(`${error.stack}\n`);
      process.exit(1);
    },
  }),
);
await service.api.setAgentLimit(localCaller(ZONE), CROWD, { maxConcurrent: 1, rate: undefined });
const emptyBytes = heldBytes();
await fill(service.api, waiting);
const bytesEach = (heldBytes() - emptyBytes) / waiting;
const worker = await OneByOne.register(service);
process.on("message", (count) => {
  void worker.claim(Number(count)).then((claims) => process.send?.(claims));
});
process.send?.({ bytesEach });

/**
 * @param {Api} api
 * @param {number} count
 */
async function fill(api, count) {
  const ofCrowd = Math.floor(count * CROWD_SHARE);
  await fillFor(api, CROWD, ofCrowd);
  for (let agent = 0; agent < AGENTS; agent++) {
    await fillFor(api, `agent-${agent}`, Math.ceil((count - ofCrowd) / AGENTS));
  }
}

/**
 * @param {Api} api
 * @param {string} agent
 * @param {number} count
 */
async function fillFor(api, agent, count) {
  for (let left = count; left > 0; left -= BATCH) {
    const batch = Array.from({ length: Math.min(left, BATCH) }, (_, at) => taskOf(at));
    await api.submit(localCaller(ZONE, agent), batch);
  }
}

function heldBytes() {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
