// Orrery as the benchmark of queues meets it: through the library's door, and over HTTP.

import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { fileURLToPath } from "node:url";
import { OrreryClient } from "../../dist/client/index.js";
import { localCaller, open } from "../../dist/embedded/index.js";
import { task, WebSocketTransport, Worker } from "../../dist/worker/index.js";
import { Apart } from "./apart.mjs";
import { measureClaims, taskOf } from "./claims.mjs";
import { usageOfThis } from "./usage.mjs";
import { warn } from "./warn.mjs";

/** @typedef {import("./closers.mjs").Closers} Closers */
/** @typedef {import("./system.mjs").OpenOptions} OpenOptions */
/** @typedef {import("./system.mjs").Queue} Queue */
/** @typedef {import("./system.mjs").System} System */

/** How many tasks the worker has beside those that it runs: enough for the time that a commit takes. */
const PREFETCH = 1_000;
const ZONE = "default";
/** A second start on the same data knows it. */
const key = `sk-bench-${randomUUID()}`;
const ESTIMATES_S = [1, 5, 30, 120, 600];

/** No agent is held back, and nothing is refused. */
const config = { fairShare: 1_000_000, backlogLimit: 10_000_000, maxQueuePerWorker: PREFETCH };

const serverFile = fileURLToPath(new URL("server.mjs", import.meta.url));
const workerFile = fileURLToPath(new URL("worker.mjs", import.meta.url));
const cli = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** @type {System} */
export const onPostgres = orrery("Orrery on PostgreSQL", undefined);
/** @type {System} */
export const inMemory = orrery("Orrery in memory", "memory");

/**
 * @param {string} name
 * @param {"memory" | undefined} store Undefined: a PostgreSQL of its own.
 * @returns {System}
 */
function orrery(name, store) {
  const stored = store === undefined ? {} : { store };
  return {
    name,
    submitDoors: ["library", "http", "plain http"],
    latencyDoors: ["library", "http"],
    drainDoor: "http",
    drainsWith: `prefetch ${PREFETCH}`,
    isKept: store === undefined,
    open: (options, closers) =>
      options.door === "library"
        ? openLibrary(stored, options, closers)
        : openServer(stored, options, closers),
    claims: (job, closers) => measureClaims(stored, job, closers),
    start: (folder, closers) => measureStart(stored, folder, closers),
  };
}

/**
 * @param {{ store?: string }} stored
 * @param {OpenOptions} options
 * @param {Closers} closers
 * @returns {Promise<Queue>}
 */
async function openLibrary(stored, { folder, onStart }, closers) {
  const library = await closers.use(
    open({
      ...stored,
      dataDir: folder,
      settings: { config },
      ...(onStart && { tasks: { noop: task(onStart) } }),
      warn,
    }),
  );
  let count = 0;
  return {
    submit: () => library.submit("noop", { n: count++ }),
    async submitBatch(size, agent) {
      const batch = Array.from({ length: size }, (_, at) => taskOf(at));
      const answers = await library.api.submit(localCaller(ZONE, agent), batch);
      if (!answers.every(({ accepted }) => accepted)) throw new Error("a submission was refused");
    },
    async result(id) {
      await library.result(id);
    },
    usage: async () => usageOfThis(),
  };
}

/**
 * @param {{ store?: string }} stored
 * @param {OpenOptions} options
 * @param {Closers} closers
 * @returns {Promise<Queue>}
 */
async function openServer(stored, { door, folder, onStart }, closers) {
  const job = { ...stored, dataDir: folder, key, config };
  const server = await closers.use(Promise.resolve(new Apart(serverFile, [JSON.stringify(job)])));
  const url = String(await server.message());
  const client = new OrreryClient({ url, key });
  if (onStart) await startWorker(url, onStart, closers);
  const plain = new PlainRequests(`${url}/api/v2/scheduler/submit`);
  await closers.use(Promise.resolve(plain));
  let count = 0;
  return {
    async submit() {
      const submission = { task_type: "noop", payload: { n: count++ } };
      if (door === "plain http") return await plain.submit(submission);
      const { id } = await client.submit(submission);
      return id;
    },
    async submitBatch(size, agent) {
      const ofAgent = new OrreryClient({ url, key, agent });
      const batch = Array.from({ length: size }, (_, at) => ({
        task_type: "noop",
        payload: { n: at },
        estimated_service_time: ESTIMATES_S[at % ESTIMATES_S.length] ?? 1,
      }));
      const answers = await ofAgent.submitBatch(batch);
      if (!answers.every(({ status }) => status === 201)) throw new Error("a submission was refused");
    },
    async result(id) {
      const { status } = await client.waitForTask(id);
      if (status !== "completed") throw new Error(`a task is ${status}`);
    },
    async drainApart(tasks, slots) {
      await client.pause();
      const what = JSON.stringify({ url, key, slots, count: tasks });
      const worker = await closers.use(Promise.resolve(new Apart(workerFile, [what])));
      await worker.message();
      return async () => {
        await client.resume();
        await worker.message();
      };
    },
    async usage() {
      server.send("usage");
      return /** @type {import("./system.mjs").Usage} */ (await server.message());
    },
  };
}

/** Sends what the client sends, with as little as possible around it. */
class PlainRequests {
  #agent = new Agent({ keepAlive: true });
  #url;

  /** @param {string} url */
  constructor(url) {
    this.#url = url;
  }

  /**
   * @param {Readonly<Record<string, unknown>>} submission
   * @returns {Promise<string>}
   */
  submit(submission) {
    const body = JSON.stringify({ executor: "default", ...submission, idempotency_key: randomUUID() });
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    return new Promise((resolve, reject) => {
      request(this.#url, { method: "POST", agent: this.#agent, headers }, (response) => {
        let text = "";
        response
          .setEncoding("utf8")
          .on("data", (chunk) => {
            text += chunk;
          })
          .on("end", () => {
            if (response.statusCode !== 201) return reject(new Error(text));
            const { id } = /** @type {{ id: string }} */ (JSON.parse(text));
            resolve(id);
          });
      })
        .on("error", reject)
        .end(body);
    });
  }

  async [Symbol.asyncDispose]() {
    this.#agent.destroy();
  }
}

/**
 * As a user starts it: from the command to its announcement, and to the result of a first task by a worker that
 * connects then.
 *
 * @param {{ store?: string }} stored
 * @param {string} folder
 * @param {Closers} closers
 */
async function measureStart({ store }, folder, closers) {
  const args = ["serve", "--json", "--port", "0", "--data", folder];
  const startedAt = performance.now();
  const server = new Apart(cli, store === undefined ? args : [...args, "--store", store], {
    env: { ORRERY_API_KEY: key },
  });
  await closers.use(Promise.resolve(server));
  const announced = /** @type {{ url: string, store: string }} */ (await server.printed());
  const readyMs = performance.now() - startedAt;
  if (store === undefined && announced.store.startsWith("memory")) throw new Error(announced.store);
  await startWorker(announced.url, () => {}, closers);
  await new OrreryClient({ url: announced.url, key }).submitAndWait({ task_type: "noop" });
  return { readyMs, firstTaskMs: performance.now() - startedAt };
}

/**
 * A worker in this process, so that one clock sees the submission and the start.
 *
 * @param {string} url
 * @param {() => void} onStart
 * @param {Closers} closers
 */
async function startWorker(url, onStart, closers) {
  /** @type {() => void} */
  let connected = () => {};
  const whenConnected = new Promise((resolve) => {
    connected = () => resolve(undefined);
  });
  const worker = new Worker({
    transport: new WebSocketTransport({ url, key }),
    handlers: { noop: task(onStart) },
    registration: {
      id: "bench",
      executors: ["default"],
      cpu_millicores: 1000,
      memory_bytes: 2 ** 30,
      slots: 2,
    },
    observe: ({ type }) => {
      if (type === "connected") connected();
    },
  });
  const ended = worker.run();
  await closers.use(
    Promise.resolve({
      async [Symbol.asyncDispose]() {
        worker.drain();
        await ended;
      },
    }),
  );
  await Promise.race([whenConnected, ended]);
}
