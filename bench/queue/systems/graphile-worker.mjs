import pg from "pg";
import { loadPackage } from "../packages.mjs";
import { askNumber } from "../postgres.mjs";
import { Tally } from "../tally.mjs";
import { payloadOf } from "../tasks.mjs";

/** @typedef {import("../system.mjs").System} System */

/**
 * @typedef {object} WorkerUtils
 * @property {() => Promise<void>} migrate
 * @property {(name: string, payload: unknown) => Promise<unknown>} addJob
 * @property {(jobs: readonly { identifier: string, payload: unknown }[]) => Promise<unknown>} addJobs
 * @property {() => Promise<void>} release
 */

/**
 * @typedef {object} GraphileWorker
 * @property {(options: object) => Promise<WorkerUtils>} makeWorkerUtils
 * @property {(options: object) => Promise<{ stop: () => Promise<void> }>} run
 * @property {new (log: () => () => void) => object} Logger
 */

const CHUNK = 10_000;
const JOBS = 24;
const LOCAL_QUEUE = 500;
const POOL = 26;
/** For each purpose the faster one: what is fetched ahead and ended in batches waits a little. */
const BATCHING = {
  drain: { localQueue: { size: LOCAL_QUEUE }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
  latency: {},
  submit: {},
};

/** @type {System} */
export const graphileWorker = {
  name: "graphile-worker",
  keptIn: "postgresql",
  packages: ["graphile-worker"],
  settings: {
    submit: `addJob; many: addJobs; pool ${POOL}`,
    drain: `localQueue ${LOCAL_QUEUE}, completeJobBatchDelay 0, concurrentJobs ${JOBS}, pool ${POOL}`,
    latency: `no batching, concurrentJobs ${JOBS}, pool ${POOL}`,
  },
  extraInFlight: [],
  open: openGraphile,
  // It deletes what has completed.
  async countCompleted({ url }, loaded) {
    return loaded - (await askNumber(url, "select count(*) from graphile_worker._private_jobs"));
  },
};

/** @type {System["open"]} */
async function openGraphile({ place, purpose, onStart }, closers) {
  // It logs every task otherwise, and reads this when it is loaded.
  process.env["NO_LOG_SUCCESS"] = "1";
  const { makeWorkerUtils, run, Logger } = /** @type {GraphileWorker} */ (
    await loadPackage("graphile-worker")
  );
  const committed = new Tally();
  const pgPool = poolThatTells(place.url, committed);
  await closers.use(Promise.resolve({ [Symbol.asyncDispose]: () => pgPool.end() }));
  const shared = { pgPool, logger: new Logger(() => () => {}) };
  const utils = await makeWorkerUtils(shared);
  await closers.use(Promise.resolve({ [Symbol.asyncDispose]: () => utils.release() }));
  await utils.migrate();
  let count = 0;
  const submitMany = (/** @type {number} */ many) =>
    utils.addJobs(Array.from({ length: many }, (_, at) => ({ identifier: "noop", payload: payloadOf(at) })));
  return {
    submit: () => utils.addJob("noop", payloadOf(count++)),
    submitMany,
    async load(many) {
      for (let left = many; left > 0; left -= CHUNK) await submitMany(Math.min(left, CHUNK));
    },
    async begin() {
      const preset = { worker: { concurrentJobs: JOBS, ...BATCHING[purpose] } };
      const runner = await run({
        ...shared,
        preset,
        noHandleSignals: true,
        taskList: { noop: async () => onStart() },
      });
      /** @type {Promise<void> | undefined} */
      let stopped;
      const stop = () => (stopped ??= runner.stop());
      await closers.use(Promise.resolve({ [Symbol.asyncDispose]: stop }));
      return stop;
    },
    completed: (many) => committed.reaches(many),
  };
}

/**
 * Its events come before the commit, so the statements that end tasks are counted.
 *
 * @param {string} connectionString
 * @param {Tally} committed
 */
function poolThatTells(connectionString, committed) {
  const pool = new pg.Pool({ connectionString, max: POOL });
  pool.on("error", () => {});
  pool.on("connect", (client) => {
    const query = /** @type {(...args: unknown[]) => unknown} */ (client.query.bind(client));
    client.query = /** @type {typeof client.query} */ (
      (/** @type {unknown[]} */ ...args) => {
        const answer = query(...args);
        const { text = "" } = /** @type {{ text?: string }} */ (args[0] ?? {});
        if (!/^delete from .*_private_jobs/.test(text) || !(answer instanceof Promise)) return answer;
        return answer.then((/** @type {pg.QueryResult} */ result) => {
          committed.add(result.rowCount ?? 0);
          return result;
        });
      }
    );
  });
  return pool;
}
