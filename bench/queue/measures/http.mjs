// Orrery as a server of its own, and a process that asks it: both on this machine.

import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { Apart } from "../apart.mjs";
import { figure, PER_SECOND } from "../figure.mjs";

/** @typedef {import("../load.mjs").LoadResult} LoadResult */

/**
 * @typedef {object} HttpSizes
 * @property {number} connections
 * @property {number} warmUpMs
 * @property {number} forMs
 * @property {number} pacedPerSecond
 * @property {number} pacedForMs
 */

const serverFile = fileURLToPath(new URL("../server.mjs", import.meta.url));
const loadFile = fileURLToPath(new URL("../load.mjs", import.meta.url));

/**
 * @param {import("../system.mjs").Place} place
 * @param {HttpSizes} sizes
 * @param {import("../closers.mjs").Closers} closers
 */
export async function measureHttp({ url: store }, sizes, closers) {
  const key = `sk-bench-${randomUUID()}`;
  const job = JSON.stringify({ store, dataDir: "", key, config: { backlogLimit: 10_000_000 } });
  const server = await closers.use(Promise.resolve(new Apart(serverFile, [job])));
  const url = String(await server.message());
  const { connections, warmUpMs, forMs, pacedPerSecond, pacedForMs } = sizes;
  const load = async (/** @type {{ forMs: number, perSecond: number }} */ what) => {
    const asked = JSON.stringify({ url, key, connections, ...what });
    const generator = await closers.use(Promise.resolve(new Apart(loadFile, [asked])));
    return /** @type {LoadResult} */ (await generator.message());
  };
  await load({ forMs: warmUpMs, perSecond: 0 });
  const flat = await load({ forMs, perSecond: 0 });
  const paced = await load({ forMs: pacedForMs, perSecond: pacedPerSecond });
  const flatTitle = `HTTP submits, ${connections} connections`;
  const pacedTitle = `HTTP submits, ${pacedPerSecond} a second`;
  return [
    figure(flatTitle, "accepted", PER_SECOND, flat.accepted / flat.seconds),
    figure(flatTitle, "p50", "ms", flat.p50),
    figure(flatTitle, "p99", "ms", flat.p99),
    figure(flatTitle, "generator's share of a core", "%", flat.cpuShare * 100),
    figure(pacedTitle, "accepted", PER_SECOND, paced.accepted / paced.seconds),
    figure(pacedTitle, "p50", "ms", paced.p50),
    figure(pacedTitle, "p99", "ms", paced.p99),
    figure(pacedTitle, "generator's share of a core", "%", paced.cpuShare * 100),
  ];
}
