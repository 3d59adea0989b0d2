import { bullmqOnDurableRedis, bullmqOnPostgres, bullmqOnRedis } from "./bullmq.mjs";
import { graphileWorker } from "./graphile-worker.mjs";
import { orrery } from "./orrery.mjs";
import { pgBoss } from "./pg-boss.mjs";

/** All that are measured, side by side; the first is ours. @type {readonly import("../system.mjs").System[]} */
export const SYSTEMS = [
  orrery,
  graphileWorker,
  pgBoss,
  bullmqOnPostgres,
  bullmqOnRedis,
  bullmqOnDurableRedis,
];
