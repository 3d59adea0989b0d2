// A private Redis, where its program is installed.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { loadPackage } from "./packages.mjs";

const START_WITHIN_MS = 10_000;
const SETTINGS = { appendonly: "yes", save: "", bind: "127.0.0.1" };

/** @typedef {{ call: (...words: string[]) => Promise<unknown>, disconnect: () => void, on: (name: "error", listener: () => void) => void }} RedisClient */

/** Why there is none, if so. */
export function whyNoRedis() {
  try {
    execFileSync("redis-server", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "redis-server is not installed (Debian: apt-get install redis-server)";
  }
}

/**
 * @param {string} folder
 * @param {"everysec" | "always"} appendfsync
 * @param {import("./closers.mjs").Closers} closers
 * @returns {Promise<string>} Its URL.
 */
export async function startRedis(folder, appendfsync, closers) {
  mkdirSync(folder);
  const port = await freePort();
  const settings = Object.entries({
    ...SETTINGS,
    appendfsync,
    dir: folder,
    port: String(port),
    pidfile: join(folder, "redis.pid"),
  });
  const child = spawn(
    "redis-server",
    settings.flatMap(([name, value]) => [`--${name}`, value]),
    {
      cwd: folder,
      stdio: "ignore",
      detached: true,
    },
  );
  const ended = once(child, "close");
  await closers.use(
    Promise.resolve({
      async [Symbol.asyncDispose]() {
        child.kill("SIGKILL");
        await ended;
      },
    }),
  );
  const url = `redis://127.0.0.1:${port}`;
  const until = performance.now() + START_WITHIN_MS;
  while (!(await isAnswering(url))) {
    if (performance.now() > until) throw new Error(`Redis does not answer at ${url}`);
    await sleep(20);
  }
  return url;
}

/**
 * @param {string} url
 * @param {...string} words
 */
export async function askRedis(url, ...words) {
  const { Redis } = /** @type {{ Redis: new (url: string, options: object) => RedisClient }} */ (
    await loadPackage("ioredis")
  );
  const client = new Redis(url, { retryStrategy: () => null, maxRetriesPerRequest: 0 });
  client.on("error", () => {});
  try {
    return await client.call(...words);
  } finally {
    client.disconnect();
  }
}

/** @param {string} url */
async function isAnswering(url) {
  try {
    return (await askRedis(url, "PING")) === "PONG";
  } catch {
    return false;
  }
}

/** @returns {Promise<number>} */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  server.close();
  return port;
}
