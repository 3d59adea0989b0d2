// What is sent again and what is not, against answers that are made up.

import { readdirSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, test, vi } from "vitest";
import { OrreryClient, type OrreryError } from "./index.ts";

type Answer = () => Response | Promise<Response>;

const TASK = { id: "t", status: "queued" };

function clientOf(answers: Answer[], retryForMs = 5_000) {
  const requests: { readonly url: string; readonly body: string; readonly headers: Headers }[] = [];
  const client = new OrreryClient({
    url: "http://server.test/base",
    key: "k",
    zone: "eu",
    agent: "ada",
    retryForMs,
    fetch: async (url, init) => {
      requests.push({
        url: String(url),
        body: String(init?.body ?? ""),
        headers: new Headers(init?.headers as Record<string, string>),
      });
      const answer = answers.shift();
      if (!answer) throw new Error("no more answers");
      return await answer();
    },
  });
  return { client, requests };
}

const ok = (value: unknown) => (): Response => new Response(JSON.stringify(value));
const busy =
  (status: number, headers: Record<string, string> = {}, code = "unavailable") =>
  (): Response =>
    new Response(JSON.stringify({ code, detail: "busy", status }), { status, headers });
const broken = (): Response => {
  throw new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) });
};

describe("a submission", () => {
  test("is sent again with the same key until it is taken", async () => {
    const { client, requests } = clientOf([busy(503), broken, busy(502), ok(TASK)]);
    expect(await client.submit({ task_type: "a" })).toEqual(TASK);
    const keys = requests.map(
      ({ body }) => (JSON.parse(body) as { idempotency_key: string }).idempotency_key,
    );
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
  });

  test("keeps the key that it was given", async () => {
    const { client, requests } = clientOf([ok(TASK)]);
    await client.submit({ task_type: "a", executor: "gpu", idempotency_key: "mine" });
    expect(JSON.parse(requests[0]?.body ?? "")).toEqual({
      task_type: "a",
      executor: "gpu",
      idempotency_key: "mine",
    });
  });

  test.each([400, 401, 402, 403, 404, 409, 413, 422, 500])(
    "that is refused with %d is not",
    async (status) => {
      const { client, requests } = clientOf([busy(status)]);
      await expect(client.submit({ task_type: "a" })).rejects.toMatchObject({ status });
      expect(requests).toHaveLength(1);
    },
  );

  test("waits as long as the server asks", async () => {
    const { client } = clientOf([busy(429, { "retry-after": "1" }, "fair-share"), ok(TASK)]);
    const begun = performance.now();
    await client.submit({ task_type: "a" });
    expect(performance.now() - begun).toBeGreaterThan(995);
  });

  test("is given up when that is longer than there is time, or not said", async () => {
    const long = clientOf([busy(429, { "retry-after": "60" }, "fair-share")]);
    await expect(long.client.submit({ task_type: "a" })).rejects.toMatchObject({
      code: "fair-share",
      retryAfterMs: 60_000,
    });
    const never = clientOf([busy(429, {}, "rate-limit")]);
    await expect(never.client.submit({ task_type: "a" })).rejects.toMatchObject({ code: "rate-limit" });
  });
});

describe("a payload that JSON would change without a word is refused by its path, before anything is sent:", () => {
  const itself: { inner?: unknown } = {};
  itself.inner = [itself];
  class Box {
    readonly size = 1;
    readonly #hidden = 2;
    sum = (): number => this.size + this.#hidden;
  }
  test.each<[payload: object, said: string]>([
    [{ items: [1, 2, { score: Number.NaN }] }, "payload.items[2].score is NaN, which JSON cannot carry"],
    [{ "a b": Number.NEGATIVE_INFINITY }, 'payload["a b"] is -Infinity'],
    [{ boxed: Object(Number.NaN) }, "payload.boxed is NaN, which JSON cannot carry"],
    [new Map([["a", 1]]), "payload is a Map, which JSON cannot carry: give Object.fromEntries(map)"],
    [{ tags: new Set(["a"]) }, "payload.tags is a Set"],
    [[1, 2n], "payload[1] is a bigint"],
    [{ on: () => 1 }, "payload.on is a function"],
    [{ box: new Box() }, "payload.box.sum is a function"],
    [{ key: Symbol("a") }, "payload.key is a symbol"],
    [[1, undefined], "payload[1] is undefined, which JSON cannot carry: give null"],
    // biome-ignore lint/suspicious/noSparseArray: that is what it is about
    [[1, , 2], "payload[1] is undefined"],
    [{ bytes: new Uint8Array(2) }, "payload.bytes is a Uint8Array"],
    [{ error: Object.assign(new Error("no"), { code: "E" }) }, "payload.error is an Error"],
    [{ at: new Date("never") }, "payload.at is a Date, which JSON cannot carry: its time is invalid"],
    [{ later: Promise.resolve(1) }, "payload.later is a Promise, which JSON cannot carry: await it"],
    [itself, "payload.inner[0] stands within itself"],
    [{ of: { toJSON: () => ({ a: Number.NaN }) } }, "payload.of.a is NaN"],
  ])("%o", async (payload, said) => {
    const { client, requests } = clientOf([]);
    const task = { task_type: "a", payload: payload as Record<string, unknown> };
    await expect(client.submit(task)).rejects.toThrow(said);
    await expect(client.submitBatch([{ task_type: "a" }, task])).rejects.toThrow(`tasks[1].${said}`);
    await expect(client.schedules.create({ name: "s", cron: "* * * * *", task })).rejects.toThrow(said);
    const transaction = { query: () => Promise.reject(new Error("it was sent")) };
    await expect(client.submit(task, { client: transaction })).rejects.toThrow(said);
    const graph = { nodes: { a: { task: "a", payload } } };
    await expect(client.submitRun(graph)).rejects.toThrow(`graph.nodes.a.${said}`);
    expect(requests).toEqual([]);
  });

  test("what is nested so deeply that nothing could read it", async () => {
    let payload: Record<string, unknown> = {};
    for (let at = 0; at < 100_000; at++) payload = { payload };
    const { client } = clientOf([]);
    await expect(client.submit({ task_type: "a", payload })).rejects.toThrow("payload is nested too deeply");
  });

  test("what it carries, or leaves out as it is meant to, is sent", async () => {
    class Point {
      readonly x = 1;
      readonly y = undefined;
    }
    const shared = { a: null };
    const payload = { at: new Date(0), left: undefined, point: new Point(), twice: [shared, shared, -0, ""] };
    const { client, requests } = clientOf([ok(TASK), ok(TASK)]);
    await client.submit({ task_type: "a", payload });
    await client.submit({ task_type: "a" });
    const sent = requests.map(({ body }) => (JSON.parse(body) as { payload?: unknown }).payload);
    expect(sent).toEqual([
      { at: "1970-01-01T00:00:00.000Z", point: { x: 1 }, twice: [{ a: null }, { a: null }, 0, ""] },
      undefined,
    ]);
  });
});

test("waiting goes on while the server is away or restarts, and ends with the task", async () => {
  const { client, requests } = clientOf(
    [ok(TASK), busy(503), broken, ok(TASK), ok({ ...TASK, status: "failed" })],
    0,
  );
  expect(await client.waitForTask("t")).toMatchObject({ status: "failed" });
  expect(requests).toHaveLength(5);
  expect(requests[0]?.url).toContain("/task/t?wait=25");
});

test("waiting ends at once where the task is not there, or the server never was", async () => {
  await expect(clientOf([busy(404)]).client.waitForTask("t")).rejects.toMatchObject({ status: 404 });
  await expect(clientOf([broken], 0).client.waitForTask("t")).rejects.toMatchObject({ code: "broken" });
});

test("a task that has not ended in time is told without a reason where the server does not say one", async () => {
  const task = { ...TASK, worker_id: null };
  const { client, requests } = clientOf([ok(task), ok(task), busy(503)]);
  await expect(client.submitAndWait({ task_type: "a" }, { timeoutMs: 0 })).rejects.toMatchObject({
    code: "wait-timeout",
    message: "task t is still queued",
  });
  expect(requests[2]?.url).toMatch(/task\/t\/why$/);
});

test("what a task prints is followed from line to line, until nothing comes after its end", async () => {
  const ended = ok({ ...TASK, status: "completed" });
  const lines = (...numbers: number[]) =>
    ok({ lines: numbers.map((line) => ({ line, text: `line ${line}` })) });
  const { client, requests } = clientOf([lines(7, 8), ended, lines(9), ended, lines()]);
  const seen: string[] = [];
  for await (const { text } of client.followLog("t")) seen.push(text);
  expect(seen).toEqual(["line 7", "line 8", "line 9"]);
  const asked = requests.map(({ url }) => new URL(url)).filter(({ pathname }) => pathname.endsWith("/log"));
  expect(asked.map(({ searchParams }) => searchParams.get("after"))).toEqual(["-1", "8", "9"]);
});

describe("a stream of events", () => {
  const stream = (text: string) => (): Response => new Response(text);
  const event = (id: number) => `id: ${id}\nevent: E\ndata: {"kind":"E"}\n\n`;

  test("is resumed after the last event", async () => {
    const { client, requests } = clientOf([stream(event(1) + event(2)), broken, busy(503), stream(event(3))]);
    const seen: string[] = [];
    for await (const { id } of client.events({ from: "start" })) {
      seen.push(id);
      if (id === "3") break;
    }
    expect(seen).toEqual(["1", "2", "3"]);
    expect(requests.map(({ headers }) => headers.get("last-event-id"))).toEqual([null, "2", "2", "2"]);
  });

  test("of a run ends with the run, or when there is nothing more", async () => {
    const run = (status: string) => `event: Run\ndata: {"id":"r","status":"${status}"}\n\n`;
    const ended = clientOf([stream(run("running")), stream(run("running") + event(1) + run("completed"))]);
    const seen = [];
    for await (const told of ended.client.runEvents("r"))
      seen.push(told.type === "run" ? told.run.status : told.event.id);
    expect(seen).toEqual(["running", "running", "1", "completed"]);
    const nothing = clientOf([() => new Response(null, { status: 204 })]);
    for await (const _ of nothing.client.runEvents("r")) expect.unreachable();
  });

  test("a run is asked for again until it has ended", async () => {
    const { client, requests } = clientOf([ok({ status: "running" }), ok({ status: "failed" })]);
    expect(await client.waitForRun("r")).toMatchObject({ status: "failed" });
    expect(requests[0]?.url).toMatch(/runs\/r\?wait=25$/);
  });

  test("that may not be read any more ends with what the server says", async () => {
    const { client } = clientOf([stream(event(1)), busy(401, {}, "unauthorized")]);
    const events = client.events();
    expect((await events.next()).value).toMatchObject({ id: "1" });
    await expect(events.next()).rejects.toMatchObject({ code: "unauthorized" });
  });
});

test("it says who asks, of which zone, below the path of the URL", async () => {
  const { client, requests } = clientOf([ok({ tasks: [], next: null })]);
  for await (const _ of client.tasks({ status: ["queued", "running"], run: "a/b" }, { pageSize: 5 }));
  const [{ url, headers } = { url: "", headers: new Headers() }] = requests;
  expect(url).toBe(
    "http://server.test/base/api/v2/scheduler/tasks?status=queued&status=running&run=a%2Fb&limit=5",
  );
  expect(headers.get("authorization")).toBe("Bearer k");
  expect(headers.get("x-zone-id")).toBe("eu");
  expect(headers.get("x-agent-id")).toBe("ada");
});

test("names from outside stay in their place of the path", async () => {
  const { client, requests } = clientOf([ok({})]);
  await client.setLimit("a/../b?c", {});
  expect(requests[0]?.url).toBe("http://server.test/base/api/v2/scheduler/limits/a%2F..%2Fb%3Fc");
});

test("what is no Orrery server is told apart", async () => {
  const page = () => new Response("<html>");
  await expect(clientOf([page]).client.metrics()).rejects.toMatchObject({ code: "bad-answer" });
  const missing = () => new Response("<html>", { status: 404 });
  await expect(clientOf([missing]).client.metrics()).rejects.toMatchObject({
    code: "http-404",
    detail: "the server answered HTTP 404",
  });
});

test("a server that never answers is given up in time", async () => {
  const client = new OrreryClient({
    url: "http://server.test",
    key: "k",
    answerWithinMs: 50,
    retryForMs: 0,
    fetch: (_url, init) =>
      new Promise((_, reject) => {
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error));
      }),
  });
  await expect(client.metrics()).rejects.toMatchObject({ code: "no-answer", status: 0 });
});

describe("a server that is not there", () => {
  const refused = (): Response => {
    throw new TypeError("fetch failed", { cause: Object.assign(new Error("no"), { code: "ECONNREFUSED" }) });
  };

  function clientWith(answers: Answer[], retryForMs?: number) {
    vi.useFakeTimers();
    const client = new OrreryClient({
      url: "http://server.test:2027",
      key: "k",
      ...(retryForMs !== undefined && { retryForMs }),
      fetch: async () => await (answers.shift() ?? refused)(),
    });
    return async () => {
      const begun = performance.now();
      const told = client.metrics().then(
        () => "answered",
        ({ code, message }: OrreryError) => `${code}: ${message}`,
      );
      await vi.runAllTimersAsync();
      return { told: await told, afterMs: performance.now() - begun };
    };
  }

  afterEach(() => {
    vi.useRealTimers();
  });

  test("and never was is given up after seconds, with its URL, how long it was tried, and what to check", async () => {
    const { told, afterMs } = await clientWith([])();
    expect(told).toMatch(
      /^unreachable: no server answers at http:\/\/server\.test:2027 \(ECONNREFUSED\), tried for \d s; check the host and the port, and that a server runs there/,
    );
    expect(afterMs).toBeGreaterThan(1_000);
    expect(afterMs).toBeLessThan(5_000);
  });

  test("but was is waited for, as a restart takes its time", async () => {
    const away = Array.from({ length: 8 }, () => refused);
    const ask = clientWith([ok({}), ...away, ok({})]);
    expect(await ask()).toMatchObject({ told: "answered" });
    const { told, afterMs } = await ask();
    expect(told).toBe("answered");
    expect(afterMs).toBeGreaterThan(5_000);
    expect(await ask()).toMatchObject({
      told: expect.stringMatching(/tried for \d\d s; it has answered before: see whether it still runs$/),
    });
  });

  test("is waited for as long as it was said", async () => {
    const away = Array.from({ length: 8 }, () => refused);
    expect(await clientWith([...away, ok({})], 30_000)()).toMatchObject({ told: "answered" });
    const { told } = await clientWith([], 0)();
    expect(told).toMatch(/\(ECONNREFUSED\); check the host/);
  });
});

test("it loads nothing but itself: of the protocol it takes only types, and what reads results comes with the first", () => {
  const folder = new URL("./", import.meta.url);
  const late = ["computation.ts", "node-result.ts"];
  const sources = readdirSync(folder).filter((name) => !name.endsWith(".test.ts") && !late.includes(name));
  const loaded = sources.flatMap((name) => [
    ...readFileSync(new URL(name, folder), "utf8").matchAll(
      /^(?:import|export) (?!type )[^;]*? from "([^.][^"]*|\.\.[^"]*)"/gm,
    ),
  ]);
  const names = [...new Set(loaded.map(([, name]) => name))];
  expect(names.sort()).toEqual(["../tls/index.ts", "node:http", "node:https", "node:v8"]);
});

test("a client that cannot reach anything as it was made says what is wrong", () => {
  const url = "http://127.0.0.1:2026";
  expect(() => new OrreryClient({ url, key: "" })).toThrow("the key is empty; give the one that");
  expect(() => new OrreryClient({ url, key: "a b" })).toThrow("visible ASCII");
  for (const bad of ["127.0.0.1:2026", "", "ftp://host"])
    expect(() => new OrreryClient({ url: bad, key: "k" })).toThrow(
      `the url must be one such as ${url}; got ${JSON.stringify(bad)}`,
    );
});
