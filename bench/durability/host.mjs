// Orrery as a library with a PostgreSQL of its own, in a process that may be killed. Says each id as soon as the task
// was acknowledged, or whether all that it is asked for are there.

import { createWriteStream, readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { localCaller } from "../../dist/embedded/index.js";
import { open } from "../../dist/index.js";
import { endWhenTold } from "../queue/apart.mjs";
import { Closers } from "../queue/closers.mjs";
import { taskOf } from "../queue/tasks.mjs";
import { warn } from "../queue/warn.mjs";

/** @typedef {{ do: "enqueue", dataDir: string, inFlight: number }} EnqueueJob Until it is killed. */
/** @typedef {{ do: "check", dataDir: string, ids: string, ledger: string }} CheckJob The ids are in a file. */
/** @typedef {{ there: number, missing: readonly string[] }} Checked */

const ZONE = "default";
/** Every so many tasks are enqueued in one call. */
const MANY = 100;

const closers = new Closers();
endWhenTold(closers);
const job = /** @type {EnqueueJob | CheckJob} */ (JSON.parse(process.argv[2] ?? ""));
const orrery = await closers.use(
  open({ dataDir: job.dataDir, settings: { config: { backlogLimit: 10_000_000 } }, warn }),
);
if (job.do === "enqueue") await enqueue(job);
else {
  const checked = await check(job);
  await closers.closeAll();
  process.send?.(checked, () => process.exit(0));
}

/** @param {EnqueueJob} job */
async function enqueue({ inFlight }) {
  await Promise.all(
    Array.from({ length: inFlight }, async (_, at) => {
      for (;;) process.send?.(at === 0 ? await submitMany() : [await orrery.submit("noop", { at })]);
    }),
  );
}

/** @returns {Promise<string[]>} */
async function submitMany() {
  const batch = Array.from({ length: MANY }, (_, at) => taskOf(at));
  const answers = await orrery.api.submit(localCaller(ZONE), batch);
  return answers.map((answer) => {
    if (!answer.accepted) throw new Error(answer.message);
    return answer.task.id;
  });
}

/**
 * @param {CheckJob} job
 * @returns {Promise<Checked>}
 */
async function check({ ids, ledger }) {
  const missing = [];
  let there = 0;
  for (const id of readFileSync(ids, "utf8").split("\n").filter(Boolean)) {
    if (await orrery.task(id)) there++;
    else missing.push(id);
  }
  await pipeline(Readable.from(orrery.api.ledger()), createWriteStream(ledger));
  return { there, missing };
}
