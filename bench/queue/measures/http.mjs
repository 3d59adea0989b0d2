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

/** @param {number} connections */
export const httpTitle = (connections) => `HTTP submits, ${connections} connections`;

/** @param {number} perSecond */
export const pacedTitle = (perSecond) => `HTTP submits, ${perSecond} a second`;

/**
 * @param {HttpSizes & { folder: string, place: import("../system.mjs").Place }} job
 * @param {import("../closers.mjs").Closers} closers
 */
export async function measureHttp({ folder, place, ...sizes }, closers) {
  const key = `sk-bench-${randomUUID()}`;
  const job = JSON.stringify({
    store: place.url,
    dataDir: folder,
    key,
    config: { backlogLimit: 10_000_000 },
  });
  const server = await closers.use(Promise.resolve(new Apart(serverFile, [job])));
  const url = String(await server.message());
  const { connections, warmUpMs, forMs, pacedPerSecond, pacedForMs } = sizes;
  const cpuMicros = async () => {
    server.send("usage");
    return /** @type {{ cpuMicros: number }} */ (await server.message()).cpuMicros;
  };
  const load = async (/** @type {{ forMs: number, perSecond: number }} */ what) => {
    const asked = JSON.stringify({ url, key, connections, ...what });
    const before = await cpuMicros();
    const generator = await closers.use(Promise.resolve(new Apart(loadFile, [asked])));
    const result = /** @type {LoadResult} */ (await generator.message());
    return { ...result, serverMicros: ((await cpuMicros()) - before) / result.accepted };
  };
  await load({ forMs: warmUpMs, perSecond: 0 });
  const flat = await load({ forMs, perSecond: 0 });
  const paced = await load({ forMs: pacedForMs, perSecond: pacedPerSecond });
  return [...figures(httpTitle(connections), flat), ...figures(pacedTitle(pacedPerSecond), paced)];
}

/**
 * @param {string} title
 * @param {LoadResult & { serverMicros: number }} result
 */
function figures(title, { accepted, seconds, p50, p99, cpuShare, serverMicros }) {
  return [
    figure(title, "accepted", PER_SECOND, accepted / seconds),
    figure(title, "p50", "ms", p50),
    figure(title, "p99", "ms", p99),
    figure(title, "CPU of the server, each", "µs", serverMicros),
    figure(title, "generator's share of a core", "%", cpuShare * 100),
  ];
}
