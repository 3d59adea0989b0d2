// Webhooks of a real server, on memory and on a real PostgreSQL, to a receiver on a real port.

import { describe, expect, test } from "vitest";
import type { WebhookSettings } from "../src/webhooks/index.ts";
import { task } from "../src/worker/index.ts";
import { BACKENDS, TestService } from "./service.ts";
import { Receiver } from "./webhook-receiver.ts";

const LOCAL: Partial<WebhookSettings> = {
  allowHttp: true,
  allow: ["127.0.0.0/8"],
  waitsMs: [20, 20, 20, 20],
};

const HANDLERS = {
  echo: task((payload) => payload),
  large: task(() => "x".repeat(70_000)),
  fail: task(() => {
    throw new Error("no way");
  }),
};

function started(backend: "memory" | "postgresql", settings: Partial<WebhookSettings> = {}) {
  return TestService.start(backend, { webhooks: { ...LOCAL, ...settings } });
}

async function submit(service: TestService, body: object, options = {}): Promise<string> {
  const answer = await service.submit({ executor: "default", max_attempts: 1, ...body }, options);
  expect(answer.status).toBe(201);
  return (answer.body as { id: string }).id;
}

async function create(service: TestService, body: object): Promise<{ id: string; secret: string }> {
  const answer = await service.post("webhooks", body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body as { id: string; secret: string };
}

describe.each(BACKENDS)("on %s", (backend) => {
  test("what ends is told, signed, with what is public of it", async () => {
    await using receiver = await Receiver.open();
    await using service = await started(backend);
    await using _worker = service.worker(HANDLERS);
    const before = await submit(service, { task_type: "echo" });
    await service.get(`task/${before}?wait=30`);
    const { secret } = await create(service, { url: receiver.url });
    const done = await submit(service, { task_type: "echo", payload: { secret: "in the payload" } });
    const failed = await submit(service, { task_type: "fail" });
    const cancelled = await submit(service, { executor: "nobody", task_type: "echo" });
    await service.post(`task/${cancelled}/cancel`);
    const run = await service.post("runs", {
      graph: { nodes: { a: { task: "fail", executor: "default" }, b: { task: "echo", needs: ["a"] } } },
    });
    const all = await receiver.until(6);
    const told = (id: string) => all.find(({ data }) => data.id === id);
    expect(told(before)).toBeUndefined();
    expect(told(done)).toMatchObject({
      type: "task.completed",
      data: { status: "completed", task_type: "echo", result_hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    expect(told(done)?.data).not.toHaveProperty("result");
    expect(told(done)?.body).not.toContain("in the payload");
    expect(told(failed)).toMatchObject({ type: "task.failed", data: { error_message: "no way" } });
    expect(told(cancelled)?.type).toBe("task.cancelled");
    expect(told(run.body.id)).toMatchObject({ type: "run.ended", data: { status: "failed", nodes: 2 } });
    const ofRun = all.filter(({ data }) => data.run_id === run.body.id);
    expect(ofRun.map(({ type, data }) => `${type} ${data.node} ${data.error_code}`).sort()).toEqual([
      "task.cancelled b skipped",
      "task.failed a error",
    ]);
    for (const { signaturesFrom, body } of all) {
      expect(signaturesFrom(secret)).toBe(1);
      expect(Object.keys(JSON.parse(body) as object)).toEqual(["type", "timestamp", "data"]);
    }
    expect(new Set(all.map(({ id }) => id)).size).toBe(6);
  });

  test("what was not taken is sent again under the same id, and the whole story can be read", async () => {
    await using receiver = await Receiver.open();
    await using service = await started(backend);
    await using _worker = service.worker(HANDLERS);
    const answers = [500, 302, 204];
    receiver.answer = (response) => response.writeHead(answers.shift() ?? 204, { location: "/" }).end();
    const { id } = await create(service, { url: receiver.url });
    await submit(service, { task_type: "echo" });
    const tries = await receiver.until(3);
    expect(new Set(tries.map((one) => one.id)).size).toBe(1);
    expect(new Set(tries.map(({ body }) => body)).size).toBe(1);
    await eventually(async () => {
      const { body } = await service.get(`webhooks/${id}/deliveries`);
      expect(body.deliveries).toMatchObject([
        { id: tries[0]?.id, status: "delivered", tries: 3, answered: 204, error: null, next_try_at: null },
      ]);
    });
    // The webhook is saved after its delivery.
    await eventually(async () => expect((await service.get(`webhooks/${id}`)).body.failing_since).toBeNull());
    await service.post(`webhooks/${id}/deliveries/${tries[0]?.id}/redeliver`);
    expect((await receiver.until(4))[3]?.id).toBe(tries[0]?.id);
    const { body: tested } = await service.post(`webhooks/${id}/test`);
    expect((await receiver.until(5))[4]).toMatchObject({ id: tested.id, type: "webhook.test" });
  });

  test("an end is told although its task is put back at once, and each end by itself", async () => {
    await using receiver = await Receiver.open();
    await using service = await started(backend);
    await using _worker = service.worker(HANDLERS);
    await create(service, { url: receiver.url, events: ["task.failed"] });
    const id = await submit(service, { task_type: "fail" });
    for (let ends = 0; ends < 3; ends++) {
      expect((await service.get(`task/${id}?wait=30`)).body.status).toBe("failed");
      expect((await service.post(`task/${id}/retry`)).status).toBe(200);
    }
    await service.get(`task/${id}?wait=30`);
    const told = await receiver.until(4);
    expect(new Set(told.map(({ data }) => data.attempt as number))).toEqual(new Set([1, 2, 3, 4]));
  });

  test("filters and results are as each webhook asks", async () => {
    await using receiver = await Receiver.open();
    await using service = await started(backend);
    await using _worker = service.worker(HANDLERS);
    const hook = (name: string) => `${receiver.url}?${name}`;
    for (const [name, filter] of Object.entries({
      type: { task_types: ["fail"] },
      agent: { agents: ["ada"] },
      executor: { executors: ["elsewhere"] },
      result: { include_result: true, events: ["task.completed"] },
    }))
      await create(service, { url: hook(name), ...filter });
    const ofAda = await submit(service, { task_type: "echo", payload: { n: 1 } }, { agent: "ada" });
    const large = await submit(service, { task_type: "large" });
    const failed = await submit(service, { task_type: "fail" });
    const all = await receiver.until(4);
    expect(all.map(({ data }) => data.id as string).sort()).toEqual([failed, ofAda, ofAda, large].sort());
    const results = all.filter(({ data }) => data.id === ofAda).map(({ data }) => data.result);
    expect(results).toContainEqual({ n: 1 });
    expect(results).toContain(undefined);
    const { data } = all.find((one) => one.data.id === large) ?? {};
    expect([data.result, data.result_bytes]).toEqual([undefined, 70_002]);
  });
});

describe("an endpoint", () => {
  test("that answers 410 is disabled, and gets nothing until it is enabled", async () => {
    await using receiver = await Receiver.open();
    await using service = await started("memory");
    await using _worker = service.worker(HANDLERS);
    receiver.answer = (response) => response.writeHead(410).end();
    const { id } = await create(service, { url: receiver.url });
    await submit(service, { task_type: "echo" });
    await eventually(async () => {
      const { body } = await service.get(`webhooks/${id}`);
      expect(body).toMatchObject({ enabled: false, disabled_reason: expect.stringContaining("410") });
    });
    const { body } = await service.get(`webhooks/${id}/deliveries`);
    expect(body.deliveries).toMatchObject([{ status: "failed", answered: 410, tries: 1 }]);
    const missed = await submit(service, { task_type: "echo" });
    await service.get(`task/${missed}?wait=30`);
    receiver.answer = (response) => response.writeHead(200).end();
    expect((await service.request("PATCH", `webhooks/${id}`, { enabled: true })).body.enabled).toBe(true);
    const next = await submit(service, { task_type: "echo" });
    await receiver.until(1, ({ data }) => data.id === next);
    expect(receiver.received.some(({ data }) => data.id === missed)).toBe(false);
  });

  test("that fails for too long is disabled with a reason", async () => {
    await using receiver = await Receiver.open();
    await using service = await started("memory", { disableAfterMs: 100, waitsMs: [60, 60, 60, 60, 60, 60] });
    await using _worker = service.worker(HANDLERS);
    receiver.answer = (response) => response.writeHead(503).end();
    const { id } = await create(service, { url: receiver.url });
    await submit(service, { task_type: "echo" });
    await eventually(async () => {
      const { body } = await service.get(`webhooks/${id}`);
      expect(body).toMatchObject({
        enabled: false,
        disabled_reason: expect.stringMatching(/^it failed since/),
      });
    });
  });

  test("is given up after the last try", async () => {
    await using service = await started("memory", { waitsMs: [5] });
    await using _worker = service.worker(HANDLERS);
    const gone = await Receiver.open();
    const { url } = gone;
    await gone[Symbol.asyncDispose]();
    const { id } = await create(service, { url });
    await submit(service, { task_type: "echo" });
    await eventually(async () => {
      const { body } = await service.get(`webhooks/${id}/deliveries`);
      expect(body.deliveries).toMatchObject([
        { status: "failed", tries: 2, answered: null, error: "the connection failed (ECONNREFUSED)" },
      ]);
    });
  });

  test("that never answers delays nobody else, and does not hold up the server's end", async () => {
    await using silent = await Receiver.open();
    await using receiver = await Receiver.open();
    silent.answer = () => {};
    const service = await started("memory", { timeoutMs: 600_000 });
    await using worker = service.worker(HANDLERS, { slots: 8 });
    await create(service, { url: silent.url });
    await create(service, { url: receiver.url });
    for (let count = 0; count < 20; count++) await submit(service, { task_type: "echo" });
    await receiver.until(20);
    expect(silent.received.length).toBeLessThanOrEqual(4);
    await worker[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
  });

  test("whose secret is rotated gets signatures of both until the overlap is over", async () => {
    await using receiver = await Receiver.open();
    await using service = await started("memory");
    const { id, secret } = await create(service, { url: receiver.url });
    const { body: rotated } = await service.post(`webhooks/${id}/rotate`, {});
    await service.post(`webhooks/${id}/test`);
    const [both] = await receiver.until(1);
    expect([both?.signaturesFrom(secret), both?.signaturesFrom(rotated.secret)]).toEqual([1, 1]);
    const { body: last } = await service.post(`webhooks/${id}/rotate`, { overlap_seconds: 0 });
    await service.post(`webhooks/${id}/test`);
    const [, one] = await receiver.until(2);
    expect([secret, rotated.secret, last.secret].map((each) => one?.signaturesFrom(each))).toEqual([0, 0, 1]);
  });

  test("whose name leads inside later is not connected to, and it is said why", async () => {
    await using receiver = await Receiver.open();
    let isInside = false;
    const resolve = async () => [isInside ? "127.0.0.1" : "93.184.215.14"];
    await using service = await started("memory", { allow: [], resolve });
    await using _worker = service.worker(HANDLERS);
    const { id } = await create(service, { url: `http://hooks.example:${receiver.port}/` });
    isInside = true;
    await submit(service, { task_type: "echo" });
    await eventually(async () => {
      const { body } = await service.get(`webhooks/${id}/deliveries`);
      expect(body.deliveries).toMatchObject([
        { status: "failed", error: expect.stringMatching("not public") },
      ]);
    });
    expect(receiver.received).toEqual([]);
    expect((await service.post("webhooks", { url: "http://hooks.example/" })).status).toBe(422);
  });
});

/** Tries until it holds; a busy machine may take its time. */
async function eventually(holds: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await holds();
    } catch (error) {
      if (tries === 300) throw error;
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}
