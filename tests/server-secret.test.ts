// The secret that all servers of one store share, and that is not in the store.

import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeLog, type RunningServer, type StartOptions, startServer } from "../src/server/index.ts";
import { PostgresStore } from "../src/store/postgres/store.ts";
import { directoryWith, startOrrery } from "./cli.ts";
import { freshDatabase } from "./service.ts";

const KEY = "sk-test-admin-0123456789-0123456789";
const SHARED = "a secret that an operator gave to all servers";

function start(store: string, dataDir: string, more: Partial<StartOptions> = {}): Promise<RunningServer> {
  return startServer({
    host: "127.0.0.1",
    port: 0,
    strictPort: true,
    store,
    dataDir,
    apiKey: KEY,
    version: "test",
    settings: {},
    log: makeLog({ level: "silent", write: () => {} }),
    onFailed: () => {},
    ...more,
  });
}

const stop = (server: RunningServer): PromiseLike<void> => server[Symbol.asyncDispose]();

async function status({ url }: RunningServer, key = KEY): Promise<number> {
  const headers = { authorization: `Bearer ${key}` };
  return (await fetch(`${url}/api/v2/scheduler/whoami`, { headers })).status;
}

test("[F3] a server keeps its secret in a file that only its owner reads, and finds it again", async () => {
  const [store, dataDir] = [await freshDatabase(), await directoryWith({})];
  await stop(await start(store, dataDir));
  const file = join(dataDir, "secret");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const secret = await readFile(file, "utf8");
  await stop(await start(store, dataDir));
  expect(await readFile(file, "utf8")).toBe(secret);
  await chmod(file, 0o644);
  await expect(start(store, dataDir)).rejects.toThrow(`use chmod 600 ${file}`);
  await chmod(file, 0o600);
  await writeFile(file, "short");
  await expect(start(store, dataDir)).rejects.toThrow("at least 32 characters");
});

test("[F3] a server with another secret than the others of its store does not start, and says what to do", async () => {
  const [store, first, second] = [await freshDatabase(), await directoryWith({}), await directoryWith({})];
  const server = await start(store, first);
  await expect(start(store, second)).rejects.toThrow(
    new RegExp(
      `no secret.*ORRERY_SECRET.*which the first server keeps in .*${first}/secret.*--new-secret`,
      "s",
    ),
  );
  expect(await readdir(second)).toEqual([]);
  await expect(start(store, second, { secret: SHARED })).rejects.toThrow(
    "the secret in ORRERY_SECRET is not",
  );
  const secret = (await readFile(join(first, "secret"), "utf8")).trim();
  await stop(await start(store, second, { secret }));
  await expect(start(store, second, { secret: SHARED, isNewSecret: true })).rejects.toThrow(
    "while another server runs on this store",
  );
  await stop(server);
});

test("[F3] a lost secret is replaced when all servers have stopped, and API keys stay valid", async () => {
  const [store, first, second] = [await freshDatabase(), await directoryWith({}), await directoryWith({})];
  const made = await start(store, first, { apiKey: undefined });
  const key = made.devKey?.secret ?? "";
  await stop(made);
  const restored = await start(store, second, { isNewSecret: true });
  expect(await status(restored, key)).toBe(200);
  await stop(restored);
  await expect(start(store, first)).rejects.toThrow(`the secret in ${join(first, "secret")} is not`);
  const given = await start(store, first, { secret: SHARED, isNewSecret: true });
  expect(await status(given, key)).toBe(200);
  await stop(given);
});

test("[F3] servers that start together on an empty store and one data directory have one secret", async () => {
  const [store, dataDir] = [await freshDatabase(), await directoryWith({})];
  const servers = await Promise.all([start(store, dataDir), start(store, dataDir)]);
  expect(await readdir(dataDir)).toEqual(["secret"]);
  await Promise.all(servers.map(stop));
});

test("[F3] the fingerprint in the store is neither the secret nor quick to compute from a guess", async () => {
  const url = await freshDatabase();
  await stop(await start(url, await directoryWith({}), { secret: SHARED }));
  await using store = await PostgresStore.open({ url });
  const stored = await store.setting("secret-fingerprint", () => "");
  expect(JSON.parse(stored)).toEqual({
    salt: expect.stringMatching(/^[\w-]{22}$/),
    hash: expect.stringMatching(/^[\w-]{43}$/),
    from: "ORRERY_SECRET",
  });
});

test("[F3] a secret that is too short is refused by its name", async () => {
  const env = { ORRERY_SECRET: "short", ORRERY_API_KEY: KEY };
  const { code, stderr } = await startOrrery(await directoryWith({}), ["serve", "--port", "0"], env).finished;
  expect([code, stderr]).toEqual([2, expect.stringMatching(/ORRERY_SECRET.*32 characters or more/s)]);
});
