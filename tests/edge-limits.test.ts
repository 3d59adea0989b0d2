// The attacks of the security review on a real server, for a moment each. The server has small limits, so that the
// attacks meet them at once.

import { request } from "node:http";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { flood, largeBatch, yamlGraph } from "./attacks/floods.ts";
import { submitSteadily } from "./attacks/honest.ts";
import { holdIdleConnections } from "./attacks/idle-connections.ts";
import { readSlowly } from "./attacks/slow-readers.ts";
import type { Target } from "./attacks/target.ts";
import { sendUpgradeBodies } from "./attacks/upgrade-bodies.ts";
import { heldBytes } from "./heap.ts";
import { exchange } from "./raw-http.ts";
import { ADMIN_KEY, TestService } from "./service.ts";

const API = "/api/v2/scheduler";
const MIB = 1024 * 1024;

let service: TestService;
let honest: Target;
let attacker: Target;
let worker: Target;
beforeAll(async () => {
  service = await TestService.start("memory", {}, undefined, {
    connections: 60,
    workerConnections: 10,
    connectionsPerKey: 25,
    unknownConnections: 40,
    connectionsPerAddress: 30,
    stallMs: 200,
    largeBodiesPerKey: 2,
    bodyBytesPerKey: 8 * MIB,
    bytesPerKey: 256 * MIB,
    unreadBytesPerKey: 8 * MIB,
    workMsPerKey: 20,
  });
  honest = { url: service.server.url, key: ADMIN_KEY };
  worker = await newCaller(["work"]);
});
beforeEach(async () => {
  // A new key for each attack, because limits of rates outlast it.
  attacker = await newCaller(["submit", "read"]);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

/** All of them act for the same agent, and see each other's tasks. */
async function newCaller(scopes: readonly string[]): Promise<Target> {
  const { body } = await service.request("POST", "keys", { name: "k", scopes, zones: ["*"], agents: ["*"] });
  return { url: service.server.url, key: body.secret };
}

/** Runs an attack, and meanwhile `check`. Returns the attack's outcome. */
async function during<T>(
  attack: (signal: AbortSignal) => Promise<T>,
  check: () => Promise<unknown>,
): Promise<T> {
  const stop = new AbortController();
  const done = attack(stop.signal);
  try {
    await check();
  } finally {
    stop.abort();
  }
  return await done;
}

function statusOf({ url, key }: Target, path: string, method = "GET"): Promise<number | string> {
  return new Promise((resolve) => {
    const sent = request(`${url}${path}`, {
      method,
      agent: false,
      headers: { authorization: `Bearer ${key}` },
    });
    sent.on("response", (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sent.on("error", (error) => resolve((error as NodeJS.ErrnoException).code ?? "error"));
    sent.end();
  });
}

/** How often this limit was met, as the metrics say. */
async function limited(limit: string): Promise<number> {
  const { body } = await service.request("GET", "/metrics");
  return Number(new RegExp(`^orrery_http_limited_total{limit="${limit}"} (\\d+)$`, "m").exec(body)?.[1] ?? 0);
}

/** The path of a task of the attacker, whose answer has nearly 1 MiB. */
async function largeTask(): Promise<string> {
  const task = { executor: "e", task_type: "t", payload: { text: "x".repeat(900_000) } };
  const { body } = await service.request("POST", "submit", task, { key: attacker.key });
  return `${API}/task/${body.id}`;
}

test("[F5] a body under Upgrade is not read while its request waits", async () => {
  const path = await largeTask();
  const before = await heldBytes();
  const bodies = { connections: 1, length: 60 * MIB, request: `GET ${path}?wait=60` };
  const taken = await during(
    (signal) => sendUpgradeBodies(attacker, bodies, signal),
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 800));
      expect(await heldBytes()).toBeLessThan(before + 16 * MIB);
    },
  );
  // The buffers of the system take up to 36 MiB.
  expect(taken).toBeLessThan(48 * MIB);
});

test("[F5] a body under Upgrade that is larger than any route accepts is refused at once", async () => {
  const head = `POST ${API}/submit HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${honest.key}\r\n`;
  const rest = "connection: upgrade\r\nupgrade: h2c\r\ncontent-length: 9007199254740991\r\n\r\n";
  const { answers, isClosed } = await exchange(service.server.port, `${head}${rest}${" ".repeat(1000)}`, {
    until: (text) => text.endsWith("}"),
  });
  expect(answers()).toMatchObject([{ status: 413, body: expect.stringContaining("64 MiB") as string }]);
  expect(isClosed).toBe(false);
});

test("[F8] a reader that takes nothing of its answer is cut off", async () => {
  const path = await largeTask();
  // Together more than the buffers of the system take.
  const outcome = await during(
    (signal) => readSlowly(attacker, { connections: 2, path, requests: 16 }, signal),
    () => expect.poll(() => limited("stall")).toBeGreaterThan(0),
  );
  expect(outcome["open"]).toBeLessThanOrEqual(2);
});

test("[F8] a slow reader that goes on reading gets its whole answer", async () => {
  const path = await largeTask();
  const bytes = await new Promise<number>((resolve, reject) => {
    const sent = request(`${attacker.url}${path}`, {
      agent: false,
      headers: { authorization: `Bearer ${attacker.key}` },
    });
    sent.on("response", (answer) => {
      let read = 0;
      answer.on("data", (chunk: Buffer) => {
        read += chunk.length;
        answer.pause();
        setTimeout(() => answer.resume(), 20);
      });
      answer.on("end", () => resolve(read));
      answer.on("error", reject);
    });
    sent.end();
  });
  expect(bytes).toBeGreaterThan(900_000);
});

test("[F17] idle connections without a key lock nobody out", async () => {
  const outcome = await during(
    (signal) => holdIdleConnections({ ...attacker, key: "" }, { connections: 100, path: "/livez" }, signal),
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      for (let n = 0; n < 5; n++) expect(await statusOf(honest, `${API}/overview`)).toBe(200);
      expect(await statusOf(worker, "/worker/connect")).toBe(426);
    },
  );
  expect(outcome["open"]).toBeLessThan(100);
  expect(outcome["cut"]).toBeGreaterThan(0);
});

test("[F17] idle connections with a key take no more than the share of the key, and none of the workers'", async () => {
  await during(
    (signal) => holdIdleConnections(attacker, { connections: 60, path: `${API}/overview` }, signal),
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(await statusOf(attacker, `${API}/overview`)).toBe(429);
      for (let n = 0; n < 5; n++) expect(await statusOf(honest, `${API}/overview`)).toBe(200);
      // The workers' share is not the clients'.
      expect(await statusOf(worker, "/worker/connect")).toBe(426);
    },
  );
});

test("[F7] YAML and large batches are read while other requests are answered", async () => {
  const headers = { "content-type": "application/yaml" };
  // The body thread starts with the first of them.
  await service.request("POST", "runs", "nodes: {a: {task: t}}", { headers });
  const sendLarge = [
    () => service.request("POST", "runs", yamlGraph(), { headers }),
    () => service.request("POST", "submit/batch", String(largeBatch(6 * MIB))),
  ];
  for (const send of sendLarge) {
    let isAnswered = false;
    const large = send().finally(() => {
      isAnswered = true;
    });
    let others = 0;
    for (; !isAnswered; others++) expect(await statusOf(honest, `${API}/overview`)).toBe(200);
    expect((await large).status).toBe(422);
    // At most a few come before the body, and none while the main thread reads it.
    expect(others).toBeGreaterThan(10);
  }
});

test("[F7] a flood of YAML is refused beyond a few bodies of a key", async () => {
  const what = {
    method: "POST",
    path: `${API}/runs`,
    type: "application/yaml",
    body: yamlGraph(),
    parallel: 6,
  };
  const stop = new AbortController();
  const steady = submitSteadily(honest, { perSecond: 50 }, stop.signal);
  await during(
    (signal) => flood(attacker, what, signal),
    () => expect.poll(() => limited("large_bodies_per_key")).toBeGreaterThan(5),
  );
  stop.abort();
  expect((await steady).failed).toEqual({});
});

test("[F7] a large batch is read beside the main thread, and answered as a small one is", async () => {
  const tasks = Array.from({ length: 1200 }, (_, n) => ({
    executor: "e",
    task_type: `t${n}`,
    payload: { n },
  }));
  const { status, body } = await service.request("POST", "submit/batch", { tasks });
  expect(status).toBe(200);
  expect(
    body.results.map((one: { status: number; task: { task_type: string } }) => [
      one.status,
      one.task.task_type,
    ]),
  ).toEqual(tasks.map(({ task_type }) => [201, task_type]));
  const wrong = await service.request("POST", "submit/batch", { tasks: [...tasks, { executor: "e" }] });
  expect(wrong).toMatchObject({ status: 422, body: { code: "invalid" } });
  expect(wrong.body.errors[0].pointer).toMatch(/^\/tasks\/1200\b/);
});

test("[F7] bodies beyond the share of a key are refused before they are sent", async () => {
  const head = `POST ${API}/submit/batch HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${attacker.key}\r\n`;
  const rest = "content-type: application/json\r\ncontent-length: 5000000\r\n\r\n{";
  const held = Array.from({ length: 4 }, () =>
    exchange(service.server.port, `${head}${rest}`, { until: (text) => text.endsWith("}"), withinMs: 700 }),
  );
  const answers = (await Promise.all(held)).flatMap((one) => one.answers());
  expect(answers.map(({ status }) => status)).toEqual([429, 429, 429]);
  for (const { body } of answers) expect(body).toContain("server.bodies_per_key");
  expect((await service.request("POST", "submit/batch", { tasks: [] })).status).toBe(422);
});

test("[F7] a key that makes the main thread work without a pause is slowed down", async () => {
  const values = Array.from({ length: 100_000 }, (_, n) => n);
  // Too large for a cancellation, and read by the main thread.
  const what = { method: "POST", path: `${API}/tasks/bulk`, body: JSON.stringify({ values }), parallel: 2 };
  await during(
    (signal) => flood(attacker, what, signal),
    () => expect.poll(() => limited("work_per_key")).toBeGreaterThan(0),
  );
});

test("[F8] answers that are not read are bounded for each key", async () => {
  const path = await largeTask();
  await during(
    (signal) => readSlowly(attacker, { connections: 8, path, requests: 8 }, signal),
    () => expect.poll(() => limited("unread_per_key")).toBeGreaterThan(0),
  );
  expect(await statusOf(honest, `${API}/overview`)).toBe(200);
});

test("[F7] tasks of a batch that are refused for a full backlog are charged to the key", async () => {
  const limits = { workMsPerKey: 1 };
  await using full = await TestService.start("memory", { config: { backlogLimit: 0 } }, undefined, limits);
  for (const count of [200, 1200]) {
    const tasks = Array.from({ length: count }, () => ({ executor: "e", task_type: "t" }));
    // A new key each time. The larger batch is read on the body thread.
    const { body } = await full.post("keys", {
      name: `k${count}`,
      scopes: ["submit"],
      zones: ["*"],
      agents: ["*"],
    });
    const key = { key: body.secret };
    expect((await full.post("submit/batch", { tasks }, key)).body.results[0].problem.code).toBe("backlog");
    const next = await full.submit({}, key);
    expect([next.status, next.body.detail]).toEqual([429, expect.stringContaining("server.work_per_key")]);
  }
});
