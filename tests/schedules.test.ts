// Recurring tasks, on both stores.

import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OrreryClient } from "../src/client/index.ts";
import { task } from "../src/worker/index.ts";
import { directoryWith, orrery } from "./cli.ts";
import { BACKENDS, TestService } from "./service.ts";

const WITHIN = { timeout: 30_000, interval: 20 };
const KEY = "sk-test-admin-0123456789-and-0123456789";

describe.each(BACKENDS)("recurring tasks on %s", (backend) => {
  let service: TestService;
  let client: OrreryClient;
  beforeAll(async () => {
    service = await TestService.start(backend);
    client = new OrreryClient({ url: service.server.url, key: KEY });
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
  });

  const report = { name: "report", cron: "0 6 * * *", task: { task_type: "report", executor: "nobody" } };
  const create = (changed: object = {}, options = {}) =>
    service.post("schedules", { ...report, ...changed }, options);

  test("one is made, listed, shown, paused, resumed, run and deleted", async () => {
    const made = await create({ time_zone: "Europe/Berlin", task: { ...report.task, payload: { n: 1 } } });
    expect([made.status, made.headers.get("location")]).toEqual([
      201,
      `/api/v2/scheduler/schedules/${made.body.id}`,
    ]);
    const { id } = made.body;
    expect(made.body).toMatchObject({
      name: "report",
      agent_id: "admin",
      zone: "default",
      time_zone: "Europe/Berlin",
      catch_up: "latest",
      overlap: "allow",
      paused: false,
      last_fired_at: null,
      last_task_id: null,
      task: { task_type: "report", executor: "nobody", payload: { n: 1 } },
    });
    expect(made.body.next_times).toHaveLength(5);
    expect((await client.schedules.list()).map((one) => one.id)).toContain(id);
    expect((await client.schedules.pause(id)).next_times).toEqual([]);
    expect((await client.schedules.resume(id)).next_times).toHaveLength(5);
    const ran = await client.schedules.run(id);
    expect(ran).toMatchObject({ task_type: "report", payload: { n: 1 }, status: "queued" });
    expect(await client.schedules.delete(id)).toEqual({ deleted: true, schedule_id: id });
    for (const [method, path] of [
      ["GET", ""],
      ["POST", "/run"],
      ["POST", "/pause"],
      ["DELETE", ""],
    ] as const)
      expect((await service.request(method, `schedules/${id}${path}`)).status).toBe(404);
  });

  test("one that is deleted while it is changed stays deleted", async () => {
    for (const change of ["pause", "resume"] as const) {
      const made = await Promise.all(Array.from({ length: 10 }, () => create()));
      const ids = made.map(({ body }) => body.id as string);
      if (change === "resume") await Promise.all(ids.map((id) => client.schedules.pause(id)));
      await Promise.all(
        ids.flatMap((id) => [
          service.request("POST", `schedules/${id}/${change}`),
          service.request("DELETE", `schedules/${id}`),
        ]),
      );
      const left = await client.schedules.list();
      expect(left.filter(({ id }) => ids.includes(id))).toEqual([]);
    }
  });

  test("it fires at its second, once for each, and the tasks run", async () => {
    const began: number[] = [];
    await using _ = service.worker({
      beat: task(() => {
        began.push(Date.now());
      }),
    });
    const createdAt = Date.now();
    const { id } = await client.schedules.create({
      name: "beat",
      cron: "* * * * * *",
      task: { task_type: "beat" },
    });
    await expect.poll(() => began.length, WITHIN).toBeGreaterThanOrEqual(3);
    await client.schedules.delete(id);
    const { body } = await service.get("tasks?task_type=beat&limit=1000");
    expect(body.tasks.length).toBeLessThanOrEqual(Math.ceil((Date.now() - createdAt) / 1000) + 1);
  });

  test("with overlap skip there is none while the last has not ended, and it says so", async () => {
    const { id } = await client.schedules.create({
      name: "slow",
      cron: "* * * * * *",
      overlap: "skip",
      task: { task_type: "slow", executor: "nobody" },
    });
    await expect
      .poll(async () => (await client.schedules.show(id)).last_error, WITHIN)
      .toMatch(/^task .* had not ended$/);
    const tasks = (await service.get("tasks?task_type=slow")).body.tasks;
    expect(tasks).toHaveLength(1);
    await client.cancel(tasks[0].id);
    await expect
      .poll(async () => (await service.get("tasks?task_type=slow")).body.tasks.length, WITHIN)
      .toBe(2);
    await client.schedules.delete(id);
  });

  test("what is wrong is refused, with the field", async () => {
    const cases: readonly (readonly [body: object, pointer: string])[] = [
      [{ cron: "nonsense" }, "/cron"],
      [{ cron: "99 * * * *" }, "/cron"],
      [{ time_zone: "Nowhere" }, "/time_zone"],
      [{ catch_up: "some" }, "/catch_up"],
      [{ catch_up_limit: 101 }, "/catch_up_limit"],
      [{ overlap: "maybe" }, "/overlap"],
      [{ start_at: "soon" }, "/start_at"],
      [{ start_at: "2036-01-01T00:00:00Z", end_at: "2035-01-01T00:00:00Z" }, "/end_at"],
      [{ name: "" }, "/name"],
      [{ task: { executor: "a" } }, "/task/task_type"],
      [{ task: { ...report.task, idempotency_key: "k" } }, "/task/idempotency_key"],
      [{ task: { ...report.task, priority: "urgent" } }, "/task/priority"],
      [{ task: { ...report.task, resources: { memory: "big" } } }, "/task/resources/memory"],
      [{ extra: 1 }, "/extra"],
    ];
    for (const [body, pointer] of cases) {
      const { status, body: problem } = await create(body);
      expect([status, problem.errors[0].pointer], pointer).toEqual([422, pointer]);
    }
  });

  test("another agent and another zone know nothing of it; an admin of its zone does", async () => {
    const { id } = (await create({}, { agent: "ada" })).body;
    for (const who of [{ agent: "bob" }, { zone: "elsewhere" }]) {
      expect((await service.get(`schedules/${id}`, who)).status).toBe(404);
      expect((await service.request("DELETE", `schedules/${id}`, undefined, who)).status).toBe(404);
      expect((await service.get("schedules", who)).body.schedules).toEqual([]);
    }
    expect((await service.get(`schedules/${id}`)).body.agent_id).toBe("ada");
    expect((await service.get("schedules", { agent: "ada" })).body.schedules).toHaveLength(1);
    const reader = await client.keys.create({
      name: "reader",
      scopes: ["read"],
      zones: ["*"],
      agents: ["*"],
    });
    expect((await create({}, { key: reader.secret })).status).toBe(403);
    expect((await service.post(`schedules/${id}/run`, undefined, { key: reader.secret })).status).toBe(403);
  });
});

test("what a server that led before has changed in its last moments is learned", async () => {
  await using service = await TestService.start("postgresql");
  const own = new OrreryClient({ url: service.server.url, key: KEY });
  const known = await own.schedules.create({ name: "known", cron: "0 6 * * *", task: { task_type: "t" } });
  const other = new pg.Client({ connectionString: service.storeUrl });
  await other.connect();
  try {
    await other.query(
      'insert into orrery.schedules select (jsonb_populate_record(s, \'{"id":"made-by-another"}\')).* from orrery.schedules s',
    );
    await other.query("delete from orrery.schedules where id = $1", [known.id]);
  } finally {
    await other.end();
  }
  await expect
    .poll(async () => (await own.schedules.list()).map(({ id }) => id), WITHIN)
    .toEqual(["made-by-another"]);
});

test("what is refused for now is tried again, and made once", async () => {
  await using small = await TestService.start("memory", { config: { backlogLimit: 1 } });
  const own = new OrreryClient({ url: small.server.url, key: KEY });
  const first = await own.submit({ task_type: "first", executor: "nobody" });
  const { id } = await own.schedules.create({
    name: "full",
    cron: "* * * * * *",
    task: { task_type: "full", executor: "nobody" },
  });
  await expect
    .poll(async () => (await small.get("/metrics")).body, WITHIN)
    .toMatch(/orrery_submissions_refused_total\{code="backlog"\} [1-9]/);
  const said = /^\d{4}-\S+Z is refused so far: too many tasks wait: /;
  await expect.poll(async () => (await own.schedules.show(id)).last_error, WITHIN).toMatch(said);
  await own.cancel(first.id);
  await expect.poll(async () => (await own.schedules.show(id)).last_task_id, WITHIN).not.toBeNull();
});

test("recurring tasks on the command line", async () => {
  await using service = await TestService.start("memory");
  const here = await directoryWith({});
  const run = (...args: string[]) =>
    orrery(here, "schedules", ...args, "--server", service.server.url, "--key", KEY);
  const made = await run("create", "report", "--cron", "30 6 * * 1-5", "--time-zone", "Europe/Berlin");
  expect([made.code, made.stderr]).toEqual([0, expect.stringMatching(/^next: 2\d{3}-/)]);
  const id = made.stdout.trim();
  expect((await run("list")).stdout).toContain("30 6 * * 1-5");
  expect((await run("pause", id)).stdout).toContain("30 6 * * 1-5 in Europe/Berlin");
  expect(JSON.parse((await run("show", id, "--json")).stdout)).toMatchObject({ id, name: "report" });
  expect((await run("delete", id)).code).toBe(0);
  expect((await run("show", id)).code).toBe(3);
  const wrong = await run("create", "report", "--cron", "30 25 * * *");
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringContaining("cron has an hour that cannot be read"),
  ]);
  for (const options of [[], ["--every", "5m"], ["--cron", "* * * * *", "--every", "5m"]]) {
    const lost = await run("create", "report", ...options);
    expect(lost.code).toBe(2);
    expect(lost.stderr).toContain(
      'say when with --cron, such as --cron "*/5 * * * *" for every five minutes',
    );
  }
  const other = await run("create", "report", "--cron", "* * * * *", "--catch-up", "some");
  expect([other.code, other.stderr]).toEqual([2, expect.not.stringContaining("say when")]);
}, 60_000);
