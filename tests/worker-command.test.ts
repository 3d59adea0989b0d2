// `orrery worker` as its users run it: a process of its own, against a server on a real socket.

import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { anAssignment } from "./worker-fixture.ts";
import { ServerProcess, startWorkerProcess, type WorkerProcess } from "./worker-processes.ts";
import { TestServer } from "./worker-server.ts";

let directory: string;
let server: TestServer;
let workers: WorkerProcess[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "orrery-worker-"));
  server = await TestServer.start();
  workers = [];
});

afterEach(async () => {
  for (const { child } of workers) child.kill("SIGKILL");
  await Promise.all(workers.map(({ ended }) => ended));
  await server.crash();
  await rm(directory, { recursive: true, force: true });
});

function start(...args: readonly string[]): WorkerProcess {
  const worker = startWorkerProcess(["--server", server.url, "--id", "w1", ...args]);
  workers.push(worker);
  return worker;
}

async function file(name: string, text: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, text);
  return path;
}

describe.each(["ws", "http"])("over %s", (transport) => {
  test("it runs the tasks of a TypeScript file, says so, and leaves when it is asked to", async () => {
    const tasks = join(directory, "tasks.ts");
    await copyFile(fileURLToPath(new URL("../examples/tasks.ts", import.meta.url)), tasks);
    const worker = start("--tasks", tasks, "--transport", transport, "--executor", "a", "b", "--cpu", "1.5");
    const { registration } = await server.hears("register");
    expect(registration).toMatchObject({ id: "w1", executors: ["a", "b"], cpu_millicores: 1_500 });
    const greet = anAssignment("greet", { name: "Ada" });
    const count = anAssignment("wordcount", { text: "some words" });
    server.assign(greet, count);
    expect(await server.report(greet.task)).toMatchObject({ type: "finished", result: { hello: "Ada" } });
    expect(await server.report(count.task)).toMatchObject({ type: "finished", result: 2 });
    await worker.says(`finished wordcount ${count.task}`);
    worker.child.kill("SIGTERM");
    const { code, output } = await worker.ended;
    expect(code).toBe(0);
    expect(server.heard.map(({ type }) => type)).toContain("leave");
    expect(output).toMatch(/^connected to http:\S+ as w1\nstarted greet [\s\S]+draining: nothing runs\n$/);
  });

  test("it outlives a server that is killed, and reports to the next what the first never acknowledged", async () => {
    const first = await ServerProcess.start(0, "silent");
    const { port } = first;
    let second: ServerProcess | undefined;
    try {
      const worker = start("--transport", transport, "--server", `http://127.0.0.1:${port}`);
      const before = await first.hears("register");
      const assignment = anAssignment("echo", { keep: "me" });
      first.assign(assignment);
      const { report } = await first.hears("report");
      await first.kill();
      await worker.says("lost the connection");
      second = await ServerProcess.start(port, "answering");
      const again = await second.hears("register");
      expect(again.registration.session).toBe(before.registration.session);
      expect(again.heartbeat.attempts).toEqual([
        { task: assignment.task, attempt: 1, started_at: report.started_at },
      ]);
      expect((await second.hears("report")).report).toEqual(report);
      await worker.says("connected again");
      await second.hears("heartbeat", ({ heartbeat }) => heartbeat.attempts.length === 0);
    } finally {
      await first.kill();
      await second?.kill();
    }
  });

  test("a wrong key is an error, not a reason to try again", async () => {
    const { code, output } = await start("--transport", transport, "--key", "wrong").ended;
    expect(code).toBe(2);
    expect(output).toMatch(/^http:\S+ refuses this worker: the key is wrong \(HTTP 401\)\n$/);
  });
});

describe("signals", () => {
  const TASKS = `
    import { task } from "orrery/worker";
    export const stubborn = task(() => new Promise(() => setInterval(() => {}, 1000)));
    export const patient = task((_payload, { signal }) => new Promise((resolve) => {
      process.once("SIGTERM", () => setTimeout(resolve, 100, "finished"));
    }));`;

  test("the first lets running tasks finish", async () => {
    const worker = start("--tasks", await file("tasks.mjs", TASKS));
    await server.hears("register");
    const assignment = anAssignment("patient");
    server.assign(assignment);
    await worker.says("started patient");
    worker.child.kill("SIGTERM");
    expect(await server.report(assignment.task)).toMatchObject({ result: "finished" });
    expect((await worker.ended).code).toBe(0);
  });

  test("the second leaves at once, whatever runs", async () => {
    const worker = start("--tasks", await file("tasks.mjs", TASKS), "--shell");
    await server.hears("register");
    const pidFile = join(directory, "pid");
    server.assign(
      anAssignment("stubborn"),
      anAssignment("command", { command: `echo $$ > ${pidFile}; sleep 600` }),
    );
    await worker.says("started stubborn");
    await expect.poll(() => readFile(pidFile, "utf8").catch(() => "")).toMatch(/\d\n/);
    worker.child.kill("SIGINT");
    await server.hears("drain");
    await worker.says("draining: 2 tasks to finish: stubborn ");
    // Sooner it would be taken for one that npm passes on.
    await sleep(300);
    worker.child.kill("SIGINT");
    await server.hears("leave");
    expect((await worker.ended).code).toBe(130);
    expect(server.all("report")).toEqual([]);
    const pid = Number(await readFile(pidFile, "utf8"));
    await expect.poll(() => isRunning(pid)).toBe(false);
  });
});

/** What nobody reaps stays a zombie in many containers. */
async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
  return stat !== "" && !/\) Z /.test(stat);
}

describe("shell commands", () => {
  test("run only where they are allowed, with their output as result and log", async () => {
    start("--shell");
    await server.hears("register");
    const good = anAssignment("command", {
      command: 'echo "$WORD"; pwd; echo two >&2',
      env: { WORD: "one" },
      cwd: directory,
    });
    const bad = anAssignment("command", { command: "echo why >&2; exit 3" });
    const malformed = anAssignment("command", { command: 3 });
    server.assign(good, bad, malformed);
    expect(await server.report(good.task)).toMatchObject({
      type: "finished",
      result: expect.stringMatching(/^one\n.*orrery-worker-\w+\n$/),
    });
    expect(await server.report(bad.task)).toMatchObject({
      type: "failed",
      code: "exit",
      message: "exited with code 3: why",
    });
    expect(await server.report(malformed.task)).toMatchObject({ code: "bad-payload", retry: false });
    const lines = server
      .all("log")
      .flatMap(({ entries }) => entries)
      .filter(({ task }) => task === good.task);
    expect(lines.map(({ stream }) => stream).sort()).toEqual(["stderr", "stdout"]);
  });

  test("are not asked for elsewhere", async () => {
    start();
    const { registration } = await server.hears("register");
    expect(registration.types).toEqual(["echo", "noop", "sleep", "value"]);
  });
});

describe("what it says", () => {
  test("as JSON lines", async () => {
    const worker = start("--json");
    await server.hears("register");
    const assignment = anAssignment("echo", 1, { node: "first", run: "run" });
    server.assign(assignment);
    await worker.says('"type":"ended"');
    const events = worker
      .output()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(events).toMatchObject([
      { type: "connected", worker: "w1", again: false },
      { type: "started", task: assignment.task, attempt: 1, task_type: "echo", node: "first" },
      { type: "ended", task: assignment.task, outcome: "finished", ms: expect.any(Number) },
    ]);
  });

  test("nothing while all is well, when it is to be quiet", async () => {
    const worker = start("--quiet");
    await server.hears("register");
    const assignment = anAssignment("noop");
    server.assign(assignment);
    await server.report(assignment.task);
    worker.child.kill("SIGTERM");
    expect(await worker.ended).toEqual({ code: 0, output: "" });
  });

  test.each([
    ["no key", ["--key", ""], "set ORRERY_API_KEY"],
    ["no URL", ["--server", "somewhere"], "--server must be the URL of a server"],
    ["a wrong size", ["--memory", "lots"], "--memory must be"],
    ["a missing tasks file", ["--tasks", "nowhere.ts"], "nowhere.ts: there is no such file"],
  ])("%s is an error of usage", async (_name, args, message) => {
    const worker = startWorkerProcess(args);
    const { code, output } = await worker.ended;
    expect(code).toBe(2);
    expect(output).toContain(message);
  });
});
