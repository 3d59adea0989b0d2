// How it is after a while: tasks are submitted at an even pace to two servers on one PostgreSQL, both are restarted one after
// the other in the middle, and nobody may notice. What grows meanwhile is measured and said.

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { lookForFault } from "./processes.mjs";
import { Apart } from "./queue/apart.mjs";
import { interruptible } from "./queue/interruptible.mjs";
import { postmasterOf, startPostgres } from "./queue/postgres.mjs";
import { Gauges } from "./soak/gauges.mjs";
import { countCompleted, countCompletions, readKept, untilDrained } from "./soak/kept.mjs";
import { Pair } from "./soak/pair.mjs";
import { soakOutcome } from "./soak/rows.mjs";
import { readTimes } from "./soak/times.mjs";

/** @typedef {import("./queue/interruptible.mjs").Surroundings} Surroundings */
/** @typedef {import("./report.mjs").Setting} Setting */
/** @typedef {import("./soak/clients.mjs").ClientsJob} ClientsJob */
/** @typedef {import("./soak/clients.mjs").ClientsResult} ClientsResult */
/** @typedef {import("./soak/pair.mjs").Restart} Restart */

/** @type {import("./report.mjs").Bench} */
export const soak = {
  name: "soak",
  summary: "1,000 submits a second for minutes (a round is a minute), with a rolling restart of two servers",
  run: (setting) => interruptible((surroundings) => run(setting, surroundings)),
};

const PACE = { perSecond: 1_000, agents: 32, inFlight: 8 };
const STANDARD = { ...PACE, forMs: 600_000, windowMs: 60_000 };
const QUICK = { ...PACE, forMs: 40_000, windowMs: 5_000 };
/** Of all the time: until then a server fills what it remembers, which is bounded. In ten minutes these are three. */
const WARM_UP_SHARE = 0.3;
/** After the last task, before memory is read once more. */
const REST_MS = 5_000;

const cli = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const clientsFile = fileURLToPath(new URL("soak/clients.mjs", import.meta.url));

/** @typedef {typeof STANDARD & { warmUpMs: number }} Plan */

/**
 * @param {Setting} setting
 * @param {Surroundings} surroundings
 */
async function run({ quick, rounds, say }, surroundings) {
  const { folder, closers, signal } = surroundings;
  const standard = quick ? QUICK : STANDARD;
  const forMs = rounds === undefined ? standard.forMs : rounds * 60_000;
  const plan = { ...standard, forMs, warmUpMs: WARM_UP_SHARE * forMs };
  const files = { ids: join(folder, "ids"), times: join(folder, "times"), ledger: join(folder, "ledger") };
  const dataDir = join(folder, "data");
  say("starting PostgreSQL, two servers and two workers");
  const postgres = await startPostgres(dataDir, closers);
  const [store, key] = [await postgres.createDatabase(), `sk-bench-${randomUUID()}`];
  const pair = new Pair({ store, key }, surroundings);
  await pair.start();

  const { urls } = pair;
  const clients = await startClients({ ...plan, ...files, urls, key }, surroundings);
  const watched = () =>
    [...pair.processes, { name: "clients", process: clients }].map(({ name, process }) => ({
      name,
      pid: process.pid,
    }));
  const gauges = await closers.use(Promise.resolve(new Gauges(watched, postmasterOf(dataDir))));
  say(`submitting ${plan.perSecond} a second for ${plan.forMs / 1000} s`);
  const [result, { middle, restarts }] = await Promise.all([
    /** @type {Promise<ClientsResult>} */ (clients.message()),
    restartInTheMiddle(pair, { plan, store, gauges, say, signal }),
  ]);

  say("waiting until all have ended, then counting");
  const open = await untilDrained(store, signal);
  gauges.read();
  await sleep(REST_MS, undefined, { signal });
  gauges.read();
  // What follows is not part of it, and its end frees everything.
  await gauges[Symbol.asyncDispose]();
  const end = await readKept(store);
  const counted = await countCompleted(store, files.ids);
  await writeLedger(urls[0] ?? "", key, files.ledger, signal);
  const completions = await countCompletions(files.ledger);
  const ends = await pair.stop();
  say("deciding the ledger again");
  const fault = await lookForFault(files.ledger, signal);
  const times = readTimes(files.times, restarts);
  const found = { result, restarts, times, open, middle, end, counted, completions, ends, fault };
  const outcome = soakOutcome({ plan, isJudged: !quick, gauges }, found);
  const settings = { ...plan, postgres: postgres.settings };
  return { ...outcome, json: { settings, ...outcome.json } };
}

/**
 * @param {ClientsJob} job
 * @param {Surroundings} surroundings
 */
async function startClients(job, { closers, signal }) {
  signal.throwIfAborted();
  const clients = await closers.use(Promise.resolve(new Apart(clientsFile, [JSON.stringify(job)])));
  signal.addEventListener("abort", () => void clients[Symbol.asyncDispose]());
  return clients;
}

/**
 * @param {Pair} pair
 * @param {{ plan: Plan, store: string, gauges: Gauges, say: Setting["say"], signal: AbortSignal }} context
 */
async function restartInTheMiddle(pair, { plan, store, gauges, say, signal }) {
  await sleep(plan.forMs / 2, undefined, { signal });
  const middle = await readKept(store);
  gauges.read();
  /** @type {Restart[]} */
  const restarts = [];
  await pair.restartAll((restart) => {
    const { server, stopMs, startMs, role } = restart;
    say(`restarted ${server}: stopped within ${stopMs} ms, ready as ${role} ${startMs} ms later`);
    restarts.push(restart);
    gauges.read();
  });
  return { middle, restarts };
}

/**
 * @param {string} url
 * @param {string} key
 * @param {string} file
 * @param {AbortSignal} signal
 */
async function writeLedger(url, key, file, signal) {
  const env = { ...process.env, ORRERY_API_KEY: key };
  await promisify(execFile)(process.execPath, [cli, "ledger", file, "--server", url], { env, signal });
}
