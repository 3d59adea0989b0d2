// A backup is restored while the workers of the time after it keep running.

import { execFile, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { graph, OrreryClient } from "../src/client/index.ts";
import { findBinaries } from "../src/store/embedded/binaries.ts";
import { directoryWith, type Started, startOrrery } from "./cli.ts";
import { SERVER_KEY, type ServerProcess, startServerProcess } from "./server-process.ts";
import { freshDatabase } from "./service.ts";
import { followed } from "./worker-processes.ts";

const LONG = { timeout: 60_000, interval: 50 };
const PER_WORKER = 6;
const EXAMPLE = fileURLToPath(new URL("../examples/worker.py", import.meta.url));
const tools = (await findBinaries()).find(({ folder }) => existsSync(join(folder, "pg_dump")))?.folder;
const hasPython = spawnSync("python3", ["--version"]).status === 0;

/** Tasks that note each attempt, and that end once the gate is open. */
const TASKS = `
  import { appendFileSync, existsSync } from "node:fs";
  import { setTimeout as sleep } from "node:timers/promises";
  import { task } from "orrery/worker";
  export const gated = task(async (_payload, { taskId, attempt }) => {
    appendFileSync("begun", process.pid + ":" + taskId + "#" + attempt + "\\n");
    while (!existsSync("gate")) await sleep(20);
  });
  let calls = 0;
  export const big = () => Buffer.alloc(100_000, ++calls);
  export const sameByte = (bytes) => bytes.every((byte) => byte === bytes[0]);
`;

test.runIf(tools !== undefined && hasPython)(
  "[S-26.restore] everything ends after a restore with the workers left running, and no worker runs an attempt twice",
  { timeout: 120_000 },
  async () => {
    const cwd = await directoryWith({ "tasks.mjs": TASKS });
    const env = { ORRERY_API_KEY: SERVER_KEY };
    const lines = async (name: string): Promise<string[]> =>
      (await readFile(join(cwd, name), "utf8").catch(() => "")).trimEnd().split("\n");
    const stores = [await freshDatabase(), await freshDatabase()] as const;
    const serve = (store: string, port: string): Promise<ServerProcess> =>
      startServerProcess(cwd, ["--store", store, "--port", port, "--prefetch", "4"]);
    let server = await serve(stores[0], "0");
    const worker = (transport: string): Started =>
      startOrrery(
        cwd,
        ["worker", "--server", server.url, "--tasks", "tasks.mjs", "--slots", "3", "--transport", transport],
        env,
      );
    const workers = [worker("ws"), worker("http")];
    const python = followed(
      spawn("python3", [EXAMPLE], {
        env: { ...process.env, ORRERY_URL: server.url, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      }),
    );
    try {
      const client = new OrreryClient({ url: server.url, key: SERVER_KEY });
      const g = graph();
      const bigs = [g.task("big"), g.task("big"), g.task("big")];
      const sums = bigs.map((big) => g.task("sameByte", big));
      await client.compute(g, sums);
      const ids: string[] = [];
      const submit = async (task_type: string, payload: Record<string, unknown>): Promise<void> => {
        const { id } = await client.submit({ executor: "default", task_type, payload, max_attempts: 1 });
        ids.push(id);
      };
      for (let n = 0; n < PER_WORKER; n++) {
        await submit("gated", {});
        await submit("gated", {});
        await submit("wait", { seconds: 0.4 });
      }
      const statuses = async (): Promise<Set<string>> =>
        new Set((await Promise.all(ids.map((id) => client.task(id)))).map(({ status }) => status));
      await expect.poll(async () => (await lines("begun")).length, LONG).toBeGreaterThanOrEqual(6);
      const kept = await client.start(g, sums);
      const dump = join(cwd, "orrery.dump");
      const run = (program: string, ...args: string[]) =>
        promisify(execFile)(join(tools as string, program), args);
      await run("pg_dump", "--format=custom", "--schema=orrery", "--file", dump, stores[0]);
      await writeFile(join(cwd, "gate"), "");
      await expect.poll(statuses, LONG).toEqual(new Set(["completed"]));
      await kept.results();
      const before = await lines("begun");

      await run("pg_restore", "--no-owner", "--no-acl", "--exit-on-error", "--dbname", stores[1], dump);
      server.child.kill("SIGTERM");
      await server.finished;
      server = await serve(stores[1], new URL(server.url).port);
      expect(await statuses(), "they are open again").not.toEqual(new Set(["completed"]));
      await expect.poll(statuses, LONG).toEqual(new Set(["completed"]));
      expect(await kept.results()).toEqual([true, true, true]);
      const begun = await lines("begun");
      expect(begun.length, "they ran again").toBeGreaterThan(before.length);
      expect(new Set(begun).size, "no worker ran an attempt twice").toBe(begun.length);
      expect(python.output().match(/connected/g), "nobody restarted the workers").toHaveLength(1);
    } finally {
      for (const { child } of [...workers, python, server]) child.kill("SIGTERM");
      await Promise.all([...workers, server].map(({ finished }) => finished));
      await python.ended;
    }
  },
);
