// Killed between taking in and dropping the rows, again and again: each submission becomes a task once.

import pg from "pg";
import { expect, test } from "vitest";
import { SchedulerProcess } from "./scheduler-process.ts";
import { freshDatabase } from "./service.ts";

/** Few, so that it is short; `KILLS=20` for more. */
const KILLS = Number(process.env["KILLS"] ?? 2);
const ROWS = 5;
const WITHIN = { timeout: 60_000, interval: 10 };

test("a server that is killed between taking in and dropping the rows leaves each submission as one task", async () => {
  const url = await freshDatabase();
  await (await SchedulerProcess.start(url)).kill();
  await using user = await connected(url);
  await using blocker = await connected(url);
  const ids: string[] = [];
  const count = async (text: string) =>
    Number((await user.query(`select count(*) from ${text}`)).rows[0].count);

  for (let kill = 0; kill < KILLS; kill++) {
    for (let row = 0; row < ROWS; row++) {
      // One with a key, and one that ends at once and so is no longer known to the scheduler.
      const options = [{ idempotency_key: `k${kill}` }, { deadline: "2020-01-01T00:00:00Z" }][row] ?? {};
      const { rows } = await user.query("select orrery.submit('t', '{}', $1) as id", [options]);
      ids.push(rows[0].id);
    }
    // Rows can be read, and not dropped.
    await blocker.query("begin");
    await blocker.query("lock table orrery.inbox in share mode");
    const scheduler = new SchedulerProcess(url);
    await expect.poll(() => count("orrery.tasks"), WITHIN).toBe(ids.length);
    await expect.poll(() => count(WANTS_TO_DROP), WITHIN).toBeGreaterThan(0);
    await scheduler.kill();
    // What it had sent must not be done after its death either.
    await user.query(`select pg_terminate_backend(pid) from ${WANTS_TO_DROP}`);
    await expect.poll(() => count(WANTS_TO_DROP), WITHIN).toBe(0);
    await blocker.query("rollback");
    expect(await count("orrery.inbox")).toBe(ROWS * (kill + 1));
  }

  const last = await SchedulerProcess.start(url);
  await expect.poll(() => count("orrery.inbox"), WITHIN).toBe(0);
  await last.kill();
  const tasks = await user.query("select id from orrery.tasks order by submitted_seq");
  expect(tasks.rows.map(({ id }) => id)).toEqual(ids);
  const lines = await user.query("select string_agg(line, E'\\n') as text from orrery.blocks");
  expect(lines.rows[0].text.match(/"TaskSubmitted"/g)).toHaveLength(ids.length);
}, 180_000);

const WANTS_TO_DROP = `pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%delete from inbox%'`;

async function connected(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}
