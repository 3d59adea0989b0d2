import { loadPackage } from "../packages.mjs";
import { askNumber } from "../postgres.mjs";
import { Tally } from "../tally.mjs";
import { payloadOf } from "../tasks.mjs";

/** @typedef {import("../system.mjs").System} System */
/** @typedef {{ executeSql: (text: string, values?: unknown[], ...rest: unknown[]) => Promise<unknown> }} Database */

/**
 * @typedef {object} Boss
 * @property {(event: "error", listener: (error: Error) => void) => void} on
 * @property {() => Promise<unknown>} start
 * @property {(options: object) => Promise<void>} stop
 * @property {() => Database} getDb
 * @property {(name: string, options: object) => Promise<void>} createQueue
 * @property {(name: string, data: object) => Promise<unknown>} send
 * @property {(name: string, jobs: readonly { data: object }[]) => Promise<unknown>} insert
 * @property {(name: string, options: object, handler: (jobs: readonly unknown[]) => Promise<void>) => Promise<unknown>} work
 * @property {(name: string) => Promise<unknown>} offWork
 */

const QUEUE = "bench";
const CHUNK = 10_000;
const POOL = 26;
const BATCH = 1_000;
const CONCURRENCY = 2;
const WORK = {
  drain: {
    batchSize: BATCH,
    localConcurrency: CONCURRENCY,
    burstWhenBatchFull: true,
    pollingIntervalSeconds: 0.5,
  },
  latency: { batchSize: 1, pollingIntervalSeconds: 0.5 },
  submit: {},
};

/** @type {System} */
export const pgBoss = {
  name: "pg-boss",
  keptIn: "postgresql",
  packages: ["pg-boss"],
  settings: {
    submit: `send; many: insert; partitioned queue, pool ${POOL}`,
    drain: `batchSize ${BATCH}, localConcurrency ${CONCURRENCY}, burstWhenBatchFull, partitioned queue, pool ${POOL}`,
    latency: `useListenNotify, batchSize 1, partitioned queue, pool ${POOL}`,
  },
  extraInFlight: [],
  open: openBoss,
  countCompleted: ({ url }) => askNumber(url, "select count(*) from pgboss.job where state = 'completed'"),
};

/** @type {System["open"]} */
async function openBoss({ place, purpose, onStart }, closers) {
  const { PgBoss } = /** @type {{ PgBoss: new (options: object) => Boss }} */ (await loadPackage("pg-boss"));
  const useListenNotify = purpose === "latency";
  // Neither cron nor maintenance is wanted here.
  const boss = new PgBoss({
    connectionString: place.url,
    max: POOL,
    schedule: false,
    supervise: false,
    useListenNotify,
  });
  boss.on("error", (error) => process.stderr.write(`pg-boss: ${error.message}\n`));
  await boss.start();
  await closers.use(Promise.resolve({ [Symbol.asyncDispose]: () => boss.stop({ graceful: false }) }));
  await boss.createQueue(QUEUE, { partition: true, notify: useListenNotify });
  const committed = new Tally();
  tellOfEnds(boss.getDb(), committed);
  let count = 0;
  const submitMany = (/** @type {number} */ many) =>
    boss.insert(
      QUEUE,
      Array.from({ length: many }, (_, at) => ({ data: payloadOf(at) })),
    );
  return {
    submit: () => boss.send(QUEUE, payloadOf(count++)),
    submitMany,
    async load(many) {
      for (let left = many; left > 0; left -= CHUNK) await submitMany(Math.min(left, CHUNK));
    },
    async begin() {
      await boss.work(QUEUE, WORK[purpose], async (jobs) => {
        for (const _ of jobs) onStart();
      });
      return () => boss.offWork(QUEUE);
    },
    completed: (many) => committed.reaches(many),
  };
}

/**
 * It says nothing when it has ended tasks, so its statements for that are counted.
 *
 * @param {Database} database
 * @param {Tally} committed
 */
function tellOfEnds(database, committed) {
  const executeSql = database.executeSql.bind(database);
  database.executeSql = async (text, values, ...rest) => {
    const answer = await executeSql(text, values, ...rest);
    if (/\bstate = 'completed',/.test(text) && Array.isArray(values?.[1])) committed.add(values[1].length);
    return answer;
  };
}
