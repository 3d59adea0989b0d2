// Settings as their users give them: real servers, workers and runs, told by a file, the environment and options.

import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
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

const MEMORY = ["--store", "memory"];
const RATE = `
server: {log_level: silent}
queue:
  submit_rate: 1
  submit_rate_period: 1h
`;

test("[G-10] a server does what the file says; the environment goes before it, and options before both", async () => {
  const cwd = await directoryWith({ "orrery.yaml": RATE, "other.yaml": RATE.replace("rate: 1", "rate: 4") });
  const env = { ORRERY_QUEUE_SUBMIT_RATE: "2" };
  const [found, byVariable, byOption, named] = await Promise.all([
    server(cwd, MEMORY),
    server(cwd, MEMORY, env),
    server(cwd, [...MEMORY, "--set", "queue.submit_rate=3"], env),
    server(cwd, MEMORY, { ORRERY_CONFIG: "other.yaml" }),
  ]);
  expect(await Promise.all([found, byVariable, byOption, named].map(taken))).toEqual([1, 2, 3, 4]);
});

test("an option of a command beats the file, by which it is not the default", async () => {
  const config = "server: {store: memory, port: 1, strict_port: true, log_level: debug}";
  const cwd = await directoryWith({ "orrery.yaml": config });
  // startServerProcess says --port 0.
  const { child, finished, said } = await server(cwd, ["--config", "orrery.yaml", "--log-level", "silent"]);
  child.kill("SIGTERM");
  expect((await finished).code).toBe(0);
  expect(said()).toBe("");
});

test("a data directory that cannot be used ends a server that was told of it, also by the name that it has by itself", async () => {
  const cwd = await directoryWith({
    ".orrery": "a file",
    "told.yaml": "server: {data: .orrery/server}",
  });
  const env = { DATABASE_URL: undefined };
  for (const args of [
    ["--data", ".orrery/server"],
    ["--config", "told.yaml"],
  ]) {
    const ended = await startOrrery(cwd, ["serve", "--port", "0", ...args], env).finished;
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("--data") });
  }
  const { said } = await server(cwd);
  expect(said()).toContain("memory");
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
      'orrery: orrery.yaml:1:17: server.store must be "memory" or a URL that begins with postgres:// and has ports from 1 to 65535',
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

test("[F24] orrery.yaml of the current folder names neither the server nor the module of a worker, unless it is named", async () => {
  const testServer = await TestServer.start();
  cleanUps.push(() => testServer.crash());
  const cwd = await directoryWith({
    "orrery.yaml": `worker: {url: "${testServer.url}", tasks: tasks.mjs, shell: true, slots: 3}`,
    "tasks.mjs": 'import { writeFileSync } from "node:fs"; writeFileSync("ran", "")',
    "a.yaml": "nodes: { a: { run: 'true' } }",
  });
  const env = { ORRERY_API_KEY: SERVER_KEY, ORRERY_URL: undefined };
  const { code, stderr } = await startOrrery(cwd, ["worker"], env).finished;
  expect(code).toBe(2);
  for (const name of ["url", "tasks", "shell"])
    expect(stderr).toMatch(
      new RegExp(`^orrery: orrery.yaml:1:\\d+: worker.${name} decides .*: add --config orrery.yaml`, "m"),
    );
  expect(existsSync(join(cwd, "ran"))).toBe(false);
  expect(testServer.heard).toEqual([]);
  // Commands that these settings mean nothing for go on.
  expect(await orrery(cwd, "run", "a.yaml")).toMatchObject({ code: 0 });
  expect((await startOrrery(cwd, ["config", "check"], env).finished).code).toBe(2);
  expect((await startOrrery(cwd, ["config", "check", "orrery.yaml"], env).finished).code).toBe(0);
});

test("[F24] orrery.yaml of the current folder names no module and no store of a server, unless it is named", async () => {
  const cwd = await directoryWith({
    "orrery.yaml": "server: {tasks: tasks.mjs, store: memory, advertise: http://10.0.0.1:1}",
    "tasks.mjs":
      'import { writeFileSync } from "node:fs"; writeFileSync("ran", ""); export const f = () => 1;',
  });
  const { code, stderr } = await startOrrery(cwd, ["serve", "--port", "0"], { DATABASE_URL: undefined })
    .finished;
  expect(code).toBe(2);
  for (const name of ["tasks", "store", "advertise"]) expect(stderr).toContain(`server.${name} decides`);
  expect(existsSync(join(cwd, "ran"))).toBe(false);
  await server(cwd, ["--config", "orrery.yaml"]);
  expect(existsSync(join(cwd, "ran"))).toBe(true);
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

test("[G-10] config show says what is in effect and where it comes from, without what is secret", async () => {
  const cwd = await directoryWith({
    "orrery.yaml": "server:\n  store: postgres://me:hunter2@db/x?sslpassword=hunter3\nresources: {gpu: 2}\n",
  });
  const env = {
    ORRERY_API_KEY: "sk-hunter-0123456789-and-0123456789",
    DATABASE_URL: undefined,
    ORRERY_SCHEDULING_MAX_CONCURRENT_TOKENS: "7",
    ORRERY_SCHEDULING_MAX_CONCURRENT_TOKEN: "8",
  };
  const args = ["config", "show", "--config", "orrery.yaml", "--set", "run.workers=2", "--origin"];
  const { code, stdout, stderr } = await startOrrery(cwd, args, env).finished;
  expect(code).toBe(0);
  const origin = (line: string) => new RegExp(`^  ${line.replace("  ", " +")}$`, "m");
  expect(stdout).toMatch(origin("max_concurrent_workcells: 4  # default"));
  expect(stdout).toMatch(origin("max_concurrent_tokens: 7  # ORRERY_SCHEDULING_MAX_CONCURRENT_TOKENS"));
  expect(stdout).toMatch(origin("gpu: 2  # orrery.yaml:3:13"));
  expect(stdout).toMatch(origin("workers: 2  # --set run.workers"));
  expect(stdout).toMatch(
    /^ {2}store: "postgres:\/\/me:\*{3}@db\/x\?sslpassword=\*{3}" +# orrery\.yaml:2:3$/m,
  );
  expect(stdout).toMatch(origin('api_key: "\\*\\*\\*"  # ORRERY_API_KEY'));
  expect(stderr).toBe(
    "warning: ORRERY_SCHEDULING_MAX_CONCURRENT_TOKEN names no setting; did you mean ORRERY_SCHEDULING_MAX_CONCURRENT_TOKENS?\n",
  );
  const { stdout: json } = await startOrrery(cwd, [...args, "--json"], env).finished;
  expect(JSON.parse(json)).toMatchObject({
    file: "orrery.yaml",
    settings: {
      scheduling: { max_concurrent_tokens: 7, starvation_threshold_hours: 4 },
      resources: { gpu: 2 },
    },
    origins: {
      "scheduling.max_concurrent_tokens": { kind: "variable" },
      "resources.gpu": { kind: "file", file: "orrery.yaml", line: 3, column: 13 },
    },
  });
  expect(stdout + json).not.toContain("hunter");
});

test("what config show prints is a file of the same settings", async () => {
  const cwd = await directoryWith({});
  const { stdout } = await startOrrery(cwd, ["config", "show"], { DATABASE_URL: undefined }).finished;
  await writeFile(join(cwd, "all.yaml"), stdout);
  expect(await orrery(cwd, "config", "check", "all.yaml")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^all\.yaml: ok, \d\d settings\n$/),
  });
  expect((await orrery(cwd, "config", "show", "queue.fair_share")).stdout).toBe("queue:\n  fair_share: 10\n");
  expect(await orrery(cwd, "config", "show", "queue.fair")).toMatchObject({
    code: 2,
    stderr: 'orrery: there is no setting "queue.fair"; did you mean queue.fair_share?\n',
  });
});

test("config check says everything that is wrong, as text and as JSON", async () => {
  const cwd = await directoryWith({ "c.yaml": "queue: {order: best}\nsever: {}\n" });
  const lines = [
    'c.yaml:1:16: queue.order must be hrrn, classic or graph; got "best"',
    'c.yaml:2:1: unknown key "sever" in the file; did you mean "server"?',
  ];
  expect(await orrery(cwd, "config", "check", "c.yaml")).toMatchObject({
    code: 2,
    stdout: "",
    stderr: lines.map((line) => `orrery: ${line}\n`).join(""),
  });
  const { stdout } = await orrery(cwd, "config", "check", "c.yaml", "--json");
  const { problems } = JSON.parse(stdout) as { problems: { where: string; message: string }[] };
  expect(problems.map(({ where, message }) => `${where}: ${message}`)).toEqual(lines);
  expect(await orrery(cwd, "config", "check")).toMatchObject({ code: 3 });
});

test("config schema prints what is shipped", async () => {
  const shipped = await readFile(new URL("../docs/orrery.schema.json", import.meta.url), "utf8");
  expect((await orrery(await directoryWith({}), "config", "schema")).stdout).toBe(shipped);
});

test("doctor looks at the store that the file names, and at the file", async () => {
  const cwd = await directoryWith({
    "orrery.yaml": "server: {store: memory}",
    "bad.yaml": "server: {store: 7}",
  });
  let url: string | undefined = "http://127.0.0.1:1";
  const checks = async (...args: readonly string[]) => {
    const env = { DATABASE_URL: undefined, ORRERY_URL: url };
    const { stdout } = await startOrrery(cwd, ["doctor", "--json", ...args], env).finished;
    return (JSON.parse(stdout) as { checks: { name: string; result: string; found: string }[] }).checks;
  };
  const found = await checks("--config", "orrery.yaml");
  expect(found).toContainEqual(expect.objectContaining({ name: "settings", result: "pass" }));
  expect(JSON.stringify(found)).toContain("memory: nothing is kept");
  expect(await checks("--config", "bad.yaml")).toContainEqual(
    expect.objectContaining({ name: "settings", result: "fail" }),
  );
  url = undefined;
  expect(JSON.stringify(await checks("--set", "server.port=1"))).toContain("http://127.0.0.1:1");
});
