// Graphs that are computed without a service, as programs do it: by the package as it is built.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { graph, type LocalOptions, type LocalOrrery, local } from "../dist/index.js";
import { directoryWith } from "./cli.ts";
import { isAlive } from "./server-process.ts";

const TASKS = `
  import { existsSync, writeFileSync } from "node:fs";
  export const load = (length) => Buffer.alloc(length, 1);
  export const sum = (...all) => all.flatMap((one) => [...one]).reduce((total, one) => total + one, 0);
  export const pid = () => process.pid;
  export const forever = () => new Promise(() => {});
  export const dieOnce = (mark) => {
    if (existsSync(mark)) return "second";
    writeFileSync(mark, "");
    process.kill(process.pid, "SIGKILL");
  };
`;

let directory: string;
let file: string;
let here: LocalOrrery;

beforeAll(async () => {
  directory = await directoryWith({ "tasks.mjs": TASKS, "broken.mjs": "export const f = ;" });
  file = join(directory, "tasks.mjs");
  here = await local({ tasks: pathToFileURL(file), workers: 2 });
});
afterAll(() => here.close());

const load = (length: number): Buffer => Buffer.alloc(length, 1);
const sum = (...all: readonly Uint8Array[]): number => all.length;

test("a graph is computed by processes of its own, with results that are held and moved", async () => {
  const g = graph();
  const parts = [1, 2, 3, 4].map((n) => g.task(load, n * 100_000));
  expect(await here.compute(g, g.task(sum, ...parts))).toBe(1_000_000);
  const pids = await here.compute(
    g,
    [1, 2, 3, 4].map(() => g.task("pid")),
  );
  expect(pids).not.toContain(process.pid);
});

test("what is imported already runs in this process", async () => {
  await using inside = await local({
    tasks: { load, sum: (one: Uint8Array) => one.length, pid: () => process.pid },
  });
  const g = graph();
  expect(await inside.compute(g, [g.task(sum, g.task(load, 100_000)), g.task("pid")])).toEqual([
    100_000,
    process.pid,
  ]);
});

test("[D-06] nodes that mostly wait run beside the slots of a worker", async () => {
  let inFlight = 0;
  let all: () => void = () => {};
  const met = new Promise<void>((resolve) => {
    all = resolve;
  });
  const meet = async (): Promise<void> => {
    if (++inFlight === 20) all();
    await met;
  };
  await using inside = await local({ tasks: { meet }, workers: 1 });
  const g = graph();
  await inside.compute(
    g,
    Array.from({ length: 20 }, () => g.with({ io: true }).task(meet)),
  );
  expect(inFlight).toBe(20);
});

test("[D-10] a worker that dies is replaced, and what it had is computed again", async () => {
  const g = graph();
  const large = g.task(load, 50_000);
  const mark = g.with({ retries: 1 }).task("dieOnce", join(directory, "died"));
  const warned = once(process, "warning");
  expect(await here.compute(g, [mark, g.with({ needs: mark }).task(sum, large)])).toEqual(["second", 50_000]);
  expect(String((await warned)[0])).toMatch(/worker local-\d ended by SIGKILL; another one takes its place/);
});

test("[D-08] what is closed says so at once", async () => {
  const inside = await local({ tasks: { load } });
  const g = graph();
  const node = g.task(load, 1);
  await Promise.all([inside.close(), inside.close()]);
  const begunMs = performance.now();
  await expect(inside.compute(g, node)).rejects.toThrow("this local Orrery is closed");
  await expect(inside.start(g, node)).rejects.toThrow("this local Orrery is closed");
  expect(performance.now() - begunMs).toBeLessThan(1_000);
});

test("[D-08] what is closed in the middle ends what is computed, and whoever waits for it", async () => {
  const inside = await local({ tasks: { forever: () => new Promise(() => {}) } });
  const g = graph();
  const node = g.task("forever");
  const begun = await inside.start(g, node);
  const waiting = [
    inside.compute(g, node),
    begun.result(node),
    begun.results(),
    inside.client.waitForRun(begun.run),
  ];
  const ends = Promise.allSettled(waiting);
  await sleep(200);
  await inside.close();
  for (const end of await ends)
    expect(end).toMatchObject({ reason: { message: expect.stringContaining("was closed before") } });
  const disposedMs = performance.now();
  await expect(begun[Symbol.asyncDispose]()).rejects.toThrow("was closed before");
  expect(performance.now() - disposedMs).toBeLessThan(1_000);
});

test("[D-12] a function that expands into itself without end fails, and harms nobody else", async () => {
  const step = (left: number): number => {
    if (left === 0) return 42;
    const g = graph();
    return g.expand(g.with({ dynamic: 1 }).task(step, left - 1));
  };
  await using here = await local({ tasks: { step } });
  const compute = (left: number) => {
    const g = graph();
    return here.compute(g, g.with({ dynamic: 1 }).task(step, left));
  };
  expect(await compute(1_000)).toBe(42);
  await expect(compute(1_001)).rejects.toMatchObject({
    code: "expansion-too-deep",
    message: expect.stringContaining("it is 1000 expansions below the run that was submitted"),
  });
  const endless = graph();
  const node = endless.with({ dynamic: 1 }).task(step, Number.MAX_SAFE_INTEGER);
  const signal = AbortSignal.timeout(300);
  await expect(here.compute(endless, node, { signal })).rejects.toMatchObject({ name: "TimeoutError" });
  expect(await compute(2)).toBe(42);
});

test("who is killed leaves no process behind", async () => {
  const program = `
    import { graph, local } from ${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)};
    const here = await local({ tasks: ${JSON.stringify(file)}, workers: 1 });
    const g = graph();
    console.log(await here.compute(g, g.task("pid")));
    await here.compute(g, g.task("forever"));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const worker = Number(line.toString());
  expect(isAlive(worker)).toBe(true);
  child.kill("SIGKILL");
  while (isAlive(worker)) await sleep(20);
});

describe("what cannot work is refused at once:", () => {
  const bad: readonly (readonly [string, LocalOptions | (() => LocalOptions), RegExp])[] = [
    ["no tasks", {} as never, /tasks must be the path or URL of a tasks file/],
    ["a file that is not there", { tasks: "./nowhere.mjs" }, /nowhere\.mjs: there is no such file/],
    ["a file that is broken", () => ({ tasks: join(directory, "broken.mjs") }), /broken\.mjs:1:\d+/],
    ["no workers", { tasks: "./tasks.mjs", workers: 0 }, /workers must be a whole number from 1 on; got 0/],
    [
      "[D-08] an option that there is not",
      { tasks: "./tasks.mjs", wrkers: 1 } as never,
      /^local has no option "wrkers"; there are tasks, workers,/,
    ],
    ["memory of no size", { tasks: "./tasks.mjs", memory: "much" }, /^memory must be .*got "much"/],
    ["an object without functions", { tasks: { a: 1 } }, /exports no function or handler, only a/],
  ];
  test.each(bad)("%s", async (_what, options, says) => {
    await expect(local(typeof options === "function" ? options() : options)).rejects.toThrow(says);
  });

  test("a task that nobody exports, and a worker that nobody is", async () => {
    const g = graph();
    const unknown = g.task("laod", 1);
    await expect(here.compute(g, unknown)).rejects.toThrow(
      /^laod-1: there is no task "laod"; there are .*load, pid, sum/,
    );
    const elsewhere = g.with({ executor: "gpu" }).task(load, 1);
    await expect(here.start(g, elsewhere)).rejects.toThrow(/load-1: no worker here serves "gpu"/);
    const large = g.with({ memory: "999TiB" }).task(load, 1);
    await expect(here.start(g, large)).rejects.toThrow(
      /load-2: it needs 1022976\.0 GiB of memory, and this machine/,
    );
    const wide = g.with({ cpu: 1000 }).task(load, 1);
    await expect(here.start(g, wide)).rejects.toThrow(/load-3: it needs 1000 cores, and this machine has/);
  });
});
