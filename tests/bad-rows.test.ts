// Rows that are not as they were written: a server starts all the same, and the rest of them works.

import pg from "pg";
import { expect, test } from "vitest";
import { TestService } from "./service.ts";

test("[S-26.rows] a server starts with rows that it cannot read, says which, and serves", async () => {
  const before = await TestService.start("postgresql");
  const task = { task_type: "echo", executor: "nobody" };
  const made = await before.post("schedules", { name: "sound", cron: "0 6 * * *", task });
  expect(made.status).toBe(201);
  const hook = await before.post("webhooks", {
    url: "https://93.184.216.34/hook",
    events: ["task.completed"],
  });
  expect(hook.status).toBe(201);
  await before[Symbol.asyncDispose]();

  const user = new pg.Client({ connectionString: before.storeUrl });
  await user.connect();
  const columns =
    "zone, agent, name, catch_up, catch_up_limit, overlap, start_at, end_at, paused, created_at, seen_to, last_fired_at, last_task_id, last_error";
  const copyOf = (id: string, changed: string) =>
    user.query(
      `insert into orrery.schedules (id, cron, time_zone, task, ${columns}) select '${id}', ${changed}, ${columns} from orrery.schedules where id = $1`,
      [made.body.id],
    );
  await copyOf("bad-cron", "'every day', time_zone, task");
  await copyOf("bad-zone", "cron, 'Mars/Olympus', task");
  await copyOf("bad-task", "'* * * * * *', time_zone, '{\"task_type\":'");
  await copyOf("bad-form", "'* * * * * *', time_zone, '{}'");
  await user.query("update orrery.webhooks set secrets = '[{'");
  await user.query(
    "insert into orrery.api_keys values ('odd', '', 'odd', '{nothing}', '{}', '{}', -1, -1, -1)",
  );
  await user.end();

  await using after = await before.restart();
  const submitted = await after.post("submit", task);
  expect(submitted.status).toBe(201);
  const list = await after.get("schedules");
  expect(list.status).toBe(200);
  const ids = list.body.schedules.map((one: { id: string }) => one.id);
  expect(new Set(ids)).toEqual(new Set(["bad-form", made.body.id]));
  const hooks = await after.get("webhooks");
  expect([hooks.status, hooks.body.webhooks[0].disabled_reason]).toEqual([
    200,
    "its secrets in the store cannot be read; delete it, and make it anew",
  ]);
  expect((await after.get("keys")).status).toBe(200);
});
