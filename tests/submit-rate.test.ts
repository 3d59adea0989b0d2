// How fast an agent may submit, as its users meet it.

import pg from "pg";
import { describe, expect, test } from "vitest";
import { OrreryClient } from "../src/client/index.ts";
import { BACKENDS, TestService } from "./service.ts";

const KEY = "sk-test-admin-0123456789-and-0123456789";
/** So slow that a busy machine cannot wait it out by accident. */
const SLOW = { count: 2, per_seconds: 600 };

describe.each(BACKENDS)("[Q-22] the rate of an agent on %s", (backend) => {
  test("is off by default, set by an admin, and answered with 429 and Retry-After", async () => {
    await using service = await TestService.start(backend);
    for (let at = 0; at < 20; at++) expect((await service.submit({}, { agent: "ada" })).status).toBe(201);
    const set = await service.put("agents/ada", { rate: SLOW });
    expect([set.status, set.body.rate, set.body.max_concurrent]).toEqual([200, SLOW, 10]);
    const statuses = [];
    for (let at = 0; at < 3; at++) statuses.push((await service.submit({}, { agent: "ada" })).status);
    expect(statuses).toEqual([201, 201, 429]);
    const refused = await service.submit({}, { agent: "ada" });
    expect(refused.headers.get("content-type")).toContain("application/problem+json");
    expect(refused.body).toMatchObject({ status: 429, code: "rate-limit", type: "/problems/rate-limit" });
    const waitS = Number(refused.headers.get("retry-after"));
    expect(Number.isInteger(waitS) && waitS > 200 && waitS <= 300).toBe(true);
    expect((await service.submit({}, { agent: "bob" })).status).toBe(201);
    expect((await service.submit({}, { agent: "ada", zone: "elsewhere" })).status).toBe(201);
    const agents = (await service.get("agents")).body.agents;
    expect(agents.find(({ agent }: { agent: string }) => agent === "ada").rate).toEqual(SLOW);
    await expect
      .poll(async () => (await service.get("/metrics")).body)
      .toMatch(/orrery_submissions_refused_total\{code="rate-limit"\} 2/);

    await service.put("agents/ada", { max_concurrent: 3 });
    expect((await service.submit({}, { agent: "ada" })).status).toBe(201);
    for (const rate of [{ count: 0, per_seconds: 1 }, { count: 1 }, 5, { count: 1.5, per_seconds: 1 }])
      expect((await service.put("agents/ada", { rate })).status).toBe(422);
    expect((await service.put("agents/ada", { rate: SLOW }, { agent: "ada" })).status).toBe(403);
  });

  test("refuses a part of a batch, as a full backlog does; the default is a setting; a graph counts as one", async () => {
    await using service = await TestService.start(backend, {
      config: { submitRate: 3, submitRatePeriodMs: 600_000 },
    });
    const task = { executor: "nobody", task_type: "t" };
    const { body } = await service.post(
      "submit/batch",
      { tasks: [task, task, task, task] },
      { agent: "ada" },
    );
    expect(body.results.map(({ status }: { status: number }) => status)).toEqual([201, 201, 201, 429]);
    expect(body.results[3].problem.code).toBe("rate-limit");
    const graph = {
      nodes: { a: { run: "true" }, b: { run: "true" }, c: { run: "true" }, d: { run: "true" } },
    };
    for (const status of [201, 201, 201, 429])
      expect((await service.post("runs", { graph }, { agent: "bob" })).status).toBe(status);
    await service.put("agents/ada", { rate: null });
    expect((await service.submit({}, { agent: "ada" })).status).toBe(201);
  });
});

test("[Q-22] a rate that is used up stays so when the server is started again", async () => {
  let service = await TestService.start("postgresql");
  await service.put("agents/ada", { rate: SLOW });
  for (const status of [201, 201, 429])
    expect((await service.submit({}, { agent: "ada" })).status).toBe(status);
  service = await service.restart();
  expect((await service.submit({}, { agent: "ada" })).status).toBe(429);
  await service[Symbol.asyncDispose]();
});

test("[Q-22] the client waits as long as it is told and tries again, but no longer than it may", async () => {
  await using service = await TestService.start("memory");
  await service.put("agents/ada", { rate: { count: 1, per_seconds: 1 } });
  const waits: number[] = [];
  const options = { url: service.server.url, key: KEY, agent: "ada" };
  const client = new OrreryClient({ ...options, onRetry: (_, waitMs) => waits.push(waitMs) });
  for (let at = 0; at < 3; at++) await client.submit({ task_type: "t" });
  expect(waits.length).toBeGreaterThanOrEqual(1);
  for (const waitMs of waits) expect(waitMs).toBeGreaterThanOrEqual(1000);
  await service.put("agents/ada", { rate: SLOW });
  const impatient = new OrreryClient({ ...options, retryForMs: 100 });
  for (let at = 0; at < 2; at++) await impatient.submit({ task_type: "t" }).catch(() => {});
  await expect(impatient.submit({ task_type: "t" })).rejects.toMatchObject({
    status: 429,
    code: "rate-limit",
  });
}, 30_000);

test("[Q-22] of a batch the client sends again what was refused for now, each task once, as long as some are taken", async () => {
  await using service = await TestService.start("memory");
  await service.put("agents/ada", { rate: { count: 3, per_seconds: 1 } });
  const waits: number[] = [];
  const options = { url: service.server.url, key: KEY, agent: "ada" };
  const client = new OrreryClient({ ...options, onRetry: (_, waitMs) => waits.push(waitMs) });
  const names = Array.from({ length: 10 }, (_, at) => `t${at}`);
  const results = await client.submitBatch(names.map((task_type) => ({ task_type, executor: "nobody" })));
  expect(results.map(({ status, task }) => [status, task?.task_type])).toEqual(
    names.map((name) => [201, name]),
  );
  expect(waits.length).toBeGreaterThanOrEqual(1);
  expect(new Set(results.map(({ task }) => task?.id)).size).toBe(10);
  expect((await service.get("tasks?executor=nobody")).body.tasks).toHaveLength(10);

  await service.put("agents/ada", { rate: SLOW });
  const rest = await client.submitBatch(names.map((task_type) => ({ task_type, executor: "nobody" })));
  const refused = rest.flatMap(({ problem }) => problem ?? []);
  expect(refused.length).toBeGreaterThanOrEqual(8);
  for (const { code, detail, retry_after: waitS } of refused) {
    expect(code).toBe("rate-limit");
    expect(detail).toMatch(/faster than it may; it may again in \d+ s$/);
    expect(waitS).toBeGreaterThan(200);
  }
}, 30_000);

test("[Q-22] rows of the inbox above their agent's rate wait, and hold up nobody else's", async () => {
  await using service = await TestService.start("postgresql");
  await service.put("agents/ada", { rate: SLOW });
  const user = new pg.Client({ connectionString: service.storeUrl });
  await user.connect();
  await user.query(`select orrery.submit('of ada', '{}', '{"agent": "ada"}') from generate_series(1, 5)`);
  const { rows } = await user.query(`select orrery.submit('of bob', '{}', '{"agent": "bob"}') as id`);
  const status = async () => (await service.get(`task/${rows[0].id}`)).status;
  await expect.poll(status, { timeout: 20_000 }).toBe(200);
  const waiting = async () => (await user.query("select from orrery.inbox where error is null")).rowCount;
  await expect.poll(waiting, { timeout: 20_000 }).toBe(3);
  await service.put("agents/ada", { rate: null });
  await user.end();
});
