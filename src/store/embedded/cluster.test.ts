import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { expect, test } from "vitest";
import { testDataDir } from "../../../tests/postgres.ts";
import { openServiceStore } from "../open.ts";
import { openEmbedded } from "./cluster.ts";
import { findPostmaster, readPidFile } from "./postmaster.ts";

async function ask(url: string, text: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ answer: unknown }>(text);
    return rows[0]?.answer;
  } finally {
    await client.end();
  }
}

async function pidOf(dataDir: string): Promise<number> {
  return (await findPostmaster(join(dataDir, "postgres")))?.pid ?? 0;
}

test("a private PostgreSQL is made, is durable, and keeps its data over a restart", async () => {
  const dataDir = await testDataDir();
  {
    await using first = await openEmbedded({ dataDir });
    expect(await ask(first.url, "select current_setting('fsync') as answer")).toBe("on");
    expect(await ask(first.url, "select current_setting('data_checksums') as answer")).toBe("on");
    expect(await ask(first.url, "select current_setting('listen_addresses') as answer")).toBe("");
    await ask(first.url, "create table kept as select 1 as answer");
  }
  expect(await pidOf(dataDir)).toBe(0);
  await using again = await openEmbedded({ dataDir });
  expect(await ask(again.url, "select answer from kept")).toBe(1);
});

test("one process uses a data directory at a time", async () => {
  const dataDir = await testDataDir();
  await using _ = await openEmbedded({ dataDir });
  await expect(openEmbedded({ dataDir })).rejects.toMatchObject({ code: "locked" });
  await expect(openServiceStore({ dataDir })).rejects.toMatchObject({ code: "locked" });
});

test("[Q-18] when its user is killed it goes on, and the next one takes it over", async () => {
  const dataDir = await testDataDir();
  const dist = fileURLToPath(new URL("../../../dist/store/embedded/cluster.js", import.meta.url));
  const script = `
    const { openEmbedded } = await import(process.argv[1]);
    await openEmbedded({ dataDir: process.argv[2] });
    process.stdout.write("ready");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script, dist, dataDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  const pid = await pidOf(dataDir);
  expect(pid).toBeGreaterThan(0);
  child.kill("SIGKILL");
  await once(child, "exit");
  await using taken = await openEmbedded({ dataDir });
  expect(await pidOf(dataDir)).toBe(pid);
  expect(await ask(taken.url, "select 1 as answer")).toBe(1);
});

test("a PostgreSQL that was killed is started again, also when its number went to another process", async () => {
  const dataDir = await testDataDir();
  const files = ["postmaster.pid", ".s.PGSQL.5432.lock"].map((name) => join(dataDir, "postgres", name));
  {
    await using _ = await openEmbedded({ dataDir });
    process.kill(await pidOf(dataDir), "SIGKILL");
  }
  // PostgreSQL minds only processes of its own user, and not the one that starts it.
  const { uid, gid } = await stat(join(dataDir, "postgres"));
  const other = spawn("sleep", ["60"], { uid, gid, stdio: "ignore" });
  for (const file of files) {
    const [, ...rest] = (await readFile(file, "utf8")).split("\n");
    await writeFile(file, [other.pid, ...rest].join("\n"));
  }
  await using again = await openEmbedded({ dataDir });
  expect(await ask(again.url, "select 1 as answer")).toBe(1);
  other.kill();
});

test("a PostgreSQL that dies while it is used is started again where it was", async () => {
  const dataDir = join(await testDataDir(), "a-long-name".repeat(10));
  const said: string[] = [];
  await using embedded = await openEmbedded({ dataDir, log: (message) => said.push(message) });
  const pid = await pidOf(dataDir);
  process.kill(pid, "SIGKILL");
  await expect.poll(() => said.at(-1), { timeout: 10_000 }).toContain("runs again");
  expect(await pidOf(dataDir)).not.toBe(pid);
  expect(said).toContain(`PostgreSQL (${pid}) has died, starting it again`);
  expect(await ask(embedded.url, "select 1 as answer")).toBe(1);
});

test("a PostgreSQL that died can be disposed of, and is not started again then", async () => {
  const dataDir = await testDataDir();
  {
    await using _ = await openEmbedded({ dataDir });
    process.kill(await pidOf(dataDir), "SIGKILL");
  }
  await sleep(1_500);
  expect(await pidOf(dataDir)).toBe(0);
});

test("a PostgreSQL that is started again and does not become ready holds up nobody who leaves it", async () => {
  const dataDir = await testDataDir();
  const clusterDir = join(dataDir, "postgres");
  const embedded = await openEmbedded({ dataDir, settings: { hot_standby: "off" } });
  const pid = await pidOf(dataDir);
  // From its next start on it waits for another server that it could follow.
  await writeFile(join(clusterDir, "standby.signal"), "");
  process.kill(pid, "SIGKILL");
  const next = async () => (await readPidFile(clusterDir))?.pid ?? pid;
  await expect.poll(next, { timeout: 30_000 }).not.toBe(pid);
  const began = performance.now();
  await embedded[Symbol.asyncDispose]();
  expect(performance.now() - began).toBeLessThan(10_000);
  expect(await pidOf(dataDir)).toBe(0);
});

test("a data directory with a long name works", async () => {
  const dataDir = join(await testDataDir(), "a-long-name".repeat(10));
  await using embedded = await openEmbedded({ dataDir });
  expect(await ask(embedded.url, "select 1 as answer")).toBe(1);
});

test("a server that does not start says why, with the end of its log", async () => {
  const dataDir = await testDataDir();
  const said: string[] = [];
  const settings = { shared_buffers: "nonsense" };
  const opening = openEmbedded({ dataDir, settings, log: (message) => said.push(message) });
  await expect(opening).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/does not start: it ended with code 1.*invalid value.*nonsense/s),
  });
  expect(said.filter((message) => message.includes("trying again"))).toHaveLength(2);
});

test("data of another major version is refused, and both versions are named", async () => {
  const dataDir = await testDataDir();
  await mkdir(join(dataDir, "postgres"));
  await writeFile(join(dataDir, "postgres", "PG_VERSION"), "9\n");
  const refusal = {
    code: "foreign",
    message: expect.stringMatching(/made by PostgreSQL 9, and here is \d\d/),
  };
  await expect(openEmbedded({ dataDir })).rejects.toMatchObject(refusal);
  await expect(openServiceStore({ dataDir })).rejects.toMatchObject(refusal);
});

test("without a database all is in memory, and that is said", async () => {
  const closed = await testDataDir();
  const warnings: string[] = [];
  await writeFile(join(closed, "file"), "");
  await using opened = await openServiceStore({
    dataDir: join(closed, "file", "data"),
    warn: (message) => warnings.push(message),
  });
  expect(opened.store.backend).toBe("memory");
  expect(warnings).toEqual([expect.stringContaining("NOTHING WILL BE KEPT")]);
  expect(opened.description).toContain("memory");
});

test("a data directory that cannot be made is named instead of tried for ever", async () => {
  await expect(openEmbedded({ dataDir: "/proc/orrery" })).rejects.toMatchObject({
    code: "unwritable",
    message: expect.stringMatching(/^\/proc\/orrery: ENOENT.*; choose another with --data$/),
  });
});

test("a data directory that was asked for is never taken for memory where it cannot be used", async () => {
  for (const dataDir of ["/etc/passwd", "/proc", "/proc/orrery"]) {
    const refusal = { code: "foreign", message: expect.stringMatching(`^${dataDir}.*--data$`) };
    await expect(openServiceStore({ dataDir, isDataDirGiven: true })).rejects.toMatchObject(refusal);
    await using opened = await openServiceStore({ dataDir });
    expect(opened.description).toContain("memory");
  }
});

test("what keeps PostgreSQL's user out of the data directory is named", async () => {
  if (process.getuid?.() !== 0) return;
  const closed = join(await testDataDir(), "closed");
  await mkdir(closed);
  await chmod(closed, 0o700);
  await expect(openEmbedded({ dataDir: join(closed, "data") })).rejects.toMatchObject({
    code: "unwritable",
    message: expect.stringContaining(`may not enter ${closed}`),
  });
});

test("the store that is asked for is opened", async () => {
  const dataDir = await testDataDir();
  await using memory = await openServiceStore({ store: "memory", dataDir });
  expect(memory.store.backend).toBe("memory");
  await using embedded = await openServiceStore({ dataDir });
  expect(embedded.store.backend).toBe("postgresql");
  expect(embedded.description).toMatch(/^PostgreSQL \d+ in /);
  const url = `postgres://orrery:secret@/postgres?host=${encodeURIComponent(join(dataDir, "postgres"))}`;
  await using named = await openServiceStore({ store: url, dataDir });
  expect(await named.store.isReachable()).toBe(true);
  expect(named.description).toBe("PostgreSQL at postgres:///postgres");
});

test("a store that is none, or is not there, is refused with where its address may have come from", async () => {
  const dataDir = await testDataDir();
  await expect(openServiceStore({ store: "mysql://x", dataDir })).rejects.toMatchObject({
    code: "foreign",
    message: expect.stringContaining("--store or DATABASE_URL"),
  });
  await expect(openServiceStore({ store: "postgres://none.invalid/x", dataDir })).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/--store or DATABASE_URL.*cannot be reached/),
  });
});
