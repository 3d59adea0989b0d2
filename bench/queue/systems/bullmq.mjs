import { loadPackage } from "../packages.mjs";
import { askNumber } from "../postgres.mjs";
import { askRedis } from "../redis.mjs";
import { Tally } from "../tally.mjs";
import { payloadOf } from "../tasks.mjs";

/** @typedef {import("../system.mjs").System} System */

/**
 * @typedef {object} BullQueue
 * @property {(name: string, data: object) => Promise<unknown>} add
 * @property {(jobs: readonly { name: string, data: object }[]) => Promise<unknown>} addBulk
 * @property {() => Promise<unknown>} waitUntilReady
 * @property {() => Promise<void>} close
 */

/**
 * @typedef {object} BullWorker
 * @property {() => Promise<void>} run
 * @property {(force: boolean) => Promise<void>} close
 * @property {() => Promise<unknown>} waitUntilReady
 * @property {(event: "completed" | "error" | "failed", listener: (...args: unknown[]) => void) => void} on
 */

/**
 * @typedef {object} Classes
 * @property {new (name: string, options: object) => BullQueue} Queue
 * @property {new (name: string, process: () => Promise<void>, options: object) => BullWorker} Worker
 */

/** @typedef {Classes & { withBackend: (backend: unknown) => Classes, createPostgresBackend: unknown }} BullMq */

const QUEUE = "bench";
const CHUNK = 10_000;
const POOL = 40;

/** @type {System} */
export const bullmqOnPostgres = bullmq({
  name: "bullmq-postgresql",
  keptIn: "postgresql",
  packages: ["bullmq"],
  concurrency: 64,
  says: `pool ${POOL}`,
  classes: ({ withBackend, createPostgresBackend }) => withBackend(createPostgresBackend),
  connection: (url) => ({ connectionString: url, max: POOL, migrate: true }),
  // The tables are in a schema of its own, and the name is its to choose.
  countCompleted: ({ url }) => askNumber(url, "select count(*) from bullmq.job where state = 'completed'"),
});

/** As Redis is advised to be used: what the last second brought may be lost. */
export const bullmqOnRedis = onRedis("bullmq-redis", "everysec");

/** What was acknowledged is on the disk, as with the queues on PostgreSQL. */
export const bullmqOnDurableRedis = onRedis("bullmq-redis-durable", "always");

/**
 * @param {string} name
 * @param {"everysec" | "always"} appendfsync
 */
function onRedis(name, appendfsync) {
  return bullmq({
    name,
    keptIn: "redis",
    appendfsync,
    packages: ["bullmq", "ioredis"],
    concurrency: 50,
    says: `Redis with appendonly yes, appendfsync ${appendfsync}`,
    classes: (all) => all,
    connection: (url) => ({ host: "127.0.0.1", port: Number(new URL(url).port), maxRetriesPerRequest: null }),
    countCompleted: async ({ url }) => Number(await askRedis(url, "ZCARD", `bull:${QUEUE}:completed`)),
  });
}

/**
 * @typedef {object} Variant
 * @property {string} name
 * @property {System["keptIn"]} keptIn
 * @property {readonly string[]} packages
 * @property {number} concurrency
 * @property {string} says
 * @property {(all: BullMq) => Classes} classes
 * @property {"everysec" | "always"} [appendfsync]
 * @property {(url: string) => object} connection
 * @property {System["countCompleted"]} countCompleted
 */

/**
 * @param {Variant} variant
 * @returns {System}
 */
function bullmq({ concurrency, says, classes, connection, ...system }) {
  const working = `concurrency ${concurrency}, ${says}`;
  return {
    ...system,
    settings: { submit: `add; many: addBulk; ${says}`, drain: working, latency: working },
    extraInFlight: [],
    async open({ place, onStart }, closers) {
      const { Queue, Worker } = classes(/** @type {BullMq} */ (await loadPackage("bullmq")));
      const options = { connection: connection(place.url) };
      const queue = new Queue(QUEUE, options);
      await closers.use(Promise.resolve({ [Symbol.asyncDispose]: () => queue.close() }));
      await queue.waitUntilReady();
      const committed = new Tally();
      let count = 0;
      const submitMany = (/** @type {number} */ many) =>
        queue.addBulk(Array.from({ length: many }, (_, at) => ({ name: "noop", data: payloadOf(at) })));
      return {
        submit: () => queue.add("noop", payloadOf(count++)),
        submitMany,
        async load(many) {
          for (let left = many; left > 0; left -= CHUNK) await submitMany(Math.min(left, CHUNK));
        },
        async begin() {
          const worker = new Worker(QUEUE, async () => onStart(), { ...options, concurrency });
          worker.on("completed", () => committed.add());
          worker.on("error", (error) => process.stderr.write(`bullmq: ${error}\n`));
          await closers.use(Promise.resolve({ [Symbol.asyncDispose]: () => worker.close(true) }));
          return () => worker.close(false);
        },
        completed: (many) => committed.reaches(many),
      };
    },
  };
}
