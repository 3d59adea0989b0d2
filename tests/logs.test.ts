// What a server writes to stderr: lines of JSON, and in none of them anything that is not for whoever reads logs.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { makeLog } from "../src/server/index.ts";
import { openEmbedded } from "../src/store/embedded/cluster.ts";
import { directoryWith, startOrrery } from "./cli.ts";
import { testDataDir } from "./postgres.ts";
import { SERVER_KEY, startServerProcess } from "./server-process.ts";

const MARK = "xyzzySECRET";

interface Line {
  readonly time: string;
  readonly level: string;
  readonly msg: string;
  readonly request_id?: string;
  readonly route?: string;
}

function linesOf(text: string): Line[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

test("at debug level no key, payload, result or header is in any line, whatever goes wrong", async () => {
  const cwd = await directoryWith({
    "tasks.mjs": `
      import { task } from ${JSON.stringify(new URL("../dist/worker/index.js", import.meta.url).href)};
      export const leak = task(async ({ text }) => ({ text }));
      export const fail = task(async ({ text }) => { throw new Error(text); });`,
  });
  const server = await startServerProcess(cwd, ["--store", "memory", "--log-level", "debug"], {
    ORRERY_TEST_ENV: `${MARK}-env`,
  });
  const api = `${server.url}/api/v2/scheduler`;
  const send = async (path: string, body: string | undefined, headers: Record<string, string> = {}) =>
    await fetch(`${api}/${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${SERVER_KEY}`,
        "content-type": "application/json",
        "x-request-id": "my-request",
        "x-custom": `${MARK}-header`,
        cookie: `${MARK}-cookie`,
        ...headers,
      },
      ...(body !== undefined && { body }),
    });
  const worker = startOrrery(cwd, ["worker", "--tasks", "tasks.mjs", "--server", server.url, "--quiet"], {
    ORRERY_API_KEY: SERVER_KEY,
  });
  for (const task_type of ["leak", "fail"]) {
    const body = { executor: "default", task_type, payload: { text: `${MARK}-payload` }, max_attempts: 1 };
    const { id } = (await (await send("submit", JSON.stringify(body))).json()) as { id: string };
    const ended = (await (await send(`task/${id}?wait=20`, undefined)).json()) as { status: string };
    expect(ended.status).toBe(task_type === "leak" ? "completed" : "failed");
  }
  // What is refused, and what is not even HTTP.
  await send("submit", `{"payload": "${MARK}-broken`);
  await send("submit", JSON.stringify({ [`${MARK}-field`]: 1 }));
  await send("submit", JSON.stringify({ payload: `${MARK}`.repeat(200_000) }));
  await send(`task/${MARK}-id?q=${MARK}-query`, undefined);
  await send("tasks", undefined, { authorization: `Bearer sk-${MARK}-wrong-key` });
  await send("tasks", undefined, { "x-zone-id": `${MARK}-zone` });
  const key = await send("keys", JSON.stringify({ name: "k", scopes: ["read"] }));
  const { secret } = (await key.json()) as { secret: string };
  await send("runs", JSON.stringify({ graph: { nodes: { a: { run: `echo ${MARK}-command` } } } }));
  worker.child.kill("SIGTERM");
  await worker.finished;
  server.child.kill("SIGTERM");
  const { stderr, code } = await server.finished;
  expect(code).toBe(0);
  expect(stderr).not.toContain(MARK);
  expect(stderr).not.toContain(SERVER_KEY);
  expect(stderr).not.toContain(secret);
  const lines = linesOf(stderr);
  expect(
    lines.every(({ time, level, msg }) => !Number.isNaN(Date.parse(time)) && level !== "" && msg !== ""),
  ).toBe(true);
  expect(lines.filter(({ request_id }) => request_id === "my-request").length).toBeGreaterThan(8);
  expect(lines.map(({ route }) => route)).toContain("/api/v2/scheduler/task/:id");
});

test("the level says what is written; at the usual one a request is no line", async () => {
  const server = await startServerProcess("/", ["--store", "memory"]);
  await fetch(`${server.url}/api/v2/scheduler/tasks`);
  server.child.kill("SIGTERM");
  const lines = linesOf((await server.finished).stderr);
  expect(lines.map(({ level, msg }) => [level, msg.split(":")[0]])).toEqual([
    ["info", "serving"],
    ["info", "stopping"],
    ["info", "stopped"],
  ]);
  const { code, stderr } = await startOrrery("/", ["serve", "--log-level", "loud"]).finished;
  expect([code, stderr]).toEqual([2, expect.stringContaining("Allowed choices are debug, info")]);
});

test("a terminal gets words, and only fields that are named are written at all", () => {
  const said: string[] = [];
  const log = makeLog({ level: "info", isHuman: true, write: (line) => said.push(line) });
  log.warn("the disk\u001b[31m is full", { ms: 3 });
  log.debug("nobody sees this");
  log.forRequests
    .child({ request_id: "r1", payload: MARK })
    .error({ err: syntaxError(), body: MARK }, "broke");
  expect(said[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}warn {3}the disk\[31m is full {2}ms=3\n$/);
  expect(said[1]).toMatch(/ error {2}broke {2}SyntaxError: a text could not be read {2}request_id=r1\n/);
  expect(said).toHaveLength(2);
  expect(said.join("")).not.toContain(MARK);
});

function syntaxError(): unknown {
  try {
    return JSON.parse(`${MARK} is no JSON`);
  } catch (error) {
    return error;
  }
}

test("an outage of PostgreSQL is one line when it begins, and one when it is over", async () => {
  const dataDir = await testDataDir();
  let embedded = await openEmbedded({ dataDir });
  const server = await startServerProcess(await directoryWith({}), ["--store", embedded.url]);
  const warned = () =>
    linesOf(server.said())
      .filter(({ level }) => level === "warn")
      .map(({ msg }) => msg);
  await embedded[Symbol.asyncDispose]();
  await expect.poll(warned, { timeout: 6_000 }).toHaveLength(1);
  // Longer than anything waits for it, so that all that looks again and again has failed.
  await sleep(14_000);
  expect(warned()).toEqual([expect.stringMatching(/^PostgreSQL: .+; trying again until it is there$/)]);
  embedded = await openEmbedded({ dataDir });
  await expect.poll(warned).toHaveLength(2);
  expect(warned()[1]).toMatch(/^PostgreSQL is there again, after \d+ s$/);
  server.child.kill("SIGTERM");
  expect((await server.finished).code).toBe(0);
  await embedded[Symbol.asyncDispose]();
});
