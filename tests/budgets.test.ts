// Tasks that run as fibers within a budget, as users of a service meet them.

import { describe, expect, test, vi } from "vitest";
import { fiberTask, PollTransport, task, Worker } from "../src/worker/index.ts";
import { startOrrery } from "./cli.ts";
import { ADMIN_KEY, BACKENDS, TestService } from "./service.ts";

/** Charges so many iterations, in children if it may spawn any. */
const count = fiberTask<{ iterations: number }, number>(function* (_nursery, { iterations }, { fiber }) {
  let done = 0;
  for (; done < iterations; done++) if (fiber.loop()) yield;
  return done;
});

const spawnAll = fiberTask<{ children: number }, number>(function* (nursery, { children }) {
  const all = Array.from({ length: children }, (_, at) => nursery.spawn(double, [at]));
  let sum = 0;
  for (const child of all) sum += yield* child.join();
  return sum;
});

// biome-ignore lint/correctness/useYield: a fiber need not wait for anything
function* double(_fiber: unknown, at: number) {
  return 2 * at;
}

const forkBomb = fiberTask<unknown, never>(function* (nursery) {
  for (;;) {
    nursery.spawn(double, [1]);
    yield;
  }
});

const own = fiberTask<unknown, string[]>(
  // biome-ignore lint/correctness/useYield: a fiber need not wait for anything
  function* (_nursery, _payload, { fiber }) {
    return Object.keys(fiber.capabilities.own ?? {});
  },
);

const HANDLERS = { count, spawnAll, forkBomb, own, plain: task(async () => "free") };
const TASK = { executor: "default", max_attempts: 1 } as const;

describe.each(BACKENDS)("[R-04] on %s", (backend) => {
  test("a task that has used up its budget waits until it is recharged, and tells what it consumed", async () => {
    await using service = await TestService.start(backend);
    await using _worker = service.worker(HANDLERS);
    const { body: submitted } = await service.submit({
      ...TASK,
      task_type: "count",
      payload: { iterations: 1000 },
      budget: { ops: 100 },
    });
    const { id } = submitted;
    const exhausted = async () => (await service.get(`task/${id}`)).body.budget.exhausted;
    await vi.waitUntil(async () => (await exhausted()) === "ops", { timeout: 30_000 });
    const refused = await service.post(`task/${id}/recharge`, { memory: "much" });
    expect([refused.status, refused.body.errors[0].pointer]).toEqual([422, "/memory"]);
    const { body: recharged } = await service.post(`task/${id}/recharge`, { ops: 500 });
    expect(recharged.budget).toMatchObject({ given: { ops: 100 }, recharged: { ops: 500 } });
    await vi.waitUntil(async () => (await exhausted()) === "ops", { timeout: 30_000 });
    const env = { ORRERY_URL: service.server.url, ORRERY_API_KEY: ADMIN_KEY };
    const said = await startOrrery("/", ["recharge", id, "--ops", "5000"], env).finished;
    expect(said).toMatchObject({ code: 0, stdout: `${id} recharged\n` });
    const { body } = await service.get(`task/${id}?wait=30`);
    expect(body).toMatchObject({ status: "completed", result: 1000 });
    expect(body.budget).toMatchObject({
      recharged: { ops: 5500 },
      exhausted: null,
      used: { spawn_count: 0, syscalls: 0 },
    });
    expect(body.budget.used.ops).toBeGreaterThanOrEqual(1000);
    expect(body.budget.used.ops).toBeLessThan(1100);
    expect((await service.post(`task/${id}/recharge`, { ops: 1 })).body.code).toBe("not-running");
  });

  test("or fails with what it lacked, where it is to; what is stopped has a clear error", async () => {
    await using service = await TestService.start(backend);
    await using _worker = service.worker(HANDLERS);
    const ended = async (body: object) => {
      const { body: submitted } = await service.submit({ ...TASK, ...body });
      return (await service.get(`task/${submitted.id}?wait=30`)).body;
    };
    const budget = { ops: 1_000_000, spawn_count: 50, on_exhausted: "fail" };
    expect(await ended({ task_type: "forkBomb", budget })).toMatchObject({
      status: "failed",
      error_code: "SpawnBudgetExhausted",
      budget: { used: { spawn_count: 50 } },
    });
    expect(await ended({ task_type: "count", payload: { iterations: 1e9 }, budget })).toMatchObject({
      status: "failed",
      error_code: "OpsBudgetExhausted",
    });
    expect(await ended({ task_type: "spawnAll", payload: { children: 40 }, budget })).toMatchObject({
      status: "completed",
      result: 1560,
      budget: { used: { spawn_count: 40 } },
    });
    expect(await ended({ task_type: "plain" })).toMatchObject({ status: "completed", budget: null });
    expect((await service.submit({ budget: { ops: -1 } })).body.errors[0].pointer).toBe("/budget/ops");
  });
});

/** A worker over plain HTTP, which ends with the test. */
function poller(service: TestService): AsyncDisposable {
  const worker = new Worker({
    transport: new PollTransport({ url: service.server.url, key: ADMIN_KEY }),
    handlers: HANDLERS,
    registration: {
      id: "poller",
      executors: ["default"],
      capabilities: ["gpu", "net"],
      cpu_millicores: 1000,
      memory_bytes: 1e9,
      slots: 2,
    },
  });
  const ended = worker.run();
  return {
    async [Symbol.asyncDispose]() {
      worker.drain();
      await ended;
    },
  };
}

test("[R-05] the capabilities that a submission names are those that its fibers hold", async () => {
  await using service = await TestService.start("memory");
  await using _worker = poller(service);
  const { body } = await service.submit({ ...TASK, task_type: "own", capabilities: ["net"] });
  expect((await service.get(`task/${body.id}?wait=30`)).body).toMatchObject({ result: ["net"] });
});

test("[R-04] a node of a run has a budget, and a worker over plain HTTP hears of recharges", async () => {
  await using service = await TestService.start("memory");
  await using _worker = poller(service);
  const node = { task: "count", executor: "default", payload: { iterations: 300 }, budget: { ops: 100 } };
  const { body: run } = await service.post("runs", { graph: { name: "g", nodes: { count: node } } });
  const { body: list } = await service.get(`tasks?run=${run.id}`);
  const { id } = list.tasks[0];
  const lacks = async () => (await service.get(`task/${id}`)).body.budget.exhausted;
  await vi.waitUntil(async () => (await lacks()) === "ops", { timeout: 30_000 });
  await service.post(`task/${id}/recharge`, { ops: 1000 });
  expect((await service.get(`task/${id}?wait=30`)).body).toMatchObject({ status: "completed", result: 300 });
});

test("[R-04] a worker that comes back is told of what was recharged meanwhile, and says nothing twice", async () => {
  await using service = await TestService.start("memory");
  const registration = {
    protocol: 1,
    id: "w",
    session: "0123456789abcdef",
    executors: ["default"],
    types: ["count"],
    cpu_millicores: 1000,
    memory_bytes: 1e9,
    slots: 1,
  };
  const session = registration.session;
  const poll = async (attempts: object[]) =>
    (await service.post("/worker/w/poll?wait=1", { session, heartbeat: { attempts } })).body;
  await service.post("/worker/register", { registration, heartbeat: { attempts: [] } });
  const { body } = await service.submit({ ...TASK, task_type: "count", budget: { ops: 7 } });
  const { assignments } = await poll([]);
  expect(assignments[0].budget).toEqual({
    ops: 7,
    memory: 10 * 1024 * 1024,
    spawn_count: 100,
    channel_ops: 1000,
    syscalls: 100,
    on_exhausted: "wait",
  });
  const held = { task: body.id, attempt: 1, started_at: Date.now() };
  await poll([{ ...held, exhausted: { part: "ops", recharges: 0 } }]);
  await service.post(`task/${body.id}/recharge`, { ops: 5 });
  await service.post(`task/${body.id}/recharge`, { ops: 6, syscalls: 1 });
  await service.post("/worker/register", { registration, heartbeat: { attempts: [held] } });
  const [recharge] = (await poll([held])).recharge;
  expect(recharge).toMatchObject({
    task: body.id,
    attempt: 1,
    recharges: 2,
    amounts: { ops: 11, syscalls: 1 },
  });
  // What it said before it heard of them is no news.
  await poll([{ ...held, exhausted: { part: "ops", recharges: 0 } }]);
  expect((await service.get(`task/${body.id}`)).body.budget.exhausted).toBeNull();
  await poll([{ ...held, exhausted: { part: "syscalls", recharges: 2 } }]);
  expect((await service.get(`task/${body.id}`)).body.budget.exhausted).toBe("syscalls");
});
