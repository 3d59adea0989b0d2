// The 25 tests of the queue's specification, by their ids, on both backends.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BACKENDS, TestService } from "./service.ts";

const SUBMITTED_FIELDS = [
  "id",
  "status",
  "priority_tier",
  "priority_class",
  "effective_tier",
  "request_state",
  "executor_id",
  "agent_id",
  "task_type",
  "enqueued_at",
  "started_at",
  "completed_at",
  "deadline",
  "boost_amount",
  "error_message",
  "attempt",
  "zone",
  "payload",
];

describe.each(BACKENDS)("on %s", (backend) => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start(backend);
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const classOf = async (body: unknown) => (await service.post("classify", body)).body;

  test("scheduler/001 [Q-01] [Q-02] submit a task", async () => {
    const { status, body } = await service.submit({
      executor: "agent-worker-1",
      payload: { action: "noop" },
      priority: "normal",
      request_state: "pending",
      estimated_service_time: 30.0,
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      status: "queued",
      priority_tier: "normal",
      priority_class: "batch",
      effective_tier: 2,
      executor_id: "agent-worker-1",
      task_type: "test_task",
    });
    expect(body.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(body.enqueued_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test("scheduler/002 [Q-14] the same idempotency key is the same task", async () => {
    const key = randomUUID();
    const first = await service.submit({ idempotency_key: key, payload: { n: 1 } });
    const second = await service.submit({ idempotency_key: key, payload: { n: 1 } });
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.body.id).toBe(first.body.id);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    const other = await service.submit({ idempotency_key: key, payload: { n: 2 } });
    expect(other.status).toBe(422);
    const byHeader = await service.submit({ payload: { n: 1 } }, { headers: { "idempotency-key": key } });
    expect(byHeader.body.id).toBe(first.body.id);
    const ofOther = await service.submit(
      { idempotency_key: key, payload: { n: 1 } },
      { agent: "someone-else" },
    );
    expect(ofOther.status).toBe(201);
    expect(ofOther.body.id).not.toBe(first.body.id);
    const inOther = await service.submit({ idempotency_key: key, payload: { n: 1 } }, { zone: "elsewhere" });
    expect(inOther.status).toBe(201);
  });

  test("scheduler/003 [Q-07] [Q-08] each priority has its tier and class", async () => {
    const expected = [
      ["critical", 0, "interactive"],
      ["high", 1, "interactive"],
      ["normal", 2, "batch"],
      ["low", 3, "background"],
      ["best_effort", 4, "background"],
    ] as const;
    for (const [priority, tier, priorityClass] of expected) {
      const { body } = await service.submit({ priority });
      expect(body).toMatchObject({
        priority_tier: priority,
        effective_tier: tier,
        priority_class: priorityClass,
      });
    }
  });

  test("scheduler/004 [Q-04] a queued task is cancelled", async () => {
    const { body } = await service.submit();
    const cancelled = await service.post(`task/${body.id}/cancel`);
    expect(cancelled.status).toBe(200);
    expect(cancelled.body).toEqual({ cancelled: true, task_id: body.id });
    expect((await service.get(`task/${body.id}`)).body.status).toBe("cancelled");
  });

  test("scheduler/005 [Q-05] critical is interactive", async () => {
    expect(await classOf({ priority: "critical", request_state: "compute" })).toEqual({
      priority_class: "interactive",
    });
  });

  test("scheduler/006 [Q-05] normal is batch", async () => {
    expect(await classOf({ priority: "normal" })).toEqual({ priority_class: "batch" });
    expect(await classOf({})).toEqual({ priority_class: "batch" });
  });

  test("scheduler/007 [Q-05] low is background", async () => {
    expect(await classOf({ priority: "low" })).toEqual({ priority_class: "background" });
  });

  test("scheduler/008 [Q-08] waiting for input and output lifts background to batch", async () => {
    expect(await classOf({ priority: "low", request_state: "io_wait" })).toEqual({ priority_class: "batch" });
    const { body } = await service.submit({ priority: "low", request_state: "io_wait" });
    expect(body.priority_class).toBe("batch");
  });

  test("scheduler/009 [Q-05] every request state is valid, and one of the client's own counts as pending", async () => {
    for (const state of ["io_wait", "compute", "tool_call", "idle", "pending", "thinking hard"]) {
      const { status, body } = await service.post("classify", { priority: "normal", request_state: state });
      expect([status, body.priority_class]).toEqual([200, "batch"]);
    }
  });

  test("scheduler/010 [Q-05] an unknown priority is refused", async () => {
    const { status, headers, body } = await service.post("classify", { priority: "urgent" });
    expect(status).toBe(422);
    expect(headers.get("content-type")).toContain("application/problem+json");
    expect(body.errors[0]).toMatchObject({ pointer: "/priority" });
  });

  test("scheduler/011 [Q-02] a task is found by its id, with all fields", async () => {
    const { body } = await service.submit({ payload: { deep: { list: [1, "two", null] } } });
    const found = await service.get(`task/${body.id}`);
    expect(found.status).toBe(200);
    for (const field of SUBMITTED_FIELDS) expect(found.body).toHaveProperty(field);
    expect(found.body.payload).toEqual({ deep: { list: [1, "two", null] } });
  });

  test("scheduler/012 an unknown id is not found", async () => {
    expect((await service.get(`task/${randomUUID()}`)).status).toBe(404);
    expect((await service.get("task/not-an-id")).status).toBe(404);
  });

  test("scheduler/013 [Q-04] a second cancel changes nothing and is no error", async () => {
    const { body } = await service.submit();
    await service.post(`task/${body.id}/cancel`);
    const again = await service.post(`task/${body.id}/cancel`);
    expect([again.status, again.body.cancelled]).toEqual([200, false]);
  });

  test("scheduler/014 [Q-06] metrics have their form", async () => {
    const { status, body } = await service.get("metrics");
    expect(status).toBe(200);
    expect(body.queue_by_class).toHaveLength(3);
    for (const entry of body.queue_by_class) {
      expect(Object.keys(entry).sort()).toEqual(["avg_wait", "cnt", "max_wait", "priority_class"]);
    }
    expect(body).toMatchObject({ use_hrrn: true, backend, fair_share: expect.any(Object) });
  });

  test("scheduler/015 [Q-06] metrics count what was submitted", async () => {
    const zone = `counted-${randomUUID()}`;
    for (const priority of ["critical", "normal", "low"]) await service.submit({ priority }, { zone });
    const { body } = await service.get("metrics", { zone });
    const counts = body.queue_by_class.map((entry: { priority_class: string; cnt: number }) => [
      entry.priority_class,
      entry.cnt,
    ]);
    expect(counts).toEqual([
      ["interactive", 1],
      ["batch", 1],
      ["background", 1],
    ]);
  });

  test("scheduler/016 the answer says class and request state", async () => {
    const { body } = await service.submit({ priority: "high", request_state: "tool_call" });
    expect(body).toMatchObject({ priority_class: "interactive", request_state: "tool_call" });
  });

  test("scheduler/017 [Q-15] one zone shows nothing of another", async () => {
    const [a, b] = [`a-${randomUUID()}`, `b-${randomUUID()}`];
    const { body } = await service.submit({}, { zone: a });
    const metrics = await service.get("metrics", { zone: b });
    expect(metrics.body.queue_by_class.every((entry: { cnt: number }) => entry.cnt === 0)).toBe(true);
    expect((await service.get(`task/${body.id}`, { zone: b })).status).toBe(404);
    expect((await service.post(`task/${body.id}/cancel`, undefined, { zone: b })).body.cancelled).toBe(false);
    expect((await service.get("tasks", { zone: b })).body.tasks).toEqual([]);
    expect((await service.get(`task/${body.id}`, { zone: a })).status).toBe(200);
  });

  test("scheduler/018 [Q-21] 95 of 100 submissions are answered within 200 ms", async () => {
    await expectFast(20, 200, async () => (await service.submit()).status, 201);
  });

  test("scheduler/019 [Q-21] 95 of 100 reads are answered within 100 ms", async () => {
    const { body } = await service.submit();
    await expectFast(30, 100, async () => (await service.get(`task/${body.id}`)).status, 200);
  });

  test("scheduler/020 [Q-21] 95 of 100 classifications are answered within 100 ms", async () => {
    await expectFast(30, 100, async () => (await service.post("classify", { priority: "low" })).status, 200);
  });

  test("scheduler/021 [Q-21] 20 submissions at once all succeed, with ids of their own", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => service.submit()));
    expect(answers.every(({ status }) => status === 201)).toBe(true);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(20);
  });

  test("scheduler/022 [Q-21] a burst that is cancelled leaves nothing queued", async () => {
    const zone = `burst-${randomUUID()}`;
    const answers = await Promise.all(Array.from({ length: 10 }, () => service.submit({}, { zone })));
    const cancels = await Promise.all(
      answers.map(({ body }) => service.post(`task/${body.id}/cancel`, undefined, { zone })),
    );
    expect(cancels.every(({ body }) => body.cancelled === true)).toBe(true);
    const { body } = await service.get("metrics", { zone });
    expect(body.totals).toMatchObject({ queued: 0, running: 0, cancelled: 10 });
  });

  test("scheduler/023 [Q-16] without a key nothing is answered", async () => {
    const answers = await Promise.all([
      service.submit({}, { key: null }),
      service.post("classify", { priority: "low" }, { key: null }),
      service.get("metrics", { key: null }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
  });

  test("scheduler/024 [Q-16] a key that nobody made is refused", async () => {
    expect((await service.submit({}, { key: "sk-completely-bogus-key" })).status).toBe(401);
  });

  test("scheduler/025 [Q-16] a task is there for who made it, and an unknown id for nobody", async () => {
    const { body } = await service.submit({}, { agent: "ann" });
    expect((await service.get(`task/${body.id}`, { agent: "ann" })).status).toBe(200);
    const [foreign, unknown] = await Promise.all([
      service.get(`task/${body.id}`, { agent: "bob" }),
      service.get(`task/${randomUUID()}`, { agent: "bob" }),
    ]);
    expect(foreign.status).toBe(404);
    const same = ({ type, title, status, detail, code }: Record<string, unknown>) => ({
      type,
      title,
      status,
      detail,
      code,
    });
    expect(same(foreign.body)).toEqual(same(unknown.body));
  });
});

/**
 * The limits are the specification's, far above what an answer takes. The machine may be busy with something
 * else for a while, so one of three rounds has to keep them.
 */
async function expectFast(
  count: number,
  limitMs: number,
  ask: () => Promise<number>,
  status: number,
): Promise<void> {
  const rounds: number[] = [];
  for (let round = 0; round < 3 && !rounds.some((p95) => p95 < limitMs); round++) {
    const times: number[] = [];
    for (let at = 0; at < count; at++) {
      const from = performance.now();
      expect(await ask()).toBe(status);
      times.push(performance.now() - from);
    }
    rounds.push(times.sort((a, b) => a - b)[Math.ceil(count * 0.95) - 1] as number);
  }
  expect(Math.min(...rounds)).toBeLessThan(limitMs);
}
