import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { anAssignment, Gate, type StartedWorker, startWorker } from "../../tests/worker-fixture.ts";
import { TestServer } from "../../tests/worker-server.ts";
import { type Handlers, task } from "./handler.ts";
import { PermanentError } from "./permanent-error.ts";
import { PollTransport } from "./poll-transport.ts";
import { ConnectionRefused, type Transport } from "./transport.ts";
import { WebSocketTransport } from "./websocket-transport.ts";
import type { WorkerOptions } from "./worker.ts";

const TRANSPORTS = { WebSocket: WebSocketTransport, HTTP: PollTransport };

describe.each(Object.entries(TRANSPORTS))("over %s", (_name, Way) => {
  let server: TestServer;
  let started: StartedWorker[];

  beforeEach(async () => {
    server = await TestServer.start();
    started = [];
  });

  afterEach(async () => {
    for (const { worker } of started) worker.stop();
    await Promise.allSettled(started.map(({ ended }) => ended));
    await server.crash();
  });

  const way = (key = "key"): Transport => new Way({ url: server.url, key });

  async function work(
    handlers: Handlers,
    options: Partial<WorkerOptions> & { readonly slots?: number } = {},
  ): Promise<StartedWorker> {
    const worker = startWorker(way(), handlers, options);
    started.push(worker);
    await server.hears("register");
    return worker;
  }

  test("a task is run and its result reported, with what the handler was told", async () => {
    const registered = work({
      greet: task<{ name: string }>(({ name }, { taskId, attempt, taskType, zone, agent, run, node }) => ({
        hello: name,
        ...{ taskId, attempt, taskType, zone, agent, run, node },
      })),
    });
    await registered;
    const assignment = anAssignment("greet", { name: "Ada" }, { run: "run-1", node: "hello", attempt: 3 });
    server.assign(assignment);
    expect(await server.report(assignment.task)).toEqual({
      type: "finished",
      task: assignment.task,
      attempt: 3,
      started_at: expect.any(Number),
      result: {
        hello: "Ada",
        taskId: assignment.task,
        attempt: 3,
        taskType: "greet",
        zone: "north",
        agent: "anna",
        run: "run-1",
        node: "hello",
      },
    });
  });

  test("what a handler throws fails the attempt, and some errors forbid another", async () => {
    await work({
      throws: task(() => {
        throw new Error("out of paper");
      }),
      forbids: task(() => {
        throw new PermanentError("no such image", { code: "no-image" });
      }),
      system: task(() => {
        throw Object.assign(new Error("no file"), { code: "ENOENT" });
      }),
      odd: task(() => Promise.reject(Object.create(null) as Error)),
      stackless: task(() => {
        throw Object.assign(new Error("m"), { stack: 5 });
      }),
      told: task((_, { progress }) => progress(0.5, {} as string)),
    });
    const ends = ["throws", "forbids", "system", "odd", "stackless", "told", "unheard-of", "constructor"].map(
      (type) => {
        const assignment = anAssignment(type);
        server.assign(assignment);
        return server.report(assignment.task);
      },
    );
    expect(await Promise.all(ends)).toMatchObject([
      { type: "failed", code: "error", message: "out of paper" },
      { type: "failed", code: "no-image", message: "no such image", retry: false },
      { type: "failed", code: "ENOENT", message: "no file" },
      { type: "failed", code: "error", message: "it threw something that has no text" },
      { type: "failed", code: "error", message: "m" },
      { type: "finished" },
      { type: "failed", code: "unknown-type", retry: false, started_at: -1 },
      { type: "failed", code: "unknown-type", retry: false, started_at: -1 },
    ]);
    const [entry] = (await server.hears("log")).entries;
    expect(entry?.text).toMatch(/^Error: out of paper\n {4}at /);
  });

  test("results that cannot be sent fail, and no result is a result too", async () => {
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    await work({
      circle: task(() => circle),
      bigint: task(() => 1n),
      function: task(() => () => 1),
      large: task(() => "x".repeat(1024 * 1024)),
      fits: task(() => "x".repeat(1024 * 1024 - 2)),
      deep: task(() => JSON.parse(`${"[".repeat(91)}${"]".repeat(91)}`) as unknown),
      nothing: task(() => {}),
    });
    const ends = ["circle", "bigint", "function", "deep", "large", "nothing", "fits"].map((type) => {
      const assignment = anAssignment(type);
      server.assign(assignment);
      return server.report(assignment.task);
    });
    const [circular, bigint, made, deep, large, nothing, fits] = await Promise.all(ends);
    for (const report of [circular, bigint, made, deep]) {
      expect(report).toMatchObject({ type: "failed", code: "result-not-json", retry: false });
    }
    expect(large).toMatchObject({ type: "failed", code: "result-too-large", retry: false });
    expect(nothing).toMatchObject({ type: "finished" });
    expect(nothing).not.toHaveProperty("result");
    expect(fits).toMatchObject({ type: "finished" });
  });

  test("tasks beyond the slots wait in their order, and heartbeats list all of them", async () => {
    const order: unknown[] = [];
    const gates = [new Gate(), new Gate(), new Gate()];
    const begun = [new Gate(), new Gate(), new Gate()];
    await work(
      {
        step: task<number>(async (payload) => {
          order.push(payload);
          begun[payload]?.open();
          await gates[payload]?.opened;
        }),
      },
      { slots: 1 },
    );
    const assignments = [0, 1, 2].map((index) => anAssignment("step", index));
    server.assign(...assignments);
    await begun[0]?.opened;
    const { heartbeat } = await server.hears("heartbeat", (it) => it.heartbeat.attempts.length === 3);
    expect(heartbeat.attempts.map(({ task }) => task)).toEqual(assignments.map(({ task }) => task));
    expect(heartbeat.attempts.map(({ started_at }) => started_at > 0)).toEqual([true, false, false]);
    expect(order).toEqual([0]);
    for (const index of [0, 1, 2]) {
      gates[index]?.open();
      await server.report(assignments[index]?.task ?? "");
      await begun[Math.min(index + 1, 2)]?.opened;
    }
    expect(order).toEqual([0, 1, 2]);
    await server.hears("heartbeat", (it) => it.heartbeat.attempts.length === 0);
  });

  test("the same assignment twice runs once, and is given back if it comes after the acknowledgement", async () => {
    let runs = 0;
    const gate = new Gate();
    await work({
      once: task(async () => {
        runs++;
        await gate.opened;
      }),
    });
    const assignment = anAssignment("once");
    server.assign(assignment, assignment);
    server.assign(assignment);
    gate.open();
    await server.report(assignment.task);
    await server.hears("heartbeat", (it) => it.heartbeat.attempts.length === 0);
    server.assign(assignment);
    await server.hears("report", ({ report }) => report.type === "returned");
    expect(runs).toBe(1);
    const types = server.all("report").map(({ report }) => report.type);
    expect(types).toEqual(["finished", "returned"]);
  });

  test("a cancelled task is told, and one that has not begun never begins", async () => {
    const reasons: unknown[] = [];
    await work(
      {
        waits: task(async (_payload, { signal }) => {
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          reasons.push(signal.reason);
          signal.throwIfAborted();
        }),
      },
      { slots: 1 },
    );
    const [first, second] = [anAssignment("waits"), anAssignment("waits")];
    server.assign(first, second);
    await server.hears("heartbeat", (it) => it.heartbeat.attempts.length === 2);
    server.cancel(second, anAssignment("never assigned here"));
    expect(await server.report(second.task)).toMatchObject({ type: "cancelled", started_at: -1 });
    server.cancel(first);
    expect(await server.report(first.task)).toMatchObject({ type: "cancelled" });
    expect(reasons).toEqual([expect.objectContaining({ name: "AbortError" })]);
  });

  test("what was recalled and has not begun is given back, also before it is assigned; what has begun goes on", async () => {
    const gate = new Gate();
    let ran = 0;
    const counts = task(async () => {
      ran++;
      await gate.opened;
    });
    await work({ counts }, { slots: 1 });
    const [first, second, late] = [anAssignment("counts"), anAssignment("counts"), anAssignment("counts")];
    server.assign(first, second);
    await server.hears("heartbeat", (it) => it.heartbeat.attempts.length === 2);
    server.recall(first, second, late);
    expect(await server.report(second.task)).toMatchObject({ type: "returned", started_at: -1 });
    expect(await server.report(late.task)).toMatchObject({ type: "returned", started_at: -1 });
    server.assign(second, late);
    gate.open();
    expect(await server.report(first.task)).toMatchObject({ type: "finished" });
    const last = anAssignment("counts");
    server.assign(last);
    expect(await server.report(last.task)).toMatchObject({ type: "finished" });
    expect(ran).toBe(2);
  });

  test("a task whose time is over is stopped", async () => {
    await work({
      waits: task(async (_payload, { signal }) => {
        await new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error)),
        );
      }),
    });
    const assignment = anAssignment("waits", null, { timeout_ms: 50 });
    server.assign(assignment);
    expect(await server.report(assignment.task)).toMatchObject({ type: "timed_out" });
  });

  test("a handler that ignores its signal loses its slot after the grace, with a warning", async () => {
    const gate = new Gate();
    const { events } = await work(
      { stubborn: task(() => gate.opened), next: task(() => "came in") },
      { slots: 1, graceMs: 50 },
    );
    const [stubborn, next] = [anAssignment("stubborn", null, { timeout_ms: 50 }), anAssignment("next")];
    server.assign(stubborn, next);
    expect(await server.report(stubborn.task)).toMatchObject({ type: "timed_out" });
    expect(await server.report(next.task)).toMatchObject({ result: "came in" });
    expect(events).toContainEqual({ type: "warning", message: expect.stringContaining("told to stop") });
    gate.open();
  });

  test("progress comes at once, then paced, and cost comes with the report", async () => {
    await work({
      counts: task((_payload, { progress, cost }) => {
        for (let step = 0; step <= 100; step++) progress(step / 100, `step ${step}`);
        cost(0.5);
        cost(0.25);
        expect(() => cost(-1)).toThrow(TypeError);
      }),
    });
    const assignment = anAssignment("counts");
    server.assign(assignment);
    expect(await server.report(assignment.task)).toMatchObject({ type: "finished", cost: 0.75 });
    expect(server.all("progress").map(({ progress }) => progress)).toEqual([
      { task: assignment.task, attempt: 1, fraction: 0, message: "step 0" },
    ]);
  });

  test("the log arrives before the report, and is cut at its limit with one line that says so", async () => {
    await work(
      {
        talks: task((_payload, { log }) => {
          for (let line = 0; line < 100; line++) log(`line ${line}`);
        }),
      },
      { logLimitBytes: 20 },
    );
    const assignment = anAssignment("talks");
    server.assign(assignment);
    await server.report(assignment.task);
    const types = server.heard.map(({ type }) => type);
    expect(types.indexOf("log")).toBeLessThan(types.indexOf("report"));
    expect(server.all("log").flatMap(({ entries }) => entries.map(({ text }) => text))).toEqual([
      "line 0",
      "line 1",
      "line 2",
      "li",
      "The log ends here: it is longer than 20 bytes.",
    ]);
  });

  test("a report without an answer is repeated, until there is one", async () => {
    await server.crash();
    server = await TestServer.start({ heartbeatMs: 50 });
    let asked = 0;
    server.answer = () => (++asked < 3 ? undefined : { accepted: false, code: "stale" });
    started.push(
      startWorker(new Way({ url: server.url, key: "key", answerLimitMs: 100 }), { quick: task(() => 1) }),
    );
    await server.hears("register");
    const assignment = anAssignment("quick");
    server.assign(assignment);
    await server.hears("heartbeat", (it) => asked >= 3 && it.heartbeat.attempts.length === 0);
    const reports = server.all("report").map(({ report }) => report);
    expect(reports).toHaveLength(3);
    expect(new Set(reports.map((report) => JSON.stringify(report))).size).toBe(1);
    for (const { heartbeat } of server.all("register").slice(1)) {
      expect(heartbeat.attempts).toEqual([expect.objectContaining({ task: assignment.task, attempt: 1 })]);
    }
  });

  test("a worker outlives its server: it goes on, comes back with the same session, and reports", async () => {
    server.answer = () => undefined;
    const gate = new Gate();
    const { events } = await work({
      quick: task(() => "before"),
      long: task(async () => {
        await gate.opened;
        return "after";
      }),
    });
    const [quick, long] = [anAssignment("quick"), anAssignment("long")];
    server.assign(quick, long);
    await server.report(quick.task);
    const [before] = server.all("register");
    const { port } = server;
    await server.crash();
    gate.open();
    server = await TestServer.start({ port });
    const again = await server.hears("register");
    expect(again.registration).toEqual(before?.registration);
    expect(again.heartbeat.attempts.map(({ task }) => task).sort()).toEqual([quick.task, long.task].sort());
    expect(await server.report(quick.task)).toMatchObject({ result: "before" });
    expect(await server.report(long.task)).toMatchObject({ result: "after" });
    expect(events.filter(({ type }) => type === "disconnected")).toHaveLength(1);
    expect(events).toContainEqual({ type: "connected", worker: "worker-1", again: true });
  });

  test("draining finishes what runs, gives back what waits, and leaves", async () => {
    const gate = new Gate();
    const ran: unknown[] = [];
    const { worker, ended, events } = await work(
      {
        step: task(async (payload) => {
          ran.push(payload);
          await gate.opened;
        }),
      },
      { slots: 1 },
    );
    const [running, waiting] = [anAssignment("step", "running"), anAssignment("step", "waiting")];
    server.assign(running, waiting);
    await server.hears("heartbeat", (it) => it.heartbeat.attempts.length === 2);
    worker.drain();
    await server.hears("drain");
    await server.hears("heartbeat", (it) => it.heartbeat.attempts.length === 1);
    server.assign(anAssignment("step", "too late"));
    gate.open();
    await server.hears("leave");
    await ended;
    expect(server.all("report").map(({ report }) => report.task)).toEqual([running.task]);
    expect(ran).toEqual(["running"]);
    const tasks = [{ task: running.task, task_type: "step", attempt: 1 }];
    expect(events).toContainEqual({ type: "draining", running: 1, tasks, returned: 1 });
  });

  test("a server can drain its worker, which asks it no more often for that", async () => {
    const gate = new Gate();
    const { ended } = await work({ long: task(() => gate.opened) });
    const assignment = anAssignment("long");
    server.assign(assignment);
    await server.hears("heartbeat", (it) => it.heartbeat.attempts.length === 1);
    server.drain();
    await server.hears("drain");
    const before = server.all("heartbeat").length;
    await expect.poll(() => server.all("heartbeat").length, { timeout: 5_000 }).toBeGreaterThan(before);
    expect(server.all("heartbeat").length).toBeLessThan(before + 3);
    gate.open();
    await ended;
    await server.hears("leave");
    expect(server.all("report").map(({ report }) => report.task)).toEqual([assignment.task]);
  });

  test("stopping tells what runs, reports nothing, and leaves at once", async () => {
    const aborted = new Gate();
    const { worker, ended } = await work({
      stubborn: task(async (_payload, { signal }) => {
        signal.addEventListener("abort", aborted.open);
        await new Promise(() => {});
      }),
    });
    server.assign(anAssignment("stubborn"));
    await server.hears("heartbeat", (it) => (it.heartbeat.attempts[0]?.started_at ?? -1) > 0);
    worker.stop();
    await Promise.all([aborted.opened, ended, server.hears("leave")]);
    expect(server.all("report")).toEqual([]);
  });

  test("a wrong key ends the worker, with what the server said", async () => {
    const { ended } = startWorker(way("wrong"), {});
    await expect(ended).rejects.toThrow(ConnectionRefused);
    await expect(ended).rejects.toMatchObject({ code: "bad-key", message: "the key is wrong (HTTP 401)" });
  });

  test("a server that is not there yet is waited for, and that is said once", async () => {
    const { port } = server;
    await server.crash();
    const { events, worker, ended } = startWorker(
      new Way({ url: `http://127.0.0.1:${port}`, key: "key" }),
      {},
    );
    started.push({ events, worker, ended });
    await expect.poll(() => events.length).toBe(1);
    server = await TestServer.start({ port });
    await server.hears("register");
    await expect
      .poll(() => events)
      .toMatchObject([
        { type: "disconnected", wasConnected: false, reason: expect.stringContaining("ECONNREFUSED") },
        { type: "connected", again: false },
      ]);
  });
});
