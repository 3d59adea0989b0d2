// Graphs of functions, computed by a real server and two worker processes.

import { createHash, randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GraphNode, graph, NodeFailed, OrreryClient } from "../src/client/index.ts";
import { taskIdOf } from "../src/core/index.ts";
import { directoryWith, type Started, startOrrery } from "./cli.ts";
import { SERVER_KEY, type ServerProcess, startServerProcess } from "./server-process.ts";

const TASKS = `
  import { createHash, randomBytes } from "node:crypto";
  import { graph } from ${JSON.stringify(new URL("../dist/client/index.js", import.meta.url).href)};
  import { task } from "orrery/worker";
  export const bytes = (length, fill) => Buffer.alloc(length, fill);
  export const length = (value) => value.length;
  export const noise = (length) => randomBytes(length);
  export const hash = (value) => createHash("sha256").update(value).digest("hex");
  export const size = ({ of }) => of.length;
  export async function add(...numbers) { return numbers.flat(Infinity).reduce((sum, one) => sum + one, 0); }
  export const describe = (value) => Object.prototype.toString.call(value);
  export const same = (value) => value;
  export const fail = () => { throw Object.assign(new Error("no such row"), { code: "ENOROW" }); };
  export const outer = () => {
    const g = graph();
    return g.expand(g.task(same, g.with({ id: "inner" }).task(fail)));
  };
  export const vast = () => {
    const g = graph();
    return g.expand(g.task(add, Array.from({ length: 45_000 }, () => g.task(same, "x".repeat(80)))));
  };
  export const forever = task((_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject)));
`;

/** As a person writes it. */
const GRAPH = `
defaults: {executor: default, resources: {cpu: 0}}
nodes:
  a: {task: bytes, args: [70000, x]}
  b: {task: size, inputs: {of: {node: a}}}
  c: {task: add, args: [{node: b}, [{node: b}, 1], 2], keep: true}
  d: {task: same, args: [{value: {node: a}}], keep: true}
  e: {task: same, args: [{node: a}], keep: true}
`;

let cwd: string;
let server: ServerProcess;
let workers: Started[];
let client: OrreryClient;

beforeAll(async () => {
  cwd = await directoryWith({ "tasks.mjs": TASKS, "graph.yaml": GRAPH });
  server = await startServerProcess(cwd, ["--store", "memory"]);
  const args = ["worker", "--server", server.url, "--tasks", "tasks.mjs", "--slots", "2", "--quiet"];
  workers = [1, 2].map((n) =>
    startOrrery(cwd, [...args, "--id", `w${n}`, "--capability", `c${n}`], { ORRERY_API_KEY: SERVER_KEY }),
  );
  client = new OrreryClient({ url: server.url, key: SERVER_KEY });
});

afterAll(async () => {
  for (const { child, finished } of [...workers, server]) {
    child.kill("SIGTERM");
    await finished;
  }
});

const add = (...numbers: readonly unknown[]): number => numbers.length;
const bytes = (length: number, fill: string): Buffer => Buffer.alloc(length, fill);
const length = (value: Uint8Array | string): number => value.length;
const same = <Value>(value: Value): Value => value;

test("[D-08] results of functions are arguments of others, and come back as they are", async () => {
  const g = graph();
  const large = g.task(bytes, 300_000, "x");
  const small = g.task(bytes, 3, "y");
  const total = g.task(add, g.task(length, large), [g.task(length, small), [1]]);
  expect(await client.compute(g, total)).toBe(300_004);
  const [one, other] = await client.compute(g, [large, small], { name: "two" });
  expect(one.equals(bytes(300_000, "x"))).toBe(true);
  expect(other).toEqual(Buffer.from("yyy"));
  // Workers keep nothing of what was computed.
  for await (const { id, name } of client.runs())
    if (name === "two")
      await expect(client.gather(id, [large])).rejects.toMatchObject({ code: "result-gone" });
  expect.assertions(4);
});

test("[D-03] a large result is found again by another run, on the worker that made it and on others", async () => {
  const on = (worker: string) => ({ capabilities: [worker] });
  const made = async (readBy: string): Promise<[Buffer, string]> => {
    const g = graph();
    const noise = g.with({ cache: true, ...on("c1") }).task("noise", 3_000_000);
    return (await client.compute(g, [noise, g.with(on(readBy)).task("hash", noise)])) as [Buffer, string];
  };
  const [first, hash] = await made("c1");
  expect(createHash("sha256").update(first).digest("hex")).toBe(hash);
  // Of random bytes: whoever made them again would have others.
  for (const worker of ["c2", "c1"]) {
    const [again, hashAgain] = await made(worker);
    expect(again.equals(first)).toBe(true);
    expect(hashAgain).toBe(hash);
  }
});

test("values of every kind go there and back, small and large", async () => {
  const g = graph();
  const values = [
    new Map([["when", new Date(0)]]),
    new Float64Array(5_000).fill(0.5),
    "x".repeat(50_000),
    Buffer.alloc(2_500_000, "z"),
    { node: { value: [null, { nodes: 1 }] } },
    "a text",
    undefined,
  ];
  const nodes = values.map((value) => g.task("same", g.value(value)));
  const results = await client.compute(g, nodes);
  // The test's own way to compare takes a minute for so many bytes.
  expect(results.map((result, at) => isDeepStrictEqual(result, values[at] ?? null))).toEqual(
    values.map(() => true),
  );
  // Not through a value, but as an argument.
  const odd = { node: g.value(1), nodes: "x" };
  expect(await client.compute(g, g.task("same", [{ value: odd }, { node: odd }]))).toEqual([
    { value: { node: 1, nodes: "x" } },
    { node: { node: 1, nodes: "x" } },
  ]);
});

describe("what goes wrong is said:", () => {
  test("a node that fails, and the way from it", async () => {
    const g = graph();
    const failed = g.task("fail");
    const wanted = g.task(same, g.with({ id: "between" }).task(same, [failed]));
    const problem = await client.compute(g, [g.task("forever"), wanted]).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(NodeFailed);
    expect(problem).toMatchObject({
      code: "ENOROW",
      node: "fail-1",
      way: ["fail-1", "between", "same-1"],
      message: "fail-1: no such row (fail-1 → between → same-1)",
    });
    const { run } = problem as NodeFailed;
    expect(await client.waitForRun(run)).toMatchObject({ status: "failed" });
  });

  test("[D-12] a node that another one added to the run", async () => {
    const g = graph();
    const wanted = g.task(same, g.with({ dynamic: 2 }).task("outer"));
    await expect(client.compute(g, wanted)).rejects.toMatchObject({
      code: "ENOROW",
      message: "outer-1/inner: no such row (outer-1/inner → outer-1 → same-1)",
    });
    await expect(client.compute(g, g.task("outer"))).rejects.toMatchObject({ code: "not-dynamic" });
    await expect(client.compute(g, g.with({ dynamic: 1 }).task("outer"))).rejects.toMatchObject({
      code: "too-many-nodes",
    });
    await expect(client.compute(g, g.with({ dynamic: 50_000 }).task("vast"))).rejects.toMatchObject({
      code: "expansion-too-large",
    });
  });

  test("who stops waiting cancels the run", async () => {
    const g = graph();
    const stop = new AbortController();
    const waiting = client.compute(g, g.task("forever"), { name: "stopped", signal: stop.signal });
    const id = await startedRun("stopped");
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    expect(await client.waitForRun(id)).toMatchObject({ status: "cancelled" });
  });

  test("a signal that comes while the graph is submitted cancels the run too", async () => {
    const stop = new AbortController();
    const slow = new OrreryClient({
      url: server.url,
      key: SERVER_KEY,
      async fetch(input, init) {
        const answer = await fetch(input, { ...init, signal: null });
        // The server has the run, and its answer is under way.
        if (init?.method === "POST") stop.abort(new Error("enough"));
        init?.signal?.throwIfAborted();
        return answer;
      },
    });
    const g = graph();
    const name = "stopped early";
    await expect(slow.compute(g, g.task("forever"), { name, signal: stop.signal })).rejects.toThrow("enough");
    const runs = [];
    for await (const run of client.runs()) if (run.name === name) runs.push(run.id);
    expect(runs).toHaveLength(1);
    expect(await client.waitForRun(String(runs), { signal: AbortSignal.timeout(20_000) })).toMatchObject({
      status: "cancelled",
    });
  });

  test("a run that somebody cancelled", async () => {
    const g = graph();
    const computation = await client.start(g, g.task("forever"));
    expect(await computation.cancel()).toBe(true);
    await expect(computation.results()).rejects.toMatchObject({
      name: "NodeFailed",
      code: "cancelled",
      message: "forever-1: the run was cancelled",
    });
    expect(await computation.cancel()).toBe(false);
  });

  test("[D-12] a node that somebody cancelled, with all that only it needs", async () => {
    const g = graph();
    const [forever, other] = [g.task("forever"), g.task(same, 5)];
    const last = g.task(same, g.task(same, forever));
    const computation = await client.start(g, [last, other]);
    const task = async ({ id }: GraphNode) => {
      for await (const one of client.tasks({ run: computation.run })) if (one.node === id) return one;
      throw new Error(`no task of ${id}`);
    };
    await expect.poll(async () => (await task(forever)).status).toBe("running");
    await client.cancel((await task(last)).id);
    expect(await computation.result(other)).toBe(5);
    const cancelled = { code: "cancelled", message: `${last.id}: it was cancelled` };
    await expect(computation.results()).rejects.toMatchObject(cancelled);
    await expect(computation.result(last)).rejects.toMatchObject(cancelled);
    expect((await task(forever)).status).toBe("cancelled");

    const again = await client.start(g, last);
    const [first] = [taskIdOf(again.run, forever.id)];
    await client.cancel(first);
    await expect(again.results()).rejects.toMatchObject({
      code: "cancelled",
      message: "forever-1: it was cancelled (forever-1 → same-2 → same-3)",
    });
  });

  test("a result that is not kept, or was released", async () => {
    const g = graph();
    const first = g.task(bytes, 100_000, "a");
    const last = g.task(length, first);
    const computation = await client.start(g, [first, last]);
    expect(await computation.result(last)).toBe(100_000);
    await expect(computation.result(g.task(length, first) as GraphNode)).rejects.toThrow(
      "length-2 is not kept",
    );
    expect(await client.gather(computation.run, [last, last.id])).toEqual([100_000, 100_000]);
    expect((await computation.result(first)).equals(bytes(100_000, "a"))).toBe(true);
    expect(await computation.release()).toBe(true);
    await expect(client.gather(computation.run, [first.id])).rejects.toMatchObject({
      status: 410,
      code: "result-gone",
    });
  });
});

test("a result is there as soon as its node has completed, although the run goes on", async () => {
  const g = graph();
  const quick = g.task(add, 1, 2);
  const never = g.task("forever");
  await using computation = await client.start(g, [quick, never]);
  expect(await computation.result(quick)).toBe(3);
  expect(await client.run(computation.run)).toMatchObject({ status: "running" });
});

describe("commands", () => {
  const env = () => ({ ORRERY_URL: server.url, ORRERY_API_KEY: SERVER_KEY });
  const orrery = (...args: readonly string[]) => startOrrery(cwd, args, env()).finished;

  test("a graph file with arguments runs on a server, and its results are printed, saved and released", async () => {
    const ran = await orrery("run", "graph.yaml", "--server", server.url, "--json");
    expect(ran.code, ran.stderr).toBe(0);
    const { runId } = JSON.parse(ran.stdout) as { runId: string };
    expect(await orrery("result", runId, "c")).toMatchObject({ code: 0, stdout: "140003\n" });
    expect(JSON.parse((await orrery("result", runId, "d")).stdout)).toEqual({ node: "a" });
    expect((await orrery("result", runId, "e")).stdout).toBe("x".repeat(70_000));
    const saved = await orrery("result", runId, "e", "--out", "e.bin", "--json");
    expect(JSON.parse(saved.stdout)).toMatchObject({ kind: "bytes", bytes: 70_000, out: "e.bin" });
    expect(await readFile(join(cwd, "e.bin"), "latin1")).toBe("x".repeat(70_000));
    expect(await orrery("result", runId, "nobody")).toMatchObject({ code: 3 });
    expect(await orrery("result", runId, "e", "--out", "no/such/e.bin")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("cannot write no/such/e.bin"),
    });
    expect(await orrery("release", runId)).toMatchObject({ code: 0, stdout: `${runId} released\n` });
    expect(await orrery("result", runId, "e")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("was freed"),
    });
    expect(await orrery("release", runId)).toMatchObject({ code: 1 });
    expect(await orrery("release", randomUUID())).toMatchObject({ code: 3, stdout: "" });
    expect(await orrery("release", "nothing", "--json")).toMatchObject({ code: 3, stdout: "" });
  });

  test("a worker that dies is told as why its node is run again, and does not count among its attempts", async () => {
    const dying = await directoryWith({
      "graph.yaml":
        "nodes:\n  bad: {task: boom}\n  last: {task: good, args: [{node: first}]}\n  first: {task: good}\n",
      "plain.yaml": "nodes:\n  bad: {task: boom}\n",
      "tasks.mjs": "export const boom = () => process.exit(3);\nexport const good = () => 1;\n",
    });
    const run = (file: string) =>
      startOrrery(dying, ["run", file, "--tasks", "tasks.mjs", "--workers", "1"]).finished;
    const { code, stderr } = await run("graph.yaml");
    expect(code).toBe(1);
    expect(stderr.match(/retrying bad .*/g)).toEqual(
      Array(2).fill(expect.stringMatching(/\(its worker was lost, which does not count as an attempt\)$/)),
    );
    expect(stderr).toMatch(/failed bad three workers were lost while they ran it/);
    expect((await run("plain.yaml")).stderr).toMatch(/failed bad its worker was lost/);
  });

  test("it runs on this machine with its tasks, and says so where these are missing", async () => {
    const ran = await orrery("run", "graph.yaml", "--tasks", "tasks.mjs", "--workers", "2");
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stdout).toMatch(/^run: .+\nc: 140003\nd: \{"node":"a"\}\ne: 68\.4 KiB\n$/);
    const saved = await orrery(
      "run",
      "graph.yaml",
      "--tasks",
      "tasks.mjs",
      "-w",
      "1",
      "--out",
      "results",
      "--json",
    );
    expect(JSON.parse(saved.stdout)).toMatchObject({
      outcome: "completed",
      results: [
        { node: "c", kind: "json", value: 140_003, out: join("results", "c.json") },
        { node: "d", value: { node: "a" } },
        { node: "e", kind: "bytes", bytes: 70_000, out: join("results", "e") },
      ],
    });
    expect(await readFile(join(cwd, "results", "c.json"), "utf8")).toBe("140003");
    expect(await orrery("run", "graph.yaml")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /node "a": task type "bytes" is not known here; name its file with --tasks/,
      ),
    });
    expect(await orrery("run", "graph.yaml", "--tasks", "nowhere.mjs")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("nowhere.mjs: there is no such file"),
    });
    const nodes = { a: { task: "bytes", resources: { memory: "999TiB" } }, b: { task: "bites" } };
    await writeFile(join(cwd, "impossible.json"), JSON.stringify({ nodes }, undefined, 1));
    const impossible = await orrery("run", "impossible.json", "--tasks", "tasks.mjs");
    expect([impossible.code, impossible.stderr.split("\n")]).toEqual([
      2,
      [
        expect.stringMatching(
          /impossible.json:\d+: node "a": it needs 1022976\.0 GiB of memory, and this machine/,
        ),
        expect.stringMatching(/impossible.json:\d+: node "b": there is no task "bites"/),
        "",
      ],
    ]);
    expect(await orrery("run", "graph.yaml", "--tasks", "tasks.mjs", "--resume")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--resume does not go with --tasks"),
    });
  });
});

/** Its id, once something of it runs. */
async function startedRun(name: string): Promise<string> {
  for (;;) {
    for await (const run of client.runs())
      if (run.name === name && (await client.run(run.id)).counts.running > 0) return run.id;
    await sleep(20);
  }
}
