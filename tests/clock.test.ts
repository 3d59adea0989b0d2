// Servers whose clocks are wrong, or are set while they run.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { directoryWith } from "./cli.ts";
import { testDataDir } from "./postgres.ts";
import { SERVER_KEY, type ServerProcess, startServerProcess } from "./server-process.ts";

const PRELOAD = `--import=${fileURLToPath(new URL("set-clock.mjs", import.meta.url))}`;
const SOON = { timeout: 20_000, interval: 50 };
const HOUR_MS = 3_600_000;

async function startWithClock(args: readonly string[], aheadMs: number) {
  const cwd = await directoryWith({ ahead: String(aheadMs) });
  const file = join(cwd, "ahead");
  const server = await startServerProcess(cwd, args, { NODE_OPTIONS: PRELOAD, SET_CLOCK_FILE: file });
  return { server, setClock: (ms: number) => writeFile(file, String(ms)) };
}

async function ask(server: ServerProcess, path: string, body?: unknown) {
  const answer = await fetch(server.url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${SERVER_KEY}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return path === "/metrics" ? text : JSON.parse(text);
}

async function submit(server: ServerProcess, times: Readonly<Record<string, string>>): Promise<string> {
  const body = { executor: "nobody", task_type: "t", ...times };
  const { id } = await ask(server, "/api/v2/scheduler/submit", body);
  return id as string;
}

async function stop({ child, finished }: ServerProcess): Promise<void> {
  child.kill("SIGTERM");
  await finished;
}

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

test("[S-26.clock] a leader whose clock was an hour ahead leaves nothing behind: deadlines and times shown are right", async () => {
  const args = ["--data", await testDataDir()];
  const wrong = await startWithClock(args, HOUR_MS);
  await submit(wrong.server, {});
  await stop(wrong.server);

  const { server } = await startWithClock(args, 0);
  expect(server.said()).toMatch(/the clock of this server is 3[56]\d\d\.\d s behind the one that led before/);
  const id = await submit(server, { deadline: inMs(5 * 60_000) });
  // Any later turn would have expired it.
  await submit(server, {});
  const task = await ask(server, `/api/v2/scheduler/task/${id}`);
  expect(task.status).toBe("queued");
  expect(Math.abs(Date.parse(task.enqueued_at) - Date.now())).toBeLessThan(60_000);
  expect(await ask(server, "/metrics")).toMatch(/^orrery_clock_offset_seconds -3[56]\d\d/m);
  await stop(server);
}, 120_000);

test("[S-26.clock] start times and deadlines follow a clock that is set while the server runs", async () => {
  const { server, setClock } = await startWithClock(["--store", "memory"], 0);
  const later = await submit(server, { run_at: inMs(30_000) });
  const soon = await submit(server, { deadline: inMs(45_000) });
  const waits = async () => {
    const { waiting } = await ask(server, `/api/v2/scheduler/task/${later}/why`);
    return waiting.map(({ code }: { code: string }) => code);
  };
  const status = async (id: string) => (await ask(server, `/api/v2/scheduler/task/${id}`)).status;
  expect(await waits()).toContain("NotDue");
  await setClock(31_000);
  await expect.poll(waits, SOON).not.toContain("NotDue");
  expect(await status(soon)).toBe("queued");
  await setClock(0);
  await expect.poll(waits, SOON).toContain("NotDue");
  await setClock(50_000);
  await expect.poll(() => status(soon), SOON).toBe("failed");
  expect(server.said()).toMatch(/the clock was set forward by 3\d\.\d s; times of day follow it/);
  await stop(server);
}, 120_000);
