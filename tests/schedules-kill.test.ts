// Killed between submitting a recurring task and noting that it was: each time makes one task.

import pg from "pg";
import { expect, test } from "vitest";
import { PostgresStore } from "../src/store/postgres/store.ts";
import { SchedulerProcess } from "./scheduler-process.ts";
import { freshDatabase } from "./service.ts";

/** Few, so that it is short; `KILLS=20` for more. */
const KILLS = Number(process.env["KILLS"] ?? 2);
const WITHIN = { timeout: 60_000, interval: 10 };

test("a server that is killed between firing and noting it leaves one task for each time", async () => {
  const url = await freshDatabase();
  await makeSchedule(url);
  await using user = await connected(url);
  await using blocker = await connected(url);
  const count = async (text: string) =>
    Number((await user.query(`select count(*) from ${text}`)).rows[0].count);

  for (let kill = 0; kill < KILLS; kill++) {
    // It can be read, and nothing can be noted.
    await blocker.query("begin");
    await blocker.query("lock table orrery.schedules in share mode");
    const scheduler = new SchedulerProcess(url);
    await expect.poll(() => count(WANTS_TO_NOTE), WITHIN).toBeGreaterThan(0);
    await scheduler.kill();
    // What it had sent must not be done after its death either.
    await user.query(`select pg_terminate_backend(pid) from ${WANTS_TO_NOTE}`);
    await expect.poll(() => count(WANTS_TO_NOTE), WITHIN).toBe(0);
    await blocker.query("rollback");
    // The same time was submitted again and again, as nobody could note it.
    expect(await count("orrery.tasks")).toBe(1);
  }

  const last = await SchedulerProcess.start(url);
  const now = Date.now();
  await expect.poll(() => count(`orrery.schedules where seen_to > ${now}`), WITHIN).toBe(1);
  await last.kill();
  const { rows } = await user.query("select key from orrery.idempotency_keys order by key");
  const seconds = rows.map(({ key }) => Date.parse(key.replace("schedule:s1:", "")) / 1000);
  const first = seconds[0] as number;
  expect(seconds).toEqual(seconds.map((_, at) => first + at));
  expect(await count("orrery.tasks")).toBe(seconds.length);
}, 180_000);

const WANTS_TO_NOTE = `pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%update schedules%'`;

async function makeSchedule(url: string): Promise<void> {
  await using store = await PostgresStore.open({ url });
  await store.schedules.save({
    id: "s1",
    zone: "default",
    agent: "ada",
    name: "every second",
    cron: "* * * * * *",
    timeZone: "UTC",
    task: JSON.stringify({ task_type: "beat", executor: "nobody" }),
    catchUp: "all",
    catchUpLimit: 100,
    overlap: "allow",
    startAt: -1,
    endAt: -1,
    paused: false,
    createdAt: Date.now(),
    seenTo: Date.now(),
    lastFiredAt: -1,
    lastTaskId: "",
    lastError: "",
    keyId: "",
  });
}

async function connected(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}
