// Meta nodes: functions beside the scheduler, on what results are known by. Real servers, workers and kills.

import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OrreryClient } from "../dist/client/index.js";
import { type GraphNode, graph, local, type ResultHandle } from "../dist/index.js";
import { directoryWith, type Started, startOrrery } from "./cli.ts";
import { testDatabase } from "./postgres.ts";
import { SERVER_KEY, type ServerProcess, startServerProcess } from "./server-process.ts";

const TASKS = `
  import { graph } from ${JSON.stringify(new URL("../dist/client/index.js", import.meta.url).href)};
  import { existsSync, writeFileSync } from "node:fs";
  import { setTimeout as sleep } from "node:timers/promises";
  import { isMainThread } from "node:worker_threads";
  export const bytes = (length, fill) => Buffer.alloc(length, fill);
  export const same = (value) => value;
  export const largest = (handles) => handles.toSorted((a, b) => b.bytes - a.bytes)[0].node;
  export const seen = (...handles) => ({ handles, isMainThread });
  export const size = (value) => value.length;
  export const sizeOfLargest = (handles) => {
    const g = graph();
    return g.expand(g.task(size, g.node(largest(handles))));
  };
  export const sizeOf = (id) => {
    const g = graph();
    return g.expand(g.task(size, g.node(id)));
  };
  export const adds = (name) => {
    const g = graph();
    return g.expand(g.task(name));
  };
  export const forever = () => { for (;;); };
  export async function hold() { await sleep(300); return Buffer.alloc(60_000); }
  export const large = () => "x".repeat(20_000);
  export async function once(file) {
    if (existsSync(file)) return "the second time";
    writeFileSync(file, String(process.pid));
    await sleep(60_000);
  }
`;

const bytes = (length: number, fill: string): Buffer => Buffer.alloc(length, fill);
const largest = (handles: readonly ResultHandle[]): string => handles[0]?.node ?? "";
const seen = (...handles: readonly ResultHandle[]): { handles: ResultHandle[]; isMainThread: boolean } => ({
  handles: [...handles],
  isMainThread: true,
});

const env = { ORRERY_API_KEY: SERVER_KEY };
const META = { meta: true } as const;

function startWorker(cwd: string, url: string, id: string): Started {
  const args = ["worker", "--server", url, "--tasks", "tasks.mjs", "--slots", "2", "--quiet"];
  return startOrrery(cwd, [...args, "--id", id], env);
}

async function end(...processes: readonly Started[]): Promise<void> {
  for (const { child } of processes) child.kill("SIGTERM");
  await Promise.all(processes.map(({ finished }) => finished));
}

describe("[D-04] a server with a tasks file", () => {
  let cwd: string;
  let server: ServerProcess;
  let workers: Started[];
  let client: OrreryClient;

  beforeAll(async () => {
    cwd = await directoryWith({ "tasks.mjs": TASKS });
    server = await startServerProcess(cwd, ["--store", "memory", "--tasks", "tasks.mjs"]);
    workers = ["w1", "w2"].map((id) => startWorker(cwd, server.url, id));
    client = new OrreryClient({ url: server.url, key: SERVER_KEY });
  });

  afterAll(() => end(...workers, server));

  test("gives a meta node handles, on a thread, and moves nothing", async () => {
    const g = graph();
    const parts = [100_000, 300_000, 200_000].map((length) => g.task(bytes, length, "x"));
    const small = g.task(bytes, 3, "y");
    const chosen = g.with(META).task(largest, parts);
    const shown = g.with(META).task(seen, ...parts, small);
    const computation = await client.start(g, [chosen, shown]);
    const [node, { handles, isMainThread }] = await computation.results();
    expect(node).toBe((parts[1] as GraphNode).id);
    expect(isMainThread).toBe(false);
    expect(handles.map(({ node, kind, bytes }) => [node, kind, bytes])).toEqual([
      ["bytes-1", "bytes", 100_000],
      ["bytes-2", "bytes", 300_000],
      ["bytes-3", "bytes", 200_000],
      ["bytes-4", "bytes", 3],
    ]);
    expect(handles.map(({ sha256 }) => sha256.length)).toEqual([64, 64, 64, 64]);
    for (const { holders } of handles.slice(0, 3)) expect(["w1", "w2"]).toContain(holders[0]);
    expect(handles[3]?.holders).toEqual([]);
    const { data } = await client.run(computation.run);
    expect(data).toMatchObject({ moved_bytes: 0 });
    await computation.release();
  });

  test("goes on with one of several results, and none is moved", async () => {
    const g = graph();
    const parts = [100_000, 300_000, 200_000].map((length) => g.task(bytes, length, "x"));
    const computation = await client.start(
      g,
      g.with({ ...META, dynamic: true }).task("sizeOfLargest", parts),
    );
    expect(await computation.results()).toBe(300_000);
    expect((await client.run(computation.run)).data).toMatchObject({ held_bytes: 0, moved_bytes: 0 });
  });

  test("[D-12] a node names one of its run that is freed, or to come, or nowhere", async () => {
    const g = graph();
    const early = g.task(bytes, 50_000, "x");
    const after = g.with({ dynamic: true, needs: [g.task("size", early)] }).task("sizeOf", early.id);
    const held = g.task("same", g.task("hold"));
    const before = g.with({ dynamic: true }).task("sizeOf", held.id);
    const [one, other] = await client.compute(g, [after, before, held]);
    expect([one, other]).toEqual([50_000, 60_000]);
    const lost = graph();
    const failed = client.compute(lost, lost.with({ dynamic: true }).task("sizeOf", "nowhere"));
    await expect(failed).rejects.toMatchObject({ code: "bad-expansion" });
    await expect(failed).rejects.toThrow('they name "nowhere", which is neither one of them nor');
    const own = lost.with({ dynamic: true, id: "me" }).task("sizeOf", "me");
    await expect(client.compute(lost, own)).rejects.toThrow('they name "me", of its run, which waits for');
  });

  test("a function that nobody knows waits for a worker that does, and the run says so", async () => {
    const g = graph();
    const later = g.with({ dynamic: true }).task("adds", "comesLater");
    const computation = await client.start(g, [later, g.task("comesLater"), g.task("comesLater")]);
    const stuck = async () => (await client.run(computation.run)).stuck;
    while ((await stuck()).length < 2) await sleep(20);
    const text =
      "No worker of the executor default knows the task type comesLater; those that are there know adds, ";
    expect(await stuck()).toEqual([
      { node: "comesLater-1", nodes: 2, text: expect.stringContaining(text) },
      { node: "adds-1/comesLater-1", nodes: 1, text: expect.stringContaining(text) },
    ]);
    const shown = await startOrrery(cwd, ["runs", computation.run, "--server", server.url], env).finished;
    expect(shown.stdout).toContain("comesLater-1 and 1 more: No worker of the executor default knows");
    const impatient = client.compute(g, g.task("comesLater"), { signal: AbortSignal.timeout(200) });
    await expect(impatient).rejects.toMatchObject({ name: "TimeoutError" });
    await expect(impatient).rejects.toThrow("comesLater-3 could not begin: No worker of the executor");
    await writeFile(`${cwd}/more.mjs`, "export const comesLater = () => 7;");
    const args = ["worker", "--server", server.url, "--tasks", "more.mjs", "--quiet", "--id", "w3"];
    workers.push(startOrrery(cwd, args, env));
    expect(await computation.results()).toEqual([7, 7, 7]);
    expect(await stuck()).toEqual([]);
  });

  test("answers while one never pauses, ends it, and refuses a large result", {
    timeout: 60_000,
  }, async () => {
    const g = graph();
    const stuck = await client.start(g, g.with({ ...META, timeout: "500ms" }).task("forever"));
    const settled = stuck.results().catch((error: unknown) => error);
    await client.overview();
    expect(await settled).toMatchObject({ name: "NodeFailed", code: "timeout" });
    const failed = client.compute(g, g.with(META).task("large"));
    await expect(failed).rejects.toMatchObject({ code: "result-too-large" });
    await expect(failed).rejects.toThrow("must fit into 16 KiB");
  });
});

test("[D-04] a server that leads is killed with a meta node: the next one runs it", {
  timeout: 120_000,
}, async () => {
  const cwd = await directoryWith({ "tasks.mjs": TASKS });
  const { url: store } = await testDatabase();
  const args = ["--store", store, "--takeover", "500ms", "--tasks", "tasks.mjs"];
  const first = await startServerProcess(cwd, args);
  const second = await startServerProcess(cwd, args);
  const client = new OrreryClient({ url: second.url, key: SERVER_KEY });
  try {
    const g = graph();
    const { run } = await client.start(
      g,
      g.with({ ...META, retries: 1, timeout: "5m" }).task("once", `${cwd}/began`),
    );
    // It is made before it is written.
    while (!existsSync(`${cwd}/began`) || readFileSync(`${cwd}/began`, "utf8") === "") await sleep(20);
    expect(readFileSync(`${cwd}/began`, "utf8")).toBe(String(first.child.pid));
    first.child.kill("SIGKILL");
    expect(await client.waitForRun(run)).toMatchObject({ status: "completed" });
    expect(await client.gather(run, ["once-1"])).toEqual(["the second time"]);
    expect(await client.workers()).toMatchObject([{ id: "beside-the-scheduler", executors: ["meta"] }]);
    // One that is told to stop leaves what runs to the next.
    await client.start(g, g.with({ ...META, timeout: "5m" }).task("once", `${cwd}/began again`));
    while (!existsSync(`${cwd}/began again`)) await sleep(20);
  } finally {
    second.child.kill("SIGTERM");
  }
  expect((await second.finished).code).toBe(0);
  expect(second.said()).not.toContain("takes too long");
  await first.finished;
});

test("[D-04] without a tasks file a meta node waits, and says for what", async () => {
  const cwd = await directoryWith({ "tasks.mjs": TASKS });
  const server = await startServerProcess(cwd, ["--store", "memory"]);
  const worker = startWorker(cwd, server.url, "w1");
  const client = new OrreryClient({ url: server.url, key: SERVER_KEY });
  try {
    const g = graph();
    const { run } = await client.start(g, g.with(META).task(largest, [g.task(bytes, 3, "x")]));
    const why = await startOrrery(cwd, ["why", run, "largest-1", "--server", server.url], env).finished;
    expect(why.stdout).toMatch(/orrery\s+serve\s+--tasks\s+FILE/);
  } finally {
    await end(worker, server);
  }
});

test.for(["file", "module"] as const)("[D-04] local runs meta nodes of a %s", async (from) => {
  const cwd = await directoryWith({ "tasks.mjs": TASKS });
  const tasks =
    from === "file" ? `${cwd}/tasks.mjs` : { bytes, largest: (all: ResultHandle[]) => all.length };
  await using here = await local({ tasks, workers: 1 });
  const g = graph();
  const chosen = g.with(META).task(largest, [g.task(bytes, 20_000, "x"), g.task(bytes, 40_000, "x")]);
  expect(await here.compute(g, chosen)).toBe(from === "file" ? "bytes-2" : 2);
});
