// How long a worker with a free slot waits for its next task while many wait.

import { localCaller } from "../../dist/embedded/index.js";
import { openService } from "../../dist/server/index.js";
import { openServiceStore } from "../../dist/store/index.js";
import { warn } from "./warn.mjs";

/** @typedef {import("../../dist/server/index.js").TaskSubmission} TaskSubmission */
/** @typedef {Pick<import("../../dist/worker/index.js").AttemptName, "task" | "attempt"> & { agent: string }} Given */
/** @typedef {import("./closers.mjs").Closers} Closers */
/** @typedef {import("./system.mjs").Claim} Claim */
/** @typedef {import("./system.mjs").ClaimJob} ClaimJob */

const ZONE = "default";
const CROWD = "crowd";
const AGENTS = 10;
const BATCH = 10_000;
const ESTIMATES_MS = [1_000, 5_000, 30_000, 120_000, 600_000];
const HOUR_MS = 3_600_000;

/**
 * @param {{ store?: string }} stored
 * @param {ClaimJob} job
 * @param {Closers} closers
 * @returns {Promise<Claim[]>}
 */
export async function measureClaims(stored, { folder, backlogs, crowded, warmUp, samples }, closers) {
  const opened = await closers.use(openServiceStore({ ...stored, dataDir: folder, warn }));
  const service = await closers.use(
    openService({
      store: opened.store,
      // Nothing in advance: each claim is for a slot that has just become free.
      settings: {
        config: { fairShare: 1_000_000, backlogLimit: 10_000_000, maxQueuePerWorker: 0 },
        leaseMs: HOUR_MS,
      },
      warn,
      onFailed: (error) => process.stderr.write(`${error.stack}\n`),
    }),
  );
  if (crowded) await service.api.setAgentLimit(localCaller(ZONE), CROWD, 1);
  /** @type {Bench | undefined} */
  let bench;
  /** @type {Claim[]} */
  const claims = [];
  let waiting = 0;
  for (const backlog of backlogs) {
    await fill(service.api, backlog - waiting, crowded);
    waiting = backlog;
    bench ??= await Bench.register(service, crowded);
    claims.push({ backlog, ...(await bench.claim(warmUp, samples)) });
  }
  return claims;
}

/** A worker that ends one task at a time, and keeps the one by which the crowd is at its limit. */
class Bench {
  #service;
  /** @type {import("../../dist/server/index.js").WorkerSession | undefined} */
  #session;
  /** @type {Given[]} */
  #given = [];
  #arrived = () => {};

  /** @param {import("../../dist/server/index.js").OpenService} service */
  constructor(service) {
    this.#service = service;
  }

  /**
   * @param {import("../../dist/server/index.js").OpenService} service
   * @param {boolean} crowded
   */
  static async register(service, crowded) {
    const bench = new Bench(service);
    const registration = {
      protocol: /** @type {const} */ (1),
      id: "bench",
      session: "bench-session",
      types: ["noop"],
      executors: ["default"],
      cpu_millicores: 1000,
      memory_bytes: 2 ** 30,
      slots: crowded ? 2 : 1,
    };
    const session = await service.gateway.register(
      localCaller(ZONE),
      registration,
      { attempts: [] },
      {
        send: (message) => {
          if (message.type !== "assign") return;
          bench.#given.push(...message.assignments.filter(({ agent }) => agent !== CROWD));
          bench.#arrived();
        },
        close: () => {},
      },
    );
    if ("refused" in session) throw new Error(session.message);
    bench.#session = session;
    return bench;
  }

  /**
   * @param {number} warmUp
   * @param {number} samples
   */
  async claim(warmUp, samples) {
    const session = this.#session;
    if (!session) throw new Error("the worker is not registered");
    /** @type {number[]} */
    const committedMs = [];
    /** @type {number[]} */
    const arrivedMs = [];
    for (let at = -warmUp; at < samples; at++) {
      const { task, attempt } = await this.#next();
      const freeAt = performance.now();
      // The turn that ends a task gives the slot away; its commit is that of the assignment.
      const ack = await session.report({ type: "finished", task, attempt, started_at: Date.now() });
      const committed = performance.now() - freeAt;
      if (!ack.accepted) throw new Error(`a report was refused: ${ack.code}`);
      await this.#untilGiven();
      const arrived = performance.now() - freeAt;
      if (at >= 0) {
        committedMs.push(committed);
        arrivedMs.push(arrived);
      }
      // As many wait as before.
      await this.#service.api.submit(localCaller(ZONE, "replacement"), [taskOf(Math.abs(at))]);
    }
    return { committedMs, arrivedMs };
  }

  async #next() {
    await this.#untilGiven();
    return /** @type {Given} */ (this.#given.shift());
  }

  async #untilGiven() {
    while (this.#given.length === 0) {
      await new Promise((resolve) => {
        this.#arrived = () => resolve(undefined);
      });
    }
  }
}

/**
 * @param {import("../../dist/server/index.js").Api} api
 * @param {number} count
 * @param {boolean} crowded
 */
async function fill(api, count, crowded) {
  const ofCrowd = crowded ? Math.floor(count * 0.99) : 0;
  await fillFor(api, CROWD, ofCrowd);
  for (let agent = 0; agent < AGENTS; agent++) {
    await fillFor(api, `agent-${agent}`, Math.ceil((count - ofCrowd) / AGENTS));
  }
}

/**
 * @param {import("../../dist/server/index.js").Api} api
 * @param {string} agent
 * @param {number} count
 */
async function fillFor(api, agent, count) {
  for (let left = count; left > 0; left -= BATCH) {
    const batch = Array.from({ length: Math.min(left, BATCH) }, (_, at) => taskOf(at));
    await api.submit(localCaller(ZONE, agent), batch);
  }
}

/**
 * @param {number} number
 * @returns {TaskSubmission}
 */
export function taskOf(number) {
  return {
    executor: "default",
    type: "noop",
    payload: JSON.stringify({ n: number }),
    priority: 2,
    requestState: "pending",
    estimateMs: ESTIMATES_MS[number % ESTIMATES_MS.length] ?? 1_000,
    boostMicros: 0,
    deadline: -1,
    runAt: -1,
    idempotencyKey: undefined,
    bodyHash: "",
    cpuMillicores: 0,
    memoryBytes: 0,
    capabilities: [],
    limits: [],
    maxAttempts: 3,
    backoffMs: 1_000,
    timeoutMs: 0,
  };
}
