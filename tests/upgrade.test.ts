// A store of the first release, opened by this one; and a store of a later release, which this one must leave alone.

import { readFileSync } from "node:fs";
import pg from "pg";
import { expect, test } from "vitest";
import { ChainVerifier } from "../src/ledger/index.ts";
import { migrations } from "../src/store/postgres/sql.ts";
import { task } from "../src/worker/index.ts";
import { startOrrery } from "./cli.ts";
import { freshDatabase, TestService } from "./service.ts";

const FIRST_RELEASE = readFileSync(new URL("golden/store-0001.sql", import.meta.url), "utf8");
/** As they were when the store was dumped. */
const ADMIN_KEY = { key: "sk-fixture-of-release-0001" };
const READER_KEY = { key: "sk-tcjBMxTrJcu6s8pfzIcmNiD_sjV3tYmk1T8938eQ-NI" };
const SHORT_LEASE = { leaseMs: 1_000 };
const LONG = { timeout: 30_000, interval: 100 };

interface Line {
  readonly id: string;
  readonly status: string;
  readonly task_type: string;
  readonly executor_id: string;
}

async function firstRelease(): Promise<string> {
  const url = await freshDatabase();
  await query(url, FIRST_RELEASE);
  return url;
}

async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

async function tasksOf(service: TestService, status: string): Promise<Line[]> {
  return (await service.get(`tasks?status=${status}&limit=100`, ADMIN_KEY)).body.tasks as Line[];
}

test("a store of the first release is migrated, and everything in it is served", async () => {
  const url = await firstRelease();
  await using service = await TestService.start("postgresql", SHORT_LEASE, url);
  const applied = await query<{ name: string }>(url, "select name from orrery.migrations order by number");
  expect(applied.map(({ name }) => name)).toEqual(migrations().map(({ name }) => name));

  const { body } = await service.get("metrics", READER_KEY);
  expect(body.totals).toMatchObject({ completed: 4, failed: 1, cancelled: 1 });
  expect(body.totals.queued + body.totals.running).toBe(7);
  const completed = await tasksOf(service, "completed");
  expect(completed).toHaveLength(4);
  const first = completed.at(-1)?.id ?? "";
  const { body: one } = await service.get(`task/${first}`, ADMIN_KEY);
  expect(one).toMatchObject({ payload: { name: "Zoë" }, result: { greeting: "hello Zoë", nul: "a\0b" } });
  const log = await service.get(`task/${first}/log`, ADMIN_KEY);
  expect(log.body.lines).toMatchObject([{ text: "greeting Zoë" }]);
  const [failed] = await tasksOf(service, "failed");
  expect((await service.get(`task/${failed?.id}`, ADMIN_KEY)).body).toMatchObject({
    error_message: "it cannot be done",
  });
});

test("what was set and what was promised in the first release holds", async () => {
  await using service = await TestService.start("postgresql", SHORT_LEASE, await firstRelease());
  expect((await service.get("limits")).body.limits).toMatchObject([
    { name: "api", concurrency: 3, rate: { count: 100, per_seconds: 60 } },
  ]);
  const { agents } = (await service.get("agents")).body;
  expect(agents).toContainEqual(
    expect.objectContaining({ agent: "ann", max_concurrent: 2, credits: "12.5" }),
  );
  const repeated = await service.submit(
    { executor: "default", task_type: "hello", payload: { name: "once" }, idempotency_key: "order-1" },
    ADMIN_KEY,
  );
  expect(repeated).toMatchObject({ status: 200, body: { id: "01a1dff1-9e18-7f4b-a00c-6475694e0874" } });
  const { runs } = (await service.get("runs", ADMIN_KEY)).body;
  expect(runs).toMatchObject([
    { name: "waits", status: "running", nodes: 2 },
    { name: "good", status: "completed", nodes: 2 },
  ]);
  expect((await service.submit({}, READER_KEY)).status).toBe(403);
});

test("what waited or ran in the first release goes on, on the same chain", async () => {
  await using service = await TestService.start("postgresql", SHORT_LEASE, await firstRelease());
  const handlers = { hello: task(() => "done"), slow: task(() => "done") };
  await using _worker = service.worker(handlers, { executors: ["default", "nobody", "paused"], slots: 4 });
  // All but the one that is due in 2100 and the one whose executor is paused.
  await expect.poll(async () => (await tasksOf(service, "completed")).length, LONG).toBe(9);
  await service.post("resume", { executor: "paused" });
  await expect.poll(async () => (await tasksOf(service, "completed")).length, LONG).toBe(10);
  expect(await tasksOf(service, "queued")).toHaveLength(1);
  const ledger = String((await service.get("ledger")).body);
  const chain = new ChainVerifier();
  for (const line of ledger.trimEnd().split("\n")) expect(chain.accept(line)).not.toHaveProperty("code");
});

test("a store of a later release is left alone, and the message says what to use", async () => {
  const url = await firstRelease();
  await query(url, "insert into orrery.migrations values (9001, '9001_of_a_later_release', 'x')");
  const { finished } = startOrrery("/", ["serve", "--store", url, "--port", "0"]);
  expect(await finished).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/newer version of Orrery \(9001_of_a_later_release\); use that version/),
  });
  expect(await query(url, "select from orrery.migrations")).toHaveLength(2);
});
