// What ends a server and a worker, and what does not.

import { expect, test } from "vitest";
import { OrreryClient } from "../src/client/index.ts";
import { directoryWith, startOrrery } from "./cli.ts";
import { SERVER_KEY, startServerProcess } from "./server-process.ts";

const SOON = { timeout: 30_000, interval: 50 };

test("[S-26.signals] SIGHUP ends a server and its worker in order, and SIGUSR1 opens no debugger", async () => {
  const cwd = await directoryWith({});
  const server = await startServerProcess(cwd, ["--store", "memory"]);
  const worker = startOrrery(cwd, ["worker", "--server", server.url], { ORRERY_API_KEY: SERVER_KEY });
  const client = new OrreryClient({ url: server.url, key: SERVER_KEY });
  await expect.poll(() => client.workers(), SOON).toHaveLength(1);
  for (const { child } of [server, worker]) child.kill("SIGUSR1");
  const { id } = await client.submit({ task_type: "sleep", payload: { ms: 500 } });
  await expect.poll(async () => (await client.task(id)).status, SOON).toBe("running");
  worker.child.kill("SIGHUP");
  expect(await worker.finished).toMatchObject({ code: 0, signal: null });
  // It let the task finish before it left.
  expect((await client.task(id)).status).toBe("completed");
  server.child.kill("SIGHUP");
  expect(await server.finished).toMatchObject({ code: 0, signal: null });
  expect(server.said()).toContain("stopped");
  for (const { finished } of [server, worker])
    expect((await finished).stderr).not.toMatch(/debugger|inspector/i);
}, 60_000);
