// The example in Python is run as its readers would.

import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { anAssignment } from "./worker-fixture.ts";
import { followed, type WorkerProcess } from "./worker-processes.ts";
import { TestServer } from "./worker-server.ts";

const EXAMPLE = fileURLToPath(new URL("../examples/worker.py", import.meta.url));
const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython) console.warn("NOT TESTED: examples/worker.py, because there is no python3 here.");

let server: TestServer;
let worker: WorkerProcess | undefined;

beforeEach(async () => {
  server = await TestServer.start();
});

afterEach(async () => {
  worker?.child.kill("SIGKILL");
  await worker?.ended;
  await server.crash();
});

function start(key: string): WorkerProcess {
  const env = { ...process.env, ORRERY_URL: server.url, ORRERY_API_KEY: key };
  worker = followed(spawn("python3", [EXAMPLE], { env, stdio: ["ignore", "pipe", "pipe"] }));
  return worker;
}

test.runIf(hasPython)(
  "a worker in Python runs tasks, stops them, outlives its server, and drains",
  async () => {
    const { child, ended } = start("key");
    const { registration } = await server.hears("register");
    const reverse = anAssignment("reverse", { text: "drawer" });
    const cancelled = anAssignment("wait", { seconds: 600 });
    const late = anAssignment("wait", { seconds: 600 }, { timeout_ms: 100 });
    const wrong = anAssignment("reverse", {});
    const unknown = anAssignment("unheard-of");
    server.assign(reverse, reverse, cancelled, late, wrong, unknown);
    expect(await server.report(reverse.task)).toMatchObject({ type: "finished", result: "reward" });
    expect(await server.report(late.task)).toMatchObject({ type: "timed_out" });
    expect(await server.report(wrong.task)).toMatchObject({ type: "failed", code: "error", retry: true });
    expect(await server.report(unknown.task)).toMatchObject({ code: "unknown-type", retry: false });
    await server.hears("heartbeat", ({ heartbeat: { attempts } }) => attempts[0]?.task === cancelled.task);
    server.cancel(cancelled);
    expect(await server.report(cancelled.task)).toMatchObject({ type: "cancelled" });
    expect(server.all("report").filter(({ report }) => report.task === reverse.task)).toHaveLength(1);

    const last = anAssignment("wait", { seconds: 2 });
    server.assign(last);
    await server.hears("heartbeat", ({ heartbeat: { attempts } }) => attempts[0]?.task === last.task);
    const { port } = server;
    await server.crash();
    server = await TestServer.start({ port });
    const again = await server.hears("register");
    expect(again.registration).toEqual(registration);
    expect(again.heartbeat.attempts).toMatchObject([{ task: last.task, attempt: 1 }]);
    child.kill("SIGTERM");
    await server.hears("drain");
    expect(await server.report(last.task)).toMatchObject({ type: "finished", result: "waited" });
    expect(await ended).toMatchObject({ code: 0 });
    await server.hears("leave");
  },
);

test.runIf(hasPython)("a wrong key ends a worker in Python", async () => {
  const { code, output } = await start("wrong").ended;
  expect(code).toBe(1);
  expect(output).toContain("the key is wrong");
});
