// What one caller can make the scheduler keep in memory (finding F2), as callers meet it.

import pg from "pg";
import { expect, test } from "vitest";
import { task } from "../src/worker/index.ts";
import { hoard, type Send } from "./attacks/hoard.ts";
import { TestService } from "./service.ts";

const MIB = 2 ** 20;
const SMALL = { config: { backlogBytes: 8 * MIB } };

function sendAs(service: TestService, agent?: string): Send {
  return (path, body, zone) => service.post(path, body, { zone, ...(agent !== undefined && { agent }) });
}

test("[F2] heavy tasks are refused by weight: an agent, a zone and the server have their limits, others go on", async () => {
  await using service = await TestService.start("memory", SMALL);
  const first = await hoard(sendAs(service, "greedy"), ["one"], { most: 4 });
  expect(first.refused).toBeGreaterThan(0);
  expect(first.detail).toMatch(
    /^waiting and running work of this agent holds 5(\.\d)? MiB of memory, and at most 5.1 MiB \(queue\.agent_share\)/,
  );
  const refused = await service.submit({ limits: ["x".repeat(250)] }, { zone: "one", agent: "greedy" });
  const honest = await service.submit({}, { zone: "one", agent: "honest" });
  expect([honest.status, refused.status]).toEqual([201, 201]);
  const second = await hoard(sendAs(service, "greedy-2"), ["one"], { most: 4 });
  expect(second.detail).toContain("queue.zone_share");
  expect((await service.submit({}, { zone: "two" })).status).toBe(201);
  const third = await hoard(sendAs(service), ["two", "three"], { most: 6 });
  expect(third.detail).toContain("queue.backlog_size");
});

test("[F2] a server that was filled up to its limit starts again with the same sums, and takes work when some has gone", async () => {
  await using service = await TestService.start("postgresql", SMALL);
  const { accepted } = await hoard(sendAs(service), ["one", "two"], { most: 10 });
  const { bytes, waiting } = service.leading.driver.state.accounts;
  await using again = await service.restart(SMALL);
  const { accounts } = again.leading.driver.state;
  expect([accounts.bytes, accounts.waiting, accepted]).toEqual([bytes, waiting, waiting]);
  const { body } = await again.get("tasks?status=queued&limit=50", { zone: "one" });
  for (const { id } of body.tasks) await again.post(`task/${id}/cancel`, {}, { zone: "one" });
  expect((await again.submit({}, { zone: "one" })).status).toBe(201);
});

test("[F2] a task that exceeds a limit by itself is not tried again", async () => {
  await using service = await TestService.start("memory", { config: { backlogBytes: 4000 } });
  const { status, body, headers } = await service.submit({ limits: ["x".repeat(250)] });
  expect([status, body.code, headers.get("retry-after")]).toEqual([503, "backlog", null]);
  expect(body.detail).toMatch(
    /this submission needs .* KiB of memory, and the server may have at most 3.9 KiB/,
  );
});

test("[F2] graphs obey the limit as well, and ended ones give their memory back", async () => {
  await using service = await TestService.start("memory", { config: { backlogBytes: 400_000 } });
  const graph = {
    nodes: Object.fromEntries(
      Array.from({ length: 200 }, (_, at) => [`n${at}`, { task: "t", executor: "nobody" }]),
    ),
  };
  const run = await service.post("runs", graph);
  expect(run.status).toBe(201);
  const refused = await service.post("runs", graph);
  expect([refused.status, refused.body.code]).toEqual([503, "backlog"]);
  await service.post(`runs/${run.body.id}/cancel`);
  expect((await service.post("runs", graph)).status).toBe(201);
});

test("[F2] a row of the inbox that is over the limit stays there without an error, and is taken when there is room", async () => {
  await using service = await TestService.start("postgresql", {
    config: { backlogBytes: 12_000, zoneShare: 1000, agentShare: 1000 },
  });
  const client = new pg.Client({ connectionString: service.storeUrl });
  await client.connect();
  try {
    const submit = "select orrery.submit('t', '{}', $1) as id";
    const ids: string[] = [];
    for (let at = 0; at < 12; at++)
      ids.push((await client.query(submit, [{ executor: "nobody", capabilities: [`c${at}`] }])).rows[0].id);
    const rows = async () =>
      (await client.query("select task_id, error from orrery.inbox order by number")).rows;
    await expect.poll(async () => (await rows()).length).toBeLessThan(12);
    const left = await rows();
    expect(left.length).toBeGreaterThan(0);
    expect(left.every(({ error }) => error === null || error === "")).toBe(true);
    const names = JSON.stringify(Array.from({ length: 21 }, (_, at) => `n${at}`));
    await expect(
      client.query(`select orrery.submit('t', '{}', '{"capabilities": ${names}}')`),
    ).rejects.toThrow("options.capabilities must be a list of up to 20 names");
    await expect(client.query(`select orrery.submit('t', '{}', '{"limits": ${names}}')`)).rejects.toThrow(
      "options.limits must be a list of up to 20 names",
    );
    const agent = left[0] && (await client.query("select session_user as name")).rows[0].name;
    const cancelTaken = async () => {
      for (const id of ids) await service.post(`task/${id}/cancel`, {}, { agent });
      return await rows();
    };
    await expect.poll(cancelTaken).toEqual([]);
  } finally {
    await client.end();
  }
});

test("[F2] more than 20 names are refused with the field, by HTTP and in graph files", async () => {
  await using service = await TestService.start("memory");
  const names = Array.from({ length: 21 }, (_, at) => `n${at}`);
  const amounts = Object.fromEntries(names.map((name) => [name, 2]));
  for (const [field, value] of [
    ["capabilities", names],
    ["limits", names],
    ["limits", amounts],
  ] as const) {
    const task = await service.submit({ [field]: value });
    expect([task.status, task.body.errors[0].pointer]).toEqual([422, `/${field}`]);
    expect(task.body.errors[0].detail).toContain("20");
    const run = await service.post("runs", { nodes: { a: { task: "t", [field]: value } } });
    expect(run.status).toBe(422);
    expect(JSON.stringify(run.body)).toContain(`${field} must not have more than 20 names, got 21`);
  }
});

test("[F2] names of limits that nobody configured make no limit, and a limit that is set later counts what runs under it", async () => {
  await using service = await TestService.start("memory");
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  await using _worker = service.worker({ hold: task(() => gate) }, { slots: 4 });
  for (let at = 0; at < 50; at++) await service.submit({ limits: [`made-up-${at}`] });
  expect(service.leading.driver.state.limits.size).toBe(0);
  await service.submit({ executor: "default", task_type: "hold", limits: ["db"] });
  await expect
    .poll(async () => (await service.get("limits")).body.limits)
    .toMatchObject([{ name: "db", running_count: 1 }]);
  await service.put("limits/db", { concurrency: 1 });
  const { body } = await service.submit({ executor: "default", task_type: "hold", limits: ["db"] });
  const why = await service.get(`task/${body.id}/why`);
  expect(JSON.stringify(why.body)).toContain("db");
  expect((await service.get(`task/${body.id}`)).body.status).toBe("queued");
  release();
  await expect.poll(async () => (await service.get(`task/${body.id}`)).body.status).toBe("completed");
});
