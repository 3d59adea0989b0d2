// Commands and the keys of the process that starts them, driven through the compiled command line.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { OrreryClient } from "../src/client/index.ts";
import { directoryWith, type Finished, orrery, startOrrery } from "./cli.ts";
import { SERVER_KEY, type ServerProcess, startServerProcess } from "./server-process.ts";
import { anAssignment } from "./worker-fixture.ts";
import { startWorkerProcess, type WorkerProcess } from "./worker-processes.ts";
import { TestServer } from "./worker-server.ts";

/** Variables that a command must never see. Their values are searched for in everything that the command printed. */
const SECRETS: Readonly<Record<string, string>> = {
  ORRERY_API_KEY: SERVER_KEY,
  ORRERY_WORKER_KEY: "sk-of-the-worker-0123456789",
  ORRERY_SECRET: "secret-of-the-servers-0123456789",
  DATABASE_URL: "postgres://u:database-password@127.0.0.1/x",
  PGPASSWORD: "pg-password",
  PGHOST: "pg-host",
  OTEL_EXPORTER_OTLP_HEADERS: "authorization=collector-key",
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: "authorization=traces-key",
};

/** What everybody may see. */
const HARMLESS = { LANG: "C.UTF-8", LC_TIME: "C", TZ: "Asia/Tokyo", TMPDIR: "/tmp" };

function expectNoSecrets(text: string): void {
  for (const [name, value] of Object.entries(SECRETS)) {
    expect(text).not.toContain(`${name}=`);
    expect(text).not.toContain(value);
  }
}

describe("a worker of a server", () => {
  let server: TestServer | undefined;
  let worker: WorkerProcess | undefined;

  afterEach(async () => {
    worker?.child.kill("SIGKILL");
    await worker?.ended;
    await server?.crash();
  });

  async function environmentOf(args: readonly string[], taskType: string, payload: unknown): Promise<string> {
    server = await TestServer.start();
    const env = { ...SECRETS, ...HARMLESS, APP_TOKEN: "of-the-app", AWS_REGION: "eu-1" };
    worker = startWorkerProcess(["--server", server.url, "--key", "key", "--id", "w1", ...args], env);
    await server.hears("register");
    const assignment = anAssignment(taskType, payload, { run: "run-1", node: "first" });
    server.assign(assignment);
    return String(((await server.report(assignment.task)) as { result: unknown }).result);
  }

  test("[F4] gives a shell command a listed environment, the task's own variables and named ones, and no keys", async () => {
    const text = await environmentOf(["--shell", "--pass-env", "AWS_REGION"], "command", {
      command: "env",
      env: { WORD: "one", DATABASE_URL_OF_TASK: "mine" },
    });
    expectNoSecrets(text);
    const lines = text.split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        "WORD=one",
        "DATABASE_URL_OF_TASK=mine",
        "AWS_REGION=eu-1",
        "LC_TIME=C",
        "TZ=Asia/Tokyo",
        `PATH=${process.env["PATH"]}`,
        "ORRERY_RUN_ID=run-1",
        "ORRERY_NODE_ID=first",
        "ORRERY_ATTEMPT=1",
      ]),
    );
    expect(text).not.toContain("APP_TOKEN");
  });

  test("[F4] gives a program of a tasks file the same, and what the file says", async () => {
    const cwd = await directoryWith({
      "tasks.mjs": `import { command } from ${JSON.stringify(new URL("../dist/worker/index.js", import.meta.url).href)};
        export const show = command("env", [], { env: { FROM_FILE: "yes" } });`,
    });
    const text = await environmentOf(["--tasks", join(cwd, "tasks.mjs")], "show", null);
    expectNoSecrets(text);
    expect(text).toContain("FROM_FILE=yes");
    expect(text).not.toContain("AWS_REGION");
  });
});

test("[F4] worker.pass_env refuses names that may hold Orrery's secrets, and says what to do", async () => {
  const cwd = await directoryWith({});
  const names = Object.keys(SECRETS);
  const { code, stderr } = await orrery(cwd, "worker", "--key", SERVER_KEY, "--pass-env", ...names);
  expect(code).toBe(2);
  for (const name of names)
    expect(stderr).toMatch(
      new RegExp(`--pass-env must be .*: pass the value under another name; got "${name}"$`, "m"),
    );
});

test("[F4] a local run keeps the caller's environment, except keys of Orrery and of databases", async () => {
  const cwd = await directoryWith({ "a.yaml": "nodes: { show: { run: env > shown, env: { MINE: here } } }" });
  const env = { ...SECRETS, CALLERS_OWN: "kept" };
  const { code } = await startOrrery(cwd, ["run", "a.yaml"], env).finished;
  expect(code).toBe(0);
  const text = await readFile(join(cwd, "shown"), "utf8");
  expectNoSecrets(text);
  expect(text).toContain("CALLERS_OWN=kept");
  expect(text).toContain("MINE=here");
  expect(text).toMatch(/^ORRERY_RUN_ID=./m);
});

describe("the demo", () => {
  let server: ServerProcess | undefined;

  afterEach(async () => {
    server?.child.kill("SIGKILL");
    await server?.finished;
  });

  async function demo(...args: readonly string[]): Promise<OrreryClient> {
    server = await startServerProcess("/", ["--store", "memory", "--demo", ...args], {
      ...SECRETS,
      DATABASE_URL: undefined,
    });
    return new OrreryClient({ url: server.url, key: SERVER_KEY });
  }

  test("[F4] has no shell, and its example run completes without one", async () => {
    const client = await demo();
    const { id } = await client.submit({
      task_type: "command",
      executor: "local",
      payload: { command: "env" },
    });
    for await (const run of client.runs())
      await expect.poll(async () => (await client.run(run.id)).status, { timeout: 5_000 }).toBe("completed");
    expect(await client.task(id)).toMatchObject({ status: "queued" });
  });

  test("[F4] runs shell commands with --shell, without the server's keys", async () => {
    const client = await demo("--shell");
    const text = await client.submitAndWait({
      task_type: "command",
      executor: "local",
      payload: { command: "env" },
    });
    expect(text).toContain("PATH=");
    expectNoSecrets(String(text));
  });

  test("[F4] is the only thing that --shell of serve means something for", async () => {
    const { code, stderr }: Finished = await orrery("/", "serve", "--shell");
    expect([code, stderr]).toEqual([2, expect.stringContaining("orrery worker --shell")]);
  });
});
