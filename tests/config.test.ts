// Settings as their users give them: real servers, workers and runs, told by a file, the environment and options.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { directoryWith, orrery, startOrrery } from "./cli.ts";
import { SERVER_KEY, type ServerProcess, startServerProcess } from "./server-process.ts";
import { anAssignment } from "./worker-fixture.ts";
import { startWorkerProcess } from "./worker-processes.ts";
import { TestServer } from "./worker-server.ts";

const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function server(
  cwd: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<ServerProcess> {
  const started = await startServerProcess(cwd, args, env);
  cleanUps.push(async () => {
    started.child.kill("SIGTERM");
    await started.finished;
  });
  return started;
}

/** How many tasks one agent may submit before it is refused, up to five. */
async function taken({ url }: ServerProcess): Promise<number> {
  for (let count = 0; count < 5; count++) {
    const { status } = await fetch(`${url}/api/v2/scheduler/submit`, {
      method: "POST",
      headers: { Authorization: `Bearer ${SERVER_KEY}`, "Content-Type": "application/json" },
      body: JSON.stringify({ executor: "nobody", task_type: "noop", payload: {} }),
    });
    if (status === 429) return count;
    expect(status).toBeLessThan(300);
  }
  return 5;
}

const RATE = `
server: {store: memory, log_level: silent}
queue:
  submit_rate: 1
  submit_rate_period: 1h
`;

test("[G-10] a server does what the file says; the environment goes before it, and options before both", async () => {
  const cwd = await directoryWith({ "orrery.yaml": RATE, "other.yaml": RATE.replace("rate: 1", "rate: 4") });
  const env = { ORRERY_QUEUE_SUBMIT_RATE: "2" };
  const [found, byVariable, byOption, named] = await Promise.all([
    server(cwd),
    server(cwd, [], env),
    server(cwd, ["--set", "queue.submit_rate=3"], env),
    server(cwd, [], { ORRERY_CONFIG: "other.yaml" }),
  ]);
  expect(await Promise.all([found, byVariable, byOption, named].map(taken))).toEqual([1, 2, 3, 4]);
});

test("an option of a command beats the file, by which it is not the default", async () => {
  const config = "server: {store: memory, port: 1, strict_port: true, log_level: debug}";
  const cwd = await directoryWith({ "orrery.yaml": config });
  // startServerProcess says --port 0.
  const { child, finished, said } = await server(cwd, ["--log-level", "silent"]);
  child.kill("SIGTERM");
  expect((await finished).code).toBe(0);
  expect(said()).toBe("");
});

test("[G-10] everything wrong ends a command before it begins, and says where", async () => {
  const cwd = await directoryWith({
    "orrery.yaml": "server: {store: mysql://me:hunter2@db/x, prot: 1}\nfairShare: 3\nageEveryMs: 90000\n",
  });
  const { code, stderr } = await startOrrery(cwd, ["serve", "--port", "x"], { DATABASE_URL: undefined })
    .finished;
  expect({ code, lines: stderr.trimEnd().split("\n") }).toEqual({
    code: 2,
    lines: [
      'orrery: orrery.yaml:1:17: server.store must be "memory" or a URL that begins with postgres://',
      'orrery: orrery.yaml:1:42: unknown key "prot" in server; did you mean "port"?',
      "orrery: orrery.yaml:2:1: fairShare is queue.fair_share; write queue: {fair_share: 3}",
      "orrery: orrery.yaml:3:1: ageEveryMs is queue.age_every; write queue: {age_every: 1m30s}",
      'orrery: --port must be a whole number from 0 to 65535; got "x"',
    ],
  });
  expect(await orrery(cwd, "serve", "--config", "none.yaml")).toMatchObject({
    code: 3,
    stderr: "orrery: none.yaml: no such file\n",
  });
});

test("a worker registers as the file says, and with what options say instead", async () => {
  const testServer = await TestServer.start();
  cleanUps.push(() => testServer.crash());
  const config = `
worker:
  url: ${testServer.url}
  tasks: tasks.ts
  executors: [build, 7]
  slots: 3
  cpu: 1500m
  memory: 2GiB
  transport: http
`;
  const cwd = await directoryWith({
    "orrery.yaml": config,
    "tasks.ts": await readFile(new URL("../examples/tasks.ts", import.meta.url)),
  });
  // In another directory than the file, whose paths are relative to it.
  const args = ["--config", join(cwd, "orrery.yaml"), "--id", "w1", "--slots", "5", "--capability", "gpu"];
  const worker = startWorkerProcess(args, { DATABASE_URL: "mysql://is-not-for-workers" });
  cleanUps.push(async () => {
    worker.child.kill("SIGKILL");
    await worker.ended;
  });
  const { registration } = await Promise.race([
    testServer.hears("register"),
    worker.ended.then(({ output }) => Promise.reject(new Error(`it ended: ${output}`))),
  ]);
  expect(registration).toMatchObject({
    executors: ["build", "7"],
    capabilities: ["gpu"],
    slots: 5,
    cpu_millicores: 1500,
    memory_bytes: 2 * 1024 ** 3,
  });
  const greet = anAssignment("greet", { name: "Ada" });
  testServer.assign(greet);
  expect(await testServer.report(greet.task)).toMatchObject({ result: { hello: "Ada" } });
});

test("a local run fails fast where the file says so, and not where an option says otherwise", async () => {
  const graph = "nodes: {bad: {run: 'exit 1', priority: high}, later: {run: 'true'}}";
  const cwd = await directoryWith({
    "g.yaml": graph,
    "orrery.yaml": "run: {fail_fast: true, workers: 1}\nplacement: {strategy: random}\n",
  });
  const counts = async (...args: readonly string[]) =>
    (JSON.parse((await orrery(cwd, "run", "g.yaml", "--json", ...args)).stdout) as { counts: unknown })
      .counts;
  expect(await counts()).toMatchObject({ failed: 1, cancelled: 1 });
  expect(await counts("--keep-going")).toMatchObject({ failed: 1, completed: 1 });
  expect(await counts("--set", "run.fail_fast=false")).toMatchObject({ failed: 1, completed: 1 });
});
