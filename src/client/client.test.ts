// The client against the real server, with a network in between that fails on demand.

import { tmpdir } from "node:os";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CuttingProxy } from "../../tests/cutting-proxy.ts";
import { makeLog, type RunningServer, startServer } from "../server/index.ts";
import { BUILT_IN_HANDLERS, PermanentError, PollTransport, task, Worker } from "../worker/index.ts";
import { OrreryClient, OrreryError, type Submission, TaskFailed } from "./index.ts";

const KEY = "sk-client-tests-0123456789-and-0123456789";

let server: RunningServer;
let proxy: CuttingProxy;
let client: OrreryClient;
let worker: Worker;
let working: Promise<void>;
/** A URL where nobody listens. */
let nowhere: string;

beforeAll(async () => {
  server = await startServer({
    host: "127.0.0.1",
    port: 0,
    strictPort: true,
    store: "memory",
    dataDir: tmpdir(),
    apiKey: KEY,
    version: "0.0.0",
    settings: {},
    log: makeLog({ level: "silent", write: () => {} }),
    onFailed: () => {},
  });
  proxy = await CuttingProxy.start(server.port);
  const gone = await CuttingProxy.start(server.port);
  nowhere = gone.url;
  await gone[Symbol.asyncDispose]();
  worker = new Worker({
    transport: new PollTransport({ url: server.url, key: KEY }),
    registration: {
      id: "w1",
      executors: ["default", "local"],
      capabilities: [],
      cpu_millicores: 4000,
      memory_bytes: 2 ** 30,
      slots: 4,
    },
    handlers: {
      ...BUILT_IN_HANDLERS,
      fail: task(() => {
        throw new PermanentError("it cannot be", { code: "no-way" });
      }),
      chat: task(async (_payload: unknown, { log }) => {
        log("first");
        log("second");
      }),
    },
    observe: () => {},
  });
  working = worker.run();
});

afterAll(async () => {
  worker?.stop();
  await working;
  await proxy?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

beforeEach(() => {
  client = new OrreryClient({ url: proxy.url, key: KEY });
});

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe("tasks", () => {
  test("a task is submitted, waited for and has a result", async () => {
    expect(await client.submitAndWait({ task_type: "echo", payload: { a: 1 } })).toEqual({ a: 1 });
    const { id } = await client.submit({ task_type: "sleep", payload: { ms: 200 } });
    expect((await client.waitForTask(id, { timeoutMs: 20 })).status).not.toBe("completed");
    expect(await client.waitForTask(id)).toMatchObject({ status: "completed", worker_id: "w1" });
    const why = await client.why(id);
    expect(why.placed).toMatchObject({ worker_id: "w1", attempt: 1 });
  });

  test("one that fails is an error with its code and message", async () => {
    const failure = client.submitAndWait({ task_type: "fail" });
    await expect(failure).rejects.toThrow(TaskFailed);
    await expect(failure).rejects.toMatchObject({ code: "no-way", message: "it cannot be" });
  });

  test("one that takes too long is left alone", async () => {
    const waiting = client.submitAndWait({ task_type: "noop", executor: "nobody" }, { timeoutMs: 50 });
    await expect(waiting).rejects.toMatchObject({ code: "wait-timeout" });
    const [left] = await all(client.tasks({ executor: "nobody", status: ["queued", "running"] }));
    expect(await client.cancel(left?.id ?? "")).toMatchObject({ cancelled: true });
    expect(await client.retry(left?.id ?? "")).toMatchObject({ status: "queued" });
    await client.cancel(left?.id ?? "");
  });

  test("one that has not ended in time says why", async () => {
    const still = (task: Submission) => client.submitAndWait(task, { timeoutMs: 300 });
    await expect(still({ task_type: "resize" })).rejects.toThrow(
      /^task \S+ is still queued: No worker of the executor default knows the task type resize; .*orrery worker --tasks FILE/,
    );
    await expect(still({ task_type: "sleep", payload: { ms: 2_000 } })).rejects.toThrow(
      /^task \S+ is still running on w1$/,
    );
    for (const status of ["queued", "running"] as const)
      for (const { id } of await all(client.tasks({ status, executor: "default" }))) await client.cancel(id);
  });

  test("a list is fetched page by page", async () => {
    const executor = "pages";
    await client.submitBatch(Array.from({ length: 7 }, () => ({ task_type: "noop", executor })));
    const found = await all(client.tasks({ executor }, { pageSize: 3 }));
    expect(new Set(found.map(({ id }) => id)).size).toBe(7);
  });

  test("more than the server takes at once are submitted in several requests, in order", async () => {
    const tasks = Array.from({ length: 10_003 }, (_, at) => ({ task_type: `t${at}`, executor: "many" }));
    const results = await client.submitBatch(tasks);
    expect(results.map(({ task }) => task?.task_type)).toEqual(tasks.map(({ task_type }) => task_type));
  });
});

describe("a network that fails", () => {
  test("a submission whose answer is lost is sent again and makes one task", async () => {
    proxy.loseAnswers = 3;
    const { id } = await client.submit({ task_type: "noop", executor: "lost-answers" });
    expect(proxy.loseAnswers).toBe(0);
    expect((await all(client.tasks({ executor: "lost-answers" }))).map((task) => task.id)).toEqual([id]);
  });

  test("so is a batch, and so is a run", async () => {
    proxy.loseAnswers = 2;
    const batch = await client.submitBatch([
      { task_type: "a", executor: "lost-batch" },
      { task_type: "b", executor: "lost-batch" },
    ]);
    expect(batch.map(({ status }) => status)).toEqual([200, 200]);
    expect(await all(client.tasks({ executor: "lost-batch" }))).toHaveLength(2);

    const before = (await all(client.runs())).length;
    proxy.loseAnswers = 2;
    const run = await client.submitRun("nodes: {a: {task: noop}}", { name: "lost" });
    expect(run.name).toBe("lost");
    expect(await all(client.runs())).toHaveLength(before + 1);
  });

  test("what must not be done twice is not sent twice", async () => {
    proxy.loseAnswers = 1;
    await expect(client.grantCredits("rich", "5")).rejects.toMatchObject({ code: "broken", status: 0 });
    const agents = await client.agents();
    expect(agents.find(({ agent }) => agent === "rich")?.credits).toBe("5");
  });

  test("waiting goes on when the connection breaks", async () => {
    const { id } = await client.submit({ task_type: "sleep", payload: { ms: 600 } });
    const waiting = client.waitForTask(id);
    await new Promise((resolve) => setTimeout(resolve, 150));
    proxy.cut();
    expect(await waiting).toMatchObject({ status: "completed" });
  });

  test("events go on after the last one that arrived, without a gap and without a repeat", async () => {
    const stop = new AbortController();
    const seen: string[] = [];
    const listening = (async () => {
      for await (const { kind, task_id } of client.events({ signal: stop.signal })) {
        if (kind === "TaskSubmitted") seen.push(task_id ?? "");
      }
    })();
    await expect.poll(() => proxy.connections).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const sent: string[] = [];
    const direct = new OrreryClient({ url: server.url, key: KEY });
    for (let at = 0; at < 30; at++) {
      sent.push((await direct.submit({ task_type: "noop", executor: "events" })).id);
      if (at % 10 === 5) proxy.cut();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(30);
    expect(seen).toEqual(sent);
    stop.abort();
    await expect(listening).rejects.toThrow("abort");
  });

  test("no server is said at once where no time is given to it, and who retries is told", async () => {
    const told: string[] = [];
    const gone = new OrreryClient({
      url: nowhere,
      key: KEY,
      retryForMs: 400,
      onRetry: ({ code }) => told.push(code),
    });
    await expect(gone.metrics()).rejects.toMatchObject({ code: "unreachable", status: 0 });
    expect(told.length).toBeGreaterThan(0);
    expect(new Set(told)).toEqual(new Set(["unreachable"]));
  });

  test("a signal ends a wait, a list, a stream and a pause between tries", async () => {
    const { id } = await client.submit({ task_type: "noop", executor: "nobody" });
    const signal = AbortSignal.timeout(100);
    const gone = new OrreryClient({ url: nowhere, key: KEY });
    const outcomes = await Promise.allSettled([
      client.waitForTask(id, { signal }),
      all(client.events({ signal })),
      gone.metrics({ signal }),
      gone.submit({ task_type: "noop" }, { signal }),
    ]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { name: "TimeoutError" } });
    }
    await client.cancel(id);
  });
});

const GIVEN = "0f0e0d0c-0b0a-4908-8706-050403020100";

describe("runs", () => {
  test("a run is submitted as an object or a text, followed and waited for", async () => {
    const nodes = { a: { task: "noop" }, b: { task: "noop", needs: ["a"] } };
    const run = await client.submitRun({ nodes }, { name: "two" });
    expect(await client.waitForRun(run.id)).toMatchObject({ status: "completed", name: "two", nodes: 2 });
    const text = await client.submitRun(JSON.stringify({ nodes }), { id: GIVEN });
    expect(text.id).toBe(GIVEN);
    const kinds = (await all(client.runEvents(GIVEN, { from: "start" }))).map((one) =>
      one.type === "event" ? one.event.kind : one.run.status,
    );
    expect(kinds.at(-1)).toBe("completed");
    await expect(client.submitRun({ nodes }, { id: GIVEN })).rejects.toMatchObject({
      status: 409,
      code: "duplicate-run",
    });
  });

  test("a graph that is wrong is refused with its lines", async () => {
    const refused = client.submitRun("nodes:\n  a: {task: noop, needs: [b]}\n");
    await expect(refused).rejects.toMatchObject({ status: 422, code: "invalid-graph" });
    const error = await refused.catch((caught: unknown) => caught as OrreryError);
    expect((error as OrreryError).errors[0]).toMatchObject({ line: 2, path: "nodes.a.needs[0]" });
  });

  test("a run can be cancelled", async () => {
    const { id } = await client.submitRun({ nodes: { a: { task: "noop", executor: "nobody" } } });
    expect(await client.cancelRun(id)).toMatchObject({ cancelled: true });
    expect(await client.waitForRun(id)).toMatchObject({ status: "cancelled" });
  });
});

describe("administration", () => {
  test("the queue, its agents and its limits", async () => {
    expect(await client.classify({ priority: "critical" })).toBe("interactive");
    expect(await client.setLimit("api", { concurrency: 2 })).toMatchObject({ name: "api", concurrency: 2 });
    expect(await client.limits()).toMatchObject([{ name: "api" }]);
    expect(await client.setAgentLimit("bob", { max_concurrent: 3 })).toMatchObject({ max_concurrent: 3 });
    expect(await client.pause("paused")).toEqual({ paused: true, executor: "paused" });
    expect(await client.resume("paused")).toEqual({ paused: false, executor: "paused" });
    expect(await client.metrics()).toMatchObject({ backend: "memory" });
    expect(await client.workers()).toMatchObject([{ id: "w1", slots: 4 }]);
  });

  test("a key is made, used, rotated and revoked", async () => {
    const made = await client.keys.create({ name: "ci", scopes: ["read"], zones: ["*"], agents: ["*"] });
    const reader = new OrreryClient({ url: server.url, key: made.secret });
    expect(await reader.metrics()).toMatchObject({ backend: "memory" });
    await expect(reader.submit({ task_type: "noop" })).rejects.toMatchObject({ status: 403, code: "scope" });
    const next = await client.keys.rotate(made.id, { overlap_seconds: 0 });
    await expect(reader.metrics()).rejects.toMatchObject({ status: 401 });
    expect(await client.keys.revoke(next.id)).toMatchObject({ id: next.id, revoked_at: expect.any(String) });
    expect((await client.keys.list()).map(({ id }) => id)).toContain(made.id);
  });

  test("refusals name the fields, and find their request in the log", async () => {
    const refused = client.submit({ task_type: "", payload: { a: 1 } });
    await expect(refused).rejects.toThrow(OrreryError);
    await expect(refused).rejects.toMatchObject({
      status: 422,
      code: "invalid",
      errors: [{ pointer: "/task_type" }],
      requestId: expect.any(String),
    });
    await expect(client.task("00000000-0000-7000-8000-000000000000")).rejects.toMatchObject({ status: 404 });
    expect(() => new OrreryClient({ url: server.url, key: "a b" })).toThrow(TypeError);
  });
});

test("what a task prints can be followed until it has ended", async () => {
  const { id } = await client.submit({ task_type: "chat" });
  const lines = await all(client.followLog(id));
  expect(lines.map(({ text }) => text)).toEqual(["first", "second"]);
  expect(await client.log(id, { after: lines[0]?.line, limit: 5 })).toEqual(lines.slice(1));
});
