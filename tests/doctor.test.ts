// `orrery doctor`: each check that can fail is made to fail by really breaking what it looks at.

import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Check } from "../src/cli/check.ts";
import { checkDataDir, checkFirstKey, checkNode, checkPort, judgeDisk } from "../src/cli/check-machine.ts";
import { checkStore, judgeSkew } from "../src/cli/check-store.ts";
import { openEmbedded } from "../src/store/embedded/cluster.ts";
import { inspectDataDir } from "../src/store/index.ts";
import { directoryWith, startOrrery } from "./cli.ts";
import { testDataDir } from "./postgres.ts";
import { TestService } from "./service.ts";

const DURABLE = { fsync: "on", full_page_writes: "on" };
const NOWHERE = "http://127.0.0.1:9";

async function sql(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

function named(checks: readonly Check[], name: string): Check | undefined {
  return checks.find((check) => check.name === name);
}

interface Report {
  readonly code: number | null;
  readonly stderr: string;
  readonly checks: readonly Check[];
}

async function doctor(args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd = "/"): Promise<Report> {
  const given = { DATABASE_URL: "", ORRERY_URL: "", ORRERY_API_KEY: "", ...env };
  const { code, stdout, stderr } = await startOrrery(cwd, ["doctor", "--json", ...args], given).finished;
  return { code, stderr, ...(JSON.parse(stdout) as { checks: Check[] }) };
}

describe("a database", () => {
  let url: string;
  beforeAll(async () => {
    await using service = await TestService.start("postgresql");
    url = service.storeUrl;
    for (let at = 0; at < 5; at++) await service.submit();
  });

  test("whose promises are off is said to lose what was acknowledged", async () => {
    // The shared one of the tests has them off.
    const checks = await checkStore(url);
    const off = checks.filter(({ name, result }) => name === "durability" && result === "fail");
    expect(off.map(({ detail }) => detail.split(" ")[0])).toEqual(["fsync", "full_page_writes"]);
    await sql(url, `alter database ${nameOf(url)} set synchronous_commit = off`);
    expect((await checkStore(url)).some(({ detail }) => detail.startsWith("synchronous_commit is off"))).toBe(
      true,
    );
    await sql(url, `alter database ${nameOf(url)} reset synchronous_commit`);
  });

  test("is as written, until a block, the head or a migration is not", async () => {
    expect(named(await checkStore(url), "chain")).toMatchObject({ result: "pass" });
    const broken = async (wrong: string, right: string): Promise<Check[]> => {
      await sql(url, wrong);
      const checks = await checkStore(url);
      await sql(url, right);
      return checks;
    };
    const changed = await broken(
      `update orrery.blocks set line = replace(line, 'test_task', 'test_tasK') where seq = (select min(seq) from orrery.blocks where line like '%test_task%')`,
      "update orrery.blocks set line = replace(line, 'test_tasK', 'test_task')",
    );
    expect(named(changed, "chain")).toMatchObject({
      result: "fail",
      detail: expect.stringMatching(/^event \d+: changed: event 1 of its block/),
    });
    for (const column of ["epoch", "now", "hash"]) {
      const place = "where seq = (select max(seq) from orrery.blocks)";
      const value = column === "hash" ? "reverse(hash)" : `${column} + 1`;
      const back = column === "hash" ? "reverse(hash)" : `${column} - 1`;
      const beside = await broken(
        `update orrery.blocks set ${column} = ${value} ${place}`,
        `update orrery.blocks set ${column} = ${back} ${place}`,
      );
      expect(named(beside, "chain")).toMatchObject({
        result: "fail",
        detail: expect.stringContaining(`the column ${column} of its block is`),
      });
    }
    const cut = await broken("update orrery.head set seq = seq + 7", "update orrery.head set seq = seq - 7");
    expect(named(cut, "chain")).toMatchObject({
      result: "fail",
      detail: expect.stringContaining("truncated"),
    });
    const other = await broken(
      "update orrery.migrations set hash = 'x' || hash where number = 1",
      "update orrery.migrations set hash = substr(hash, 2) where number = 1",
    );
    expect(named(other, "migrations")).toMatchObject({
      result: "fail",
      detail: expect.stringContaining("is not what was applied"),
    });
    const newer = await broken(
      "insert into orrery.migrations values (9001, '9001_later', 'x')",
      "delete from orrery.migrations where number = 9001",
    );
    expect(named(newer, "migrations")).toMatchObject({
      result: "fail",
      detail: "a newer version of Orrery applied 9001_later",
      fix: "use that version",
    });
    const last = "(select max(number) from orrery.migrations)";
    const missing = await broken(
      `create table orrery.kept as select * from orrery.migrations where number = ${last}; delete from orrery.migrations where number = ${last}`,
      "insert into orrery.migrations select * from orrery.kept; drop table orrery.kept",
    );
    expect(named(missing, "migrations")).toMatchObject({ result: "warn" });
    expect(named(await checkStore(url), "migrations")).toMatchObject({ result: "pass" });
  });

  test("of another encoding, or with somebody else's tables, cannot be used", async () => {
    await sql(
      url,
      "create database ascii encoding 'SQL_ASCII' template template0 lc_collate 'C' lc_ctype 'C'",
    );
    const ascii = url.replace(nameOf(url), "ascii");
    expect(named(await checkStore(ascii), "encoding")).toMatchObject({ result: "fail" });
    expect(named(await checkStore(ascii), "migrations")).toMatchObject({ result: "pass" });
    await sql(ascii, "create schema orrery; create table orrery.stars (name text)");
    expect(named(await checkStore(ascii), "migrations")).toMatchObject({
      result: "fail",
      detail: "the schema orrery holds somebody else's tables",
    });
  });

  test("whose role may not make the schema is said to lack that", async () => {
    await sql(url, "create database bare");
    const bare = url.replace(nameOf(url), "bare");
    await sql(bare, "create role visitor login password 'v'");
    const checks = await checkStore(bare.replace("orrery@", "visitor:v@"));
    expect(named(checks, "migrations")).toMatchObject({
      result: "fail",
      fix: expect.stringContaining("grant create on database"),
    });
    await sql(bare, "grant create on database bare to visitor");
    const granted = await checkStore(bare.replace("orrery@", "visitor:v@"));
    expect(named(granted, "migrations")).toMatchObject({ result: "pass" });
  });

  test("that is not there, or has another name, is said with what to check", async () => {
    expect(await checkStore("postgres://u:secret@127.0.0.1:9/x")).toMatchObject([
      {
        result: "fail",
        detail: expect.stringContaining("ECONNREFUSED"),
        fix: expect.stringContaining("port"),
      },
    ]);
    const [other] = await checkStore(url.replace(nameOf(url), "no_such_database"));
    expect(other).toMatchObject({ result: "fail", fix: expect.stringContaining("make the database") });
    expect(await checkStore("mysql://x")).toMatchObject([{ result: "fail" }]);
  });
});

test("a private PostgreSQL: the password, its connections, who runs it", async () => {
  const dataDir = await testDataDir();
  const settings = { ...DURABLE, max_connections: "10" };
  const embedded = await openEmbedded({ dataDir, settings });
  expect(named(await checkStore(embedded.url), "connections")).toMatchObject({ result: "fail" });
  expect(named(await checkStore(embedded.url), "durability")).toMatchObject({ result: "pass" });

  const hba = join(dataDir, "postgres", "pg_hba.conf");
  await sql(embedded.url, "create role ann login password 'right'");
  await writeFile(hba, `local all ann scram-sha-256\n${await readFile(hba, "utf8")}`);
  await sql(embedded.url, "select pg_reload_conf()");
  const asAnn = embedded.url.replace("orrery@", "ann:wrong@");
  await expect
    .poll(async () => (await checkStore(asAnn))[0], { timeout: 10_000 })
    .toMatchObject({ result: "fail", fix: "check the user and the password in the URL" });
  expect(JSON.stringify(await checkStore(asAnn))).not.toContain("wrong@");

  const facts = await inspectDataDir(dataDir);
  expect(facts).toMatchObject({ isInUse: true, leftovers: [] });
  expect(checkDataDir(dataDir, facts)).toMatchObject([{ name: "data", result: "pass" }]);
  // As after kill -9 of the server: the lock is gone, PostgreSQL is not.
  expect(checkDataDir(dataDir, { ...facts, isInUse: false })).toMatchObject([
    { name: "leftovers", result: "warn", fix: expect.stringContaining(`kill -INT ${facts.pid}`) },
    { name: "data" },
  ]);
  await embedded[Symbol.asyncDispose]();
  await mkdir(join(dataDir, "postgres.new"));
  await writeFile(join(dataDir, "postgres", "postmaster.pid"), "999999\n");
  expect(checkDataDir(dataDir, await inspectDataDir(dataDir))).toMatchObject([
    { name: "leftovers", result: "warn", detail: expect.stringContaining("postgres.new") },
    { name: "data", result: "warn" },
  ]);
});

describe("a server", () => {
  let fake: Server | undefined;
  afterAll(() => fake?.close());

  test("that is ready, and has workers, or has none", async () => {
    await using service = await TestService.start("memory");
    const args = ["--store", "memory", "--server", service.server.url];
    const key = { ORRERY_API_KEY: "sk-test-admin-0123456789-and-0123456789" };
    const none = await doctor(args, key);
    expect(none).toMatchObject({ code: 0 });
    expect(named(none.checks, "server")).toMatchObject({ result: "pass" });
    expect(named(none.checks, "workers")).toMatchObject({ result: "warn" });
    await using _worker = service.worker({});
    expect(named((await doctor(args, key)).checks, "workers")).toMatchObject({ result: "pass" });
    const refused = await doctor(args, { ORRERY_API_KEY: "sk-nobody-knows-this-one" });
    expect(refused.code).toBe(1);
    expect(named(refused.checks, "workers")).toMatchObject({ result: "fail" });
    expect(JSON.stringify(refused.checks)).not.toContain("sk-nobody");
  });

  test("that is down, whose clock is wrong, or that is none", async () => {
    const date = new Date(Date.now() - 3_600_000).toUTCString();
    fake = createServer((_, response) => {
      response.setHeader("date", date);
      response.writeHead(503).end('{"status":"starting","detail":"it opens its store"}');
    });
    await new Promise<void>((resolve) => fake?.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(fake.address() as AddressInfo).port}`;
    const { code, checks } = await doctor(["--server", url, "--store", "postgres://127.0.0.1:9/x"]);
    expect(code).toBe(1);
    expect(named(checks, "server")).toMatchObject({
      result: "fail",
      detail: expect.stringContaining("opens its store"),
    });
    expect(named(checks, "clock of the server")).toMatchObject({
      result: "warn",
      detail: expect.stringContaining("behind"),
    });
    // It is ours that has it.
    expect(named(checks, "port")).toBeUndefined();
    expect(named(checks, "store")).toMatchObject({ result: "fail" });
    const other = createServer((_, response) => void response.end("hello"));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const taken = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { checks: ofOther } = await doctor(["--server", taken, "--store", "memory"]);
    expect(named(ofOther, "server")).toMatchObject({ detail: expect.stringContaining("no Orrery") });
    expect(named(ofOther, "port")).toMatchObject({ detail: expect.stringContaining("taken") });
    other.close();
    const down = await doctor(["--server", NOWHERE, "--store", "memory"]);
    expect(down.code).toBe(1);
    expect(named(down.checks, "server")).toMatchObject({
      result: "fail",
      fix: expect.stringContaining("orrery serve"),
    });
  });
});

test("key files that others can read fail, and so does a first key that is too short", async () => {
  const cwd = await directoryWith({ "dev-key": "sk-x" });
  await chmod(join(cwd, "dev-key"), 0o644);
  const { code, checks } = await doctor(["--data", cwd], { ORRERY_API_KEY: "short" });
  expect(code).toBe(1);
  expect(named(checks, "key file")).toMatchObject({
    result: "fail",
    fix: expect.stringContaining("chmod 600"),
  });
  expect(named(checks, "first key")).toMatchObject({ result: "fail" });
  await chmod(join(cwd, "dev-key"), 0o600);
  expect(named((await doctor(["--data", cwd])).checks, "key file")).toMatchObject({ result: "pass" });
  expect(checkFirstKey("0123456789abcdef0123456789abcdef")).toEqual([]);
});

test("what cannot be broken here is judged by what it would say", async () => {
  expect(["20.20.0", "22.1.0"].map((version) => checkNode(version).result)).toEqual(["pass", "pass"]);
  expect(["18.20.1", "20.19.9"].map((version) => checkNode(version).result)).toEqual(["fail", "fail"]);
  const GIB = 1024 ** 3;
  expect([100 * GIB, 4 * GIB, GIB / 4].map((free) => judgeDisk(free, 200 * GIB, "/d").result)).toEqual([
    "pass",
    "warn",
    "fail",
  ]);
  expect([-500, 5_000, -90_000].map((ms) => judgeSkew("clock", ms).result)).toEqual(["pass", "warn", "warn"]);
  expect(await checkPort("127.0.0.1", 0)).toMatchObject({ result: "pass" });
});

test("wrong usage ends with 2, and people get lines instead of JSON", async () => {
  const wrong = await startOrrery("/", ["doctor", "--server", "nonsense"]).finished;
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("is no URL of a server") });
  const { stdout, code } = await startOrrery("/", ["doctor", "--store", "memory", "--server", NOWHERE])
    .finished;
  expect([code, stdout.split("\n").at(-2)]).toEqual([1, expect.stringMatching(/^1 failed, \d to look at$/)]);
  expect(stdout).toMatch(/^FAIL {2}server: no server answers.*\n {6}→ start one/m);
});

function nameOf(url: string): string {
  return /\/([^/?]+)\?/.exec(url)?.[1] ?? "";
}
