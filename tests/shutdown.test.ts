// How a server stops: in order at the first signal, at once at the second, and never leaving its PostgreSQL behind.

import { rename } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { OrreryClient } from "../src/client/index.ts";
import { startOrrery } from "./cli.ts";
import { testDataDir } from "./postgres.ts";
import { isAlive, postmasterOf, SERVER_KEY, startServerProcess } from "./server-process.ts";

const SOON = { timeout: 30_000, interval: 50 };
/** Less than the 40 seconds after which it would end by force. */
const STOPS_WITHIN_MS = 30_000;
const GIVES_UP_WITHIN_MS = 15_000;

function submitted(url: string, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/api/v2/scheduler/submit`, {
    method: "POST",
    headers: { authorization: `Bearer ${SERVER_KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ executor: "default", task_type: "sleep", payload: { ms: 200 } }),
    ...(signal && { signal }),
  });
}

test("amid requests: each is answered or never taken, and what was taken is done after the next start", async () => {
  const dataDir = await testDataDir();
  const server = await startServerProcess("/", ["--data", dataDir]);
  const worker = startOrrery("/", ["worker", "--id", "w", "--slots", "2", "--server", server.url], {
    ORRERY_API_KEY: SERVER_KEY,
  });
  await expect
    .poll(() => new OrreryClient({ url: server.url, key: SERVER_KEY }).workers(), SOON)
    .toHaveLength(1);

  const taken: string[] = [];
  const others: unknown[] = [];
  let isOver = false;
  const submitting = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const answer = await submitted(server.url).catch((error: unknown) => error as Error);
      if (answer instanceof Error) isOver = true;
      else if (answer.status === 201) taken.push(((await answer.json()) as { id: string }).id);
      else
        others.push([
          answer.status,
          answer.headers.get("retry-after"),
          ((await answer.json()) as { code: string }).code,
        ]);
    }
  });
  const nobody = await fetch(`${server.url}/api/v2/scheduler/submit`, {
    method: "POST",
    headers: { authorization: `Bearer ${SERVER_KEY}`, "content-type": "application/json" },
    body: '{"executor":"nobody","task_type":"t"}',
  });
  const { id } = (await nobody.json()) as { id: string };
  const waiting = fetch(`${server.url}/api/v2/scheduler/task/${id}?wait=60`, {
    headers: { authorization: `Bearer ${SERVER_KEY}` },
  });
  await expect.poll(() => taken.length, SOON).toBeGreaterThan(50);
  const startedMs = performance.now();
  server.child.kill("SIGTERM");
  const { code } = await server.finished;
  expect([code, performance.now() - startedMs < STOPS_WITHIN_MS]).toEqual([0, true]);
  isOver = true;
  await Promise.all(submitting);
  // Who waits for a task is told how it stands, rather than cut off.
  expect((await waiting).status).toBe(200);
  for (const other of others)
    expect(other).toEqual([503, "1", expect.stringMatching(/^(unavailable|no-leader)$/)]);
  expect(await postmasterOf(dataDir)).toBeUndefined();

  const port = new URL(server.url).port;
  const again = await startServerProcess("/", ["--data", dataDir, "--port", port, "--strict-port"]);
  const client = new OrreryClient({ url: again.url, key: SERVER_KEY });
  // The worker has come back by itself, and nothing that was acknowledged is missing.
  const ids = new Set(taken);
  for await (const task of client.tasks({}, { pageSize: 1000 })) ids.delete(task.id);
  expect([...ids]).toEqual([]);
  await expect.poll(async () => (await client.overview()).ended.completed, SOON).toBeGreaterThan(10);
  worker.child.kill("SIGTERM");
  expect((await worker.finished).code).toBe(0);
  again.child.kill("SIGTERM");
  expect((await again.finished).code).toBe(0);
});

test("a server whose PostgreSQL and data are gone stops within seconds, and says that something is not written", async () => {
  const dataDir = await testDataDir();
  const server = await startServerProcess("/", ["--data", dataDir]);
  const pid = (await postmasterOf(dataDir)) as number;
  await rename(join(dataDir, "postgres"), join(dataDir, "gone"));
  process.kill(pid, "SIGKILL");
  await expect.poll(async () => (await fetch(`${server.url}/readyz`)).status, SOON).toBe(503);
  const late = submitted(server.url);
  const startedMs = performance.now();
  server.child.kill("SIGTERM");
  const { code, stderr } = await server.finished;
  expect([code, performance.now() - startedMs < GIVES_UP_WITHIN_MS]).toEqual([1, true]);
  expect(stderr).toContain("what was under way is not written");
  expect((await late.catch(() => undefined))?.status).not.toBe(201);
});

test("a second signal ends it at once, and its PostgreSQL with it; nothing is lost", async () => {
  const dataDir = await testDataDir();
  const server = await startServerProcess("/", ["--data", dataDir]);
  const { id } = (await (await submitted(server.url)).json()) as { id: string };
  const pid = await postmasterOf(dataDir);
  // It takes its time to stop while somebody sends a request and does not end it.
  const endless = connect(Number(new URL(server.url).port), "127.0.0.1");
  endless.on("error", () => {});
  const head = ["POST /api/v2/scheduler/submit HTTP/1.1", "host: x", `authorization: Bearer ${SERVER_KEY}`];
  endless.write(
    `${[...head, "content-type: application/json", "content-length: 1000"].join("\r\n")}\r\n\r\n{`,
  );
  await sleep(500);
  server.child.kill("SIGTERM");
  await expect.poll(server.said, SOON).toContain("stopping");
  server.child.kill("SIGTERM");
  const { code } = await server.finished;
  endless.destroy();
  expect(code).toBe(143);
  await expect.poll(() => isAlive(pid ?? 0), SOON).toBe(false);

  const again = await startServerProcess("/", ["--data", dataDir]);
  const client = new OrreryClient({ url: again.url, key: SERVER_KEY });
  expect(await client.task(id)).toMatchObject({ status: "queued" });
  again.child.kill("SIGINT");
  expect((await again.finished).code).toBe(0);
});

test("the demo names what its worker finishes, and the second Ctrl-C ends it at once", async () => {
  const server = await startServerProcess("/", ["--store", "memory", "--demo"]);
  const client = new OrreryClient({ url: server.url, key: SERVER_KEY });
  const { id } = await client.submit({ task_type: "countdown", payload: { from: 60 } });
  await expect.poll(async () => (await client.task(id)).status, SOON).toBe("running");
  server.child.kill("SIGINT");
  // One that npm passes on, of the Ctrl-C that the terminal has sent to both.
  server.child.kill("SIGINT");
  await expect
    .poll(server.said, SOON)
    .toMatch(new RegExp(`its worker finishes .*countdown ${id}.*; once more to end at once`));
  await sleep(500);
  expect(server.said()).not.toContain("ending at once");
  const startedMs = performance.now();
  server.child.kill("SIGINT");
  expect((await server.finished).code).toBe(130);
  expect(performance.now() - startedMs).toBeLessThan(5_000);
});
