// Pairs of results on a server and workers of ours.

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { lookForFault } from "../processes.mjs";
import { withFleet } from "./fleet.mjs";
import { graphFile } from "./graph-file.mjs";
import { MIB } from "./pairs.mjs";
import { readPlacements, writeLedger } from "./placements.mjs";

/** @typedef {import("../queue/interruptible.mjs").Surroundings} Surroundings */
/** @typedef {import("./fleet.mjs").Fleet} Fleet */
/** @typedef {import("./locality.mjs").LocalityResult} LocalityResult */
/** @typedef {import("./pairs.mjs").PairJob} PairJob */
/** @typedef {import("./pairs.mjs").PairNode} PairNode */

/** Heartbeats come every third of a lease, and tell what has moved and was freed. */
const LEASE = ["--lease", "6s"];
const FREED_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 100;

const tasks = fileURLToPath(new URL("tasks.mjs", import.meta.url));

/**
 * @param {PairJob} job
 * @param {Surroundings} surroundings
 * @returns {Promise<LocalityResult>}
 */
export function ourLocality({ workers: count, warmUp, nodes, ms }, { folder, signal }) {
  return withFleet({ workers: count, tasks, serve: LEASE }, signal, async (fleet) => {
    const warm = await computed(fleet, warmUp, 0);
    const before = await untilFreed(fleet, bytesMade(warmUp));
    const memoryBefore = await memoryAtRest(fleet);
    const { seconds, wrong } = await computed(fleet, nodes, ms);
    const after = await untilFreed(fleet, bytesMade(warmUp) + bytesMade(nodes));
    const memoryAfter = await memoryAtRest(fleet);
    const ledger = join(folder, `${fleet.server.pid}.jsonl`);
    await writeLedger(fleet, ledger, signal);
    const fault = await lookForFault(ledger, signal);
    return {
      seconds,
      movedBytes: after.moved - before.moved,
      ...(await placedBy(ledger, nodes, count)),
      keptBytes: after.kept,
      leftBytes: memoryAfter.rss - memoryBefore.rss,
      leftInUseBytes: memoryAfter.used - memoryBefore.used,
      wrong: [...warm.wrong, ...wrong, ...after.wrong, ...(fault === undefined ? [] : [fault])],
    };
  });
}

/**
 * @param {string} ledger In which the warm-up is the first run.
 * @param {readonly PairNode[]} nodes
 * @param {number} count Of workers.
 */
async function placedBy(ledger, nodes, count) {
  const { workers, peakHeldBytes } = await readPlacements(ledger, 1);
  const countBy = (/** @type {(node: PairNode) => boolean} */ fits) =>
    Array.from(
      { length: count },
      (_, worker) => nodes.filter((node, at) => fits(node) && workers[at] === worker).length,
    );
  const producers = countBy((node) => "fill" in node);
  return { producers, consumers: countBy((node) => "of" in node), peakHeldBytes };
}

/**
 * Submitted, waited for, looked at, and released.
 *
 * @param {Fleet} fleet
 * @param {readonly PairNode[]} nodes
 * @param {number} ms
 */
async function computed({ client }, nodes, ms) {
  const entries = nodes.map((node) => /** @type {const} */ ([node.id, callOf(node, ms)]));
  const graph = graphFile(Object.fromEntries(entries));
  const startedAt = performance.now();
  const { id } = await client.submitRun(graph);
  const { status } = await client.waitForRun(id);
  const seconds = (performance.now() - startedAt) / 1000;
  const wrong = status === "completed" ? await wrongResults(client, id, nodes) : [`the run is ${status}`];
  await client.releaseRun(id);
  return { seconds, wrong };
}

/**
 * @param {PairNode} node
 * @param {number} ms
 */
function callOf(node, ms) {
  if ("fill" in node) return { task: "make", args: [node.fill, ms] };
  return { task: "add", args: [...node.of.map((id) => ({ node: id })), ms] };
}

/**
 * @param {Fleet["client"]} client
 * @param {string} run
 * @param {readonly PairNode[]} nodes
 */
async function wrongResults(client, run, nodes) {
  const sums = nodes.flatMap((node) => ("sum" in node ? [node] : []));
  const ids = sums.map(({ id }) => id);
  const results = await client.gather(run, ids);
  return sums
    .filter(({ sum }, at) => results[at] !== sum)
    .map(({ id, sum }) => `${id} is ${results[ids.indexOf(id)]}, not ${sum}`);
}

/** @param {readonly PairNode[]} nodes */
function bytesMade(nodes) {
  return MIB * nodes.filter((node) => "fill" in node).length;
}

/**
 * Until heartbeats say that all that was made, and all copies of it, were freed.
 *
 * @param {Fleet} fleet
 * @param {number} made Since the workers started.
 */
async function untilFreed({ client }, made) {
  for (const until = Date.now() + FREED_WITHIN_MS; ; await sleep(LOOK_EVERY_MS)) {
    const counters = (await client.workers()).flatMap(({ chunks }) => chunks ?? []);
    const sum = (/** @type {keyof (typeof counters)[number]} */ name) =>
      counters.reduce((total, one) => total + one[name], 0);
    const [moved, freed, kept] = [
      sum("moved_bytes"),
      sum("freed_bytes"),
      sum("held_bytes") + sum("spilled_bytes"),
    ];
    if (freed >= made + moved) return { moved, kept, wrong: [] };
    if (Date.now() > until)
      return { moved, kept, wrong: [`of ${made} bytes made and ${moved} moved, ${freed} were freed`] };
  }
}

/** What the workers have when nobody refers to anything. @param {Fleet} fleet */
async function memoryAtRest({ workers }) {
  const sum = { rss: 0, used: 0 };
  for (const worker of workers) {
    worker.send("at rest");
    const { rss, used } = /** @type {typeof sum} */ (await worker.message());
    sum.rss += rss;
    sum.used += used;
  }
  return sum;
}
