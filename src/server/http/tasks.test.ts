import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cpuMsSince } from "../../../tests/cpu-time.ts";
import { API, bearer, type Served, serve } from "../../../tests/http-app.ts";

let served: Served;
beforeAll(async () => {
  served = await serve();
});
afterAll(async () => {
  await served.close();
});

const task = { executor: "worker-1", task_type: "test_task" };
const submit = (body: unknown, headers?: Record<string, string>) =>
  served.call("POST", `${API}/submit`, body, headers);

describe("a submission", () => {
  test("is answered with the task", async () => {
    const { status, body, headers } = await submit({ ...task, payload: { action: "noop" }, priority: "low" });
    expect(status).toBe(201);
    expect(headers["location"]).toBe(`${API}/task/${body.id}`);
    expect(body).toMatchObject({
      status: "queued",
      priority_tier: "low",
      priority_class: "background",
      effective_tier: 3,
      request_state: "pending",
      executor_id: "worker-1",
      agent_id: "admin",
      zone: "default",
      task_type: "test_task",
      started_at: null,
      completed_at: null,
      deadline: null,
      error_message: null,
      boost_amount: "0",
      attempt: 0,
      payload: { action: "noop" },
      result: null,
    });
    expect(body.enqueued_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect((await served.call("GET", `${API}/task/${body.id}`)).body).toEqual(body);
  });

  test("keeps odd texts in its payload as they are", async () => {
    const payload = { "\u0000": "\ud800 lone", emoji: "😀", nested: [[{}]] };
    const { status, body } = await submit({ ...task, payload });
    expect(status).toBe(201);
    expect(body.payload).toEqual(payload);
  });

  test("with a key is the same task again, and another request under the key is refused", async () => {
    const first = await submit({ ...task, payload: { a: 1, b: 2 }, idempotency_key: "k1" });
    const again = await submit(
      { payload: { b: 2, a: 1 }, ...task, priority: "normal" },
      { "idempotency-key": "k1" },
    );
    const other = await submit({ ...task, payload: { a: 2 }, idempotency_key: "k1" });
    expect([first.status, again.status, other.status]).toEqual([201, 200, 422]);
    expect(again.body.id).toBe(first.body.id);
    expect(again.headers["idempotency-replayed"]).toBe("true");
    expect(first.headers["idempotency-replayed"]).toBeUndefined();
    expect(other.body.code).toBe("key-reused");
  });

  test("with two different keys is refused", async () => {
    const { status, body } = await submit({ ...task, idempotency_key: "k2" }, { "idempotency-key": "k3" });
    expect(status).toBe(422);
    expect(body.errors[0].pointer).toBe("/idempotency_key");
  });

  test("that cannot be taken now says when to come back", async () => {
    const { api } = served.service;
    served.instead.submit = async () => [
      { accepted: false, code: "backlog", message: "full", retryAfterMs: 2500 },
    ];
    const refused = await submit(task);
    served.instead.submit = async (caller, tasks) =>
      (await api.submit(caller, tasks)).map((one) =>
        one.accepted ? { ...one, id: one.id, task: one.task, throttle: true } : one,
      );
    const slowed = await submit(task);
    delete served.instead.submit;
    expect([refused.status, refused.body.code, refused.headers["retry-after"]]).toEqual([
      503,
      "backlog",
      "3",
    ]);
    expect([slowed.status, slowed.headers["retry-after"]]).toEqual([201, "1"]);
  });
});

describe("a submission is refused with a pointer:", () => {
  const cases: readonly (readonly [what: string, body: unknown, pointer: string, says: RegExp])[] = [
    ["no executor", { task_type: "t" }, "/executor", /is missing, for example "agent-worker-1"/],
    ["empty type", { ...task, task_type: "" }, "/task_type", /fewer than 1/],
    ["long type", { ...task, task_type: "x".repeat(257) }, "/task_type", /more than 256/],
    ["control character", { ...task, executor: "a\u0000b" }, "/executor", /control characters/],
    ["broken Unicode", { ...task, executor: "\ud800" }, "/executor", /broken Unicode/],
    ["a timeout of nothing", { ...task, timeout: 0 }, "/timeout", /must be > 0/],
    ["a number as a name", { ...task, executor: 5 }, "/executor", /must be a text.*got 5/],
    ["a payload that is a list", { ...task, payload: [] }, "/payload", /must be an object.*got a list/],
    ["unknown priority", { ...task, priority: "urgent" }, "/priority", /"critical" or "high".*got "urgent"/],
    ["unknown state", { ...task, request_state: "x" }, "/request_state", /"io_wait" or/],
    ["misspelt property", { ...task, prioritty: "low" }, "/prioritty", /did you mean "priority"/],
    ["no time at all", { ...task, estimated_service_time: 0 }, "/estimated_service_time", /0/],
    ["negative boost", { ...task, boost: -1 }, "/boost", /must be/],
    ["boost in words", { ...task, boost: "much" }, "/boost", /decimal/],
    ["too fine a boost", { ...task, boost: "0.0000001" }, "/boost", /6 decimal places/],
    ["a time without a zone", { ...task, deadline: "2026-03-01T10:00:00" }, "/deadline", /zone/],
    ["30 February", { ...task, run_at: "2026-02-30T10:00:00Z" }, "/run_at", /time/],
    ["unknown unit", { ...task, resources: { memory: "5 parsecs" } }, "/resources/memory", /MiB/],
    ["unknown resource", { ...task, resources: { cpus: 1 } }, "/resources/cpus", /did you mean "cpu"/],
    ["tokens twice", { ...task, limits: { tokens: 5 }, tokens: 7 }, "/tokens", /stands in limits too/],
    ["a limit without a name", { ...task, limits: { "": 1 } }, "/limits/", /a name of no.*1 to 256/],
    ["half a token", { ...task, tokens: 0.5 }, "/tokens", /whole number/],
    ["no attempts", { ...task, max_attempts: 0 }, "/max_attempts", /1/],
    ["key too long", { ...task, idempotency_key: "k".repeat(257) }, "/idempotency_key", /256/],
    ["key broken", { ...task, idempotency_key: "k\ud800" }, "/idempotency_key", /broken Unicode/],
    ["key with a NUL", { ...task, idempotency_key: "k\0" }, "/idempotency_key", /control characters/],
    [
      "a whole number that would lose digits",
      `{"executor":"a","task_type":"b","payload":{"x":[9007199254740993]}}`,
      "",
      /9007199254740993, .*send it as a text/,
    ],
    [
      "an infinite number",
      `{"executor":"a","task_type":"b","payload":{"x":[1e999]}}`,
      "/payload/x/0",
      /too large/,
    ],
  ];
  test.each(cases)("%s", async (_what, body, pointer, says) => {
    const { status, body: problem, headers } = await submit(body);
    expect(status).toBe(422);
    expect(headers["content-type"]).toMatch("application/problem+json");
    expect(problem.code).toBe("invalid");
    expect(problem.errors.map((error: { pointer: string }) => error.pointer)).toEqual([pointer]);
    expect(problem.errors[0].detail).toMatch(says);
  });
});

test("units arrive exactly", async () => {
  const { body } = await submit({
    ...task,
    boost: 0.29,
    estimated_service_time: 1.0005,
    deadline: "2100-01-01T01:00:00+01:00",
  });
  expect(body).toMatchObject({
    boost_amount: "0.29",
    estimated_service_time: 1.001,
    deadline: "2100-01-01T00:00:00.000Z",
  });
});

describe("what is not a submission at all:", () => {
  const deep = `{"executor":"a","task_type":"b","payload":{"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`;
  const cases: readonly (readonly [
    what: string,
    body: string,
    type: string,
    status: number,
    code: string,
  ])[] = [
    ["broken JSON", '{"executor": }', "application/json", 400, "malformed"],
    ["no JSON", "", "application/json", 422, "invalid"],
    ["another type", "a=b", "application/x-www-form-urlencoded", 415, "unsupported-media-type"],
    ["a type that is none", "{}", "%%%", 415, "unsupported-media-type"],
    ["a prototype", '{"__proto__": {}}', "application/json", 422, "invalid"],
    ["too deep", deep, "application/json", 422, "invalid"],
    [
      "too large",
      JSON.stringify({ ...task, payload: { x: "y".repeat(1_200_000) } }),
      "application/json",
      413,
      "too-large",
    ],
    ["null", "null", "application/json", 422, "invalid"],
    ["a list", "[]", "application/json", 422, "invalid"],
  ];
  test.each(cases)("%s", async (_what, body, type, status, code) => {
    const answer = await submit(body, { "content-type": type });
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    if (status === 413) expect(answer.body.detail).toMatch(/more than the 1\.\d MiB .*; send less at once/);
  });
});

describe("a batch", () => {
  test("answers each in order", async () => {
    const tasks = ["a", "b", "c"].map((executor) => ({ executor, task_type: "t" }));
    const { status, body } = await served.call("POST", `${API}/submit/batch`, { tasks });
    expect(status).toBe(200);
    expect(
      body.results.map((one: { status: number; task: { executor_id: string } }) => [
        one.status,
        one.task.executor_id,
      ]),
    ).toEqual([
      [201, "a"],
      [201, "b"],
      [201, "c"],
    ]);
  });

  test("with one broken item submits nothing", async () => {
    const tasks = [
      { executor: "broken-batch", task_type: "t" },
      { executor: "broken-batch", task_type: "t", boost: "x" },
    ];
    const { status, body } = await served.call("POST", `${API}/submit/batch`, { tasks });
    expect([status, body.errors[0].pointer]).toEqual([422, "/tasks/1/boost"]);
    expect((await served.call("GET", `${API}/tasks?executor=broken-batch`)).body.tasks).toEqual([]);
  });

  test("refuses items one by one", async () => {
    served.instead.submit = async () => [{ accepted: false, code: "fair-share", message: "enough" }];
    const { status, body } = await served.call("POST", `${API}/submit/batch`, { tasks: [task] });
    delete served.instead.submit;
    expect([status, body.results[0].status, body.results[0].problem.code]).toEqual([200, 429, "fair-share"]);
  });
});

describe("a task", () => {
  test("is cancelled once, with whatever body", async () => {
    const bodies = [undefined, "", "{}", "not json", "a=b"];
    const types = [undefined, "application/json", "text/plain", "%%%"];
    for (const body of bodies)
      for (const type of types) {
        const { id } = (await submit(task)).body;
        const cancel = () =>
          served.app.inject({
            method: "POST",
            url: `${API}/task/${id}/cancel`,
            headers: {
              ...bearer("an-admin-key-of-tests-and-0123456789"),
              ...(type ? { "content-type": type } : {}),
            },
            ...(body === undefined ? {} : { payload: body }),
          });
        expect((await cancel()).json()).toEqual({ cancelled: true, task_id: id });
        const again = await cancel();
        expect([again.statusCode, again.json()]).toEqual([200, { cancelled: false, task_id: id }]);
      }
  });

  test("that is unknown or no id at all is not found, and not cancelled", async () => {
    for (const id of ["00000000-0000-7000-8000-000000000000", "nonsense", "%00", "a%2Fb"]) {
      const found = await served.call("GET", `${API}/task/${id}`);
      expect([found.status, found.body.detail]).toEqual([404, "there is no such task"]);
      expect((await served.call("POST", `${API}/task/${id}/cancel`)).body.cancelled).toBe(false);
    }
  });

  test("can be waited for", async () => {
    const { id } = (await submit(task)).body;
    const waiting = served.call("GET", `${API}/task/${id}?wait=20`);
    await served.call("POST", `${API}/task/${id}/cancel`);
    expect((await waiting).body.status).toBe("cancelled");
  });

  test("goes back into the queue only after it failed or was cancelled", async () => {
    const { id } = (await submit(task)).body;
    expect((await served.call("POST", `${API}/task/${id}/retry`)).body.code).toBe("not-ended");
    await served.call("POST", `${API}/task/${id}/cancel`);
    expect((await served.call("POST", `${API}/task/${id}/retry`)).body.status).toBe("queued");
  });

  test("says why it waits", async () => {
    const { id } = (await submit(task)).body;
    const { body } = await served.call("GET", `${API}/task/${id}/why`);
    expect(body).toMatchObject({ id, status: "queued", placed: null });
    expect(body.waiting[0]).toMatchObject({ code: expect.any(String), text: expect.any(String) });
  });
});

describe("a list", () => {
  test("comes in pages", async () => {
    for (let n = 0; n < 5; n++) await submit({ executor: "paged", task_type: `t${n}` });
    const types: string[] = [];
    let query = "?executor=paged&limit=2";
    for (;;) {
      const { body } = await served.call("GET", `${API}/tasks${query}`);
      types.push(...body.tasks.map((one: { task_type: string }) => one.task_type));
      if (body.next === null) break;
      query = `?executor=paged&limit=2&cursor=${body.next}`;
    }
    expect(types).toEqual(["t4", "t3", "t2", "t1", "t0"]);
  });

  test("can be narrowed by several statuses", async () => {
    const { id } = (await submit({ executor: "narrowed", task_type: "t" })).body;
    await submit({ executor: "narrowed", task_type: "t" });
    await served.call("POST", `${API}/task/${id}/cancel`);
    const count = async (query: string) =>
      (await served.call("GET", `${API}/tasks?executor=narrowed&${query}`)).body.tasks.length;
    expect(await count("status=queued")).toBe(1);
    expect(await count("status=queued,cancelled")).toBe(2);
    expect(await count("status=queued&status=cancelled")).toBe(2);
  });

  test.each([
    ["limit=0", "/limit"],
    ["limit=1001", "/limit"],
    ["limit=x", "/limit"],
    ["limit=", "/limit"],
    ["status=qeued", "/status"],
    ["cursor=abc", "/cursor"],
    ["executor=%00", "/executor"],
    ["exekutor=a", "/exekutor"],
  ])("refuses %s", async (query, pointer) => {
    const { status, body } = await served.call("GET", `${API}/tasks?${query}`);
    expect([status, body.errors[0].in, body.errors[0].pointer]).toEqual([422, "query", pointer]);
  });
});

describe("the queue", () => {
  test("always lists all three classes", async () => {
    const { body } = await served.call("GET", `${API}/metrics`, undefined, { "x-zone-id": "empty" });
    expect(body.queue_by_class).toEqual(
      ["interactive", "batch", "background"].map((name) => ({
        priority_class: name,
        cnt: 0,
        avg_wait: 0,
        max_wait: 0,
      })),
    );
    expect(body).toMatchObject({ backend: "memory", totals: { queued: 0 } });
  });

  test.each([
    [{}, "batch"],
    [{ priority: "critical", request_state: "compute" }, "interactive"],
    [{ priority: "low" }, "background"],
    [{ priority: "low", request_state: "io_wait" }, "batch"],
    [{ priority: "low", request_state: "of-my-own" }, "background"],
  ])("classifies %j", async (body, expected) => {
    expect((await served.call("POST", `${API}/classify`, body)).body).toEqual({ priority_class: expected });
  });

  test.each([{ priority: "x" }, { priority: 1 }, { request_state: 1 }, { prio: "low" }])(
    "does not classify %j",
    async (body) => {
      expect((await served.call("POST", `${API}/classify`, body)).status).toBe(422);
    },
  );
});

describe("a submission that is all wrong is refused shortly:", () => {
  const many = (count: number, item: (index: number) => string) =>
    Array.from({ length: count }, (_, n) => item(n)).join(",");
  test.each([
    ["too many tasks", "/submit/batch", `{"tasks":[${many(1_000_000, () => "{}")}]}`, 1],
    ["tasks without anything", "/submit/batch", `{"tasks":[${many(10_000, () => "{}")}]}`, 100],
    ["a batch of unknown names", "/submit/batch", `{"tasks":[{${many(90_000, (n) => `"n${n}":1`)}}]}`, 22],
    ["unknown names", "/submit", `{${many(60_000, (n) => `"priorit${n}":1`)}}`, 22],
    ["a long name", "/submit", `{"executor":"e","task_type":"t","${"x".repeat(1_000_000)}":1}`, 1],
  ])("%s", { timeout: 30_000 }, async (_what, path, body, count) => {
    const before = process.cpuUsage();
    const answer = await served.call("POST", `${API}${path}`, body);
    expect(cpuMsSince(before)).toBeLessThan(5000);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toHaveLength(count);
    expect(answer.text.length).toBeLessThan(50_000);
  });
});
