// Functions of a tasks file on the threads of a worker, and results between workers, all of them real processes.

import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Assignment, Report } from "../src/protocol/worker-messages.ts";
import { plainTask } from "../src/worker/handler.ts";
import { anAssignment } from "./worker-fixture.ts";
import { startWorkerProcess, type WorkerProcess } from "./worker-processes.ts";
import { TestServer } from "./worker-server.ts";

const TASKS = `
  import { isMainThread, threadId } from "node:worker_threads";
  import { onMain, onThread, reading, task } from "orrery/worker";

  export const where = () => isMainThread ? "main" : threadId;
  export const marked = onThread((...args) => isMainThread ? "main" : threadId);
  export const bound = onMain(() => isMainThread ? "main" : threadId);
  export const ruled = () => isMainThread ? "main" : threadId;
  export const odd = () => 1;
  export const processors = (name, kinds) =>
    name === "ruled" && kinds.includes("bytes") ? "thread" : name === "odd" ? "gpu" : undefined;

  export const told = onThread(task(async ({ n, args }, context) => {
    context.log("from a thread");
    context.progress(0.5, "half");
    context.cost(2);
    context.assess({ verified: true });
    return { n, args, taskId: context.taskId, node: context.node, isMainThread };
  }));
  export const fails = onThread(() => { throw Object.assign(new Error("no paper"), { code: "no-paper", retry: false }); });
  const thrower = (name, value) => Object.defineProperty(new Error("m"), name, value);
  export const failsOddly = onThread((way) => {
    if (way === "getter") throw thrower("message", { get() { throw 1; } });
    if (way === "stack") throw thrower("stack", { value: () => 5 });
    throw new Proxy({}, { get() { throw 1; } });
  });
  export const noGraph = onThread(() => ({ [Symbol.for("orrery.expansion")]: { graph: 1, result: 2 } }));
  export const exits = onThread(() => process.exit(1));
  export const throwsLate = onThread(() => new Promise(() => setTimeout(() => { throw new Error("too late"); })));
  export const spins = onThread(() => { for (;;); });
  export const spinsFor = onThread((ms) => { for (const end = Date.now() + ms; Date.now() < end; ); return threadId; });
  export const stops = onThread(task((_, { signal }) => new Promise((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason)))));

  export const make = (length) => Buffer.alloc(length, "x");
  export const shared = onThread((length) => Buffer.from(new SharedArrayBuffer(length)));
  export const spoil = onThread((bytes) => { const [before] = bytes; bytes.fill(255); return before; });
  export const write = onThread(reading((bytes) => { bytes[0]++; return [bytes.buffer instanceof SharedArrayBuffer, bytes[0]]; }));
  export const length = onThread((bytes) => bytes.length);
  const lengthSent = async (bytes) => (await new Response(bytes).arrayBuffer()).byteLength;
  export const sent = onThread(lengthSent.bind());
  export const readAndSent = onThread(reading(lengthSent.bind()));
  export const stream = onThread(async function* (count) {
    for (let at = 0; at < count; at++) yield Buffer.alloc(10_000, String(at));
    if (count === 3) throw new Error("broken off");
  });
  export const map = onThread(() => new Map([["a", new Date(0)]]));
  export const functions = onThread(() => ({ list: [() => 1] }));
`;

let directory: string;
let tasks: string;
let servers: TestServer[];
let workers: WorkerProcess[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "orrery-processors-"));
  tasks = join(directory, "tasks.mjs");
  await writeFile(tasks, TASKS);
  servers = [];
  workers = [];
});

afterEach(async () => {
  for (const { child } of workers) child.kill("SIGKILL");
  await Promise.all(workers.map(({ ended }) => ended));
  await Promise.all(servers.map((server) => server.crash()));
  await rm(directory, { recursive: true, force: true });
});

async function start(...args: readonly string[]): Promise<{ server: TestServer; worker: WorkerProcess }> {
  const server = await TestServer.start();
  servers.push(server);
  const spill = join(directory, "spill");
  const options = ["--server", server.url, "--id", "w1", "--tasks", tasks, "--spill-dir", spill, ...args];
  const worker = startWorkerProcess(options);
  workers.push(worker);
  await Promise.race([server.hears("register"), worker.ended]);
  return { server, worker };
}

type Data = NonNullable<Assignment["data"]>;

function node(type: string, args: unknown[] = [], data: Partial<Data> = {}, named: object = {}): Assignment {
  const payload = { args, inputs: named };
  return anAssignment(type, payload, { run: "r", node: type, data: { token: "t", inputs: [], ...data } });
}

const madeBy = ({ task }: Assignment): Partial<Data> => ({ inputs: [{ chunk: `${task}:1`, node: "made" }] });
const INPUT = { $input: 0 };

async function resultOf(server: TestServer, assignment: Assignment): Promise<unknown> {
  server.assign(assignment);
  const report = await server.report(assignment.task);
  return report.type === "finished" ? report.result : report;
}

test("[D-06] a function runs where the node says, else where it is marked, else by its file's rule, in turns", async () => {
  const { server } = await start("--threads", "2", "--slots", "4");
  const at = (assignment: Assignment) => resultOf(server, assignment);
  expect(await at(node("where"))).toBe("main");
  const first = (await at(node("marked"))) as number;
  const second = await at(node("marked"));
  expect(second).not.toBe(first);
  expect(await at(node("marked"))).toBe(first);
  expect(await at(node("where", [], { processor: "thread" }))).toBe(second);
  expect(await at(node("marked", [], { processor: "main" }))).toBe("main");
  expect(await at(node("bound"))).toBe("main");
  expect(await at(node("ruled"))).toBe("main");
  const bytes = {
    chunk: `${anAssignment("x").task}:1`,
    node: "b",
    value: { $chunk: "bytes", base64: "AA==" },
  };
  expect(await at(node("ruled", [], { inputs: [bytes] }))).toEqual(expect.any(Number));
  expect(await at(node("odd"))).toMatchObject({
    code: "bad-processor",
    message: expect.stringContaining('returned gpu; return "main", "thread"'),
  });
  // A task of no run, too.
  expect(await at(anAssignment("marked"))).toEqual(expect.any(Number));
  // What is busy is passed over while another is not.
  const busy = node("spinsFor", [2_000]);
  server.assign(busy);
  const others = [await at(node("marked")), await at(node("marked"))];
  expect(others).not.toContain(await resultOf(server, busy));
});

test("[D-06] a handler on a thread has its context, and fails as on the main one", async () => {
  const { server } = await start("--threads", "1", "--slots", "4");
  const told = node("told", [1], {}, { n: 2 });
  server.assign(told);
  expect(await server.report(told.task)).toMatchObject({
    result: { n: 2, args: [1], taskId: told.task, node: "told", isMainThread: false },
    cost: 2,
    assessment: { verified: true },
  });
  expect((await server.hears("log")).entries).toMatchObject([{ task: told.task, text: "from a thread" }]);
  expect((await server.hears("progress")).progress).toMatchObject({ fraction: 0.5, message: "half" });
  expect(await resultOf(server, node("fails"))).toMatchObject({
    code: "no-paper",
    message: "no paper",
    retry: false,
  });
  for (const way of ["getter", "stack", "proxy"])
    expect(await resultOf(server, node("failsOddly", [way])), way).toMatchObject({
      type: "failed",
      code: "error",
    });
  expect(await resultOf(server, node("noGraph"))).toMatchObject({ code: "bad-expansion", retry: false });
  expect(await resultOf(server, node("functions"))).toMatchObject({
    code: "result-not-serializable",
    message: "result.list[0] cannot be sent: it is a function",
  });
  expect(await resultOf(server, node("unheard-of"))).toMatchObject({
    code: "unknown-type",
    message: expect.stringMatching(/"unheard-of".*tasks\.mjs exports no function of that name/),
  });
  const stops = node("stops");
  server.assign(stops);
  await server.hears("heartbeat", (it) => it.heartbeat.attempts.some(({ started_at }) => started_at > 0));
  server.cancel({ task: stops.task, attempt: 1 });
  expect(await server.report(stops.task)).toMatchObject({ type: "cancelled" });
});

test("[D-06] a thread that dies fails what it ran, and is replaced", async () => {
  const { server, worker } = await start("--threads", "1", "--slots", "4");
  for (const type of ["exits", "throwsLate"]) {
    expect(await resultOf(server, node(type))).toMatchObject({ type: "failed", code: "worker-panic" });
    expect(await resultOf(server, node("marked"))).toEqual(expect.any(Number));
  }
  const late = server
    .all("report")
    .find(({ report }) => report.type === "failed" && /too late/.test(report.message));
  expect(late).toBeDefined();
  expect(worker.child.exitCode).toBeNull();
  worker.child.kill("SIGTERM");
  expect(await worker.ended).toMatchObject({ code: 0 });
});

test("[D-06] bytes move between threads, shared where they were made so and are only read", async () => {
  const { server } = await start("--threads", "2", "--slots", "4");
  const shared = node("shared", [100_000]);
  expect(await resultOf(server, shared)).toBeUndefined();
  const of = (type: string) => resultOf(server, node(type, [INPUT], madeBy(shared)));
  expect([await of("spoil"), await of("spoil")]).toEqual([0, 0]);
  expect([await of("write"), await of("write")]).toEqual([
    [true, 1],
    [true, 2],
  ]);
  const stream = node("stream", [50]);
  server.assign(stream);
  expect(await server.report(stream.task)).toMatchObject({ chunk: { kind: "bytes", bytes: 500_000 } });
  expect(await resultOf(server, node("length", [INPUT], madeBy(stream)))).toBe(500_000);
  const large = node("make", [2 ** 20]);
  expect(await resultOf(server, large)).toBeUndefined();
  for (const type of ["sent", "readAndSent"])
    expect(await resultOf(server, node(type, [INPUT], madeBy(large)))).toBe(2 ** 20);
  expect(await resultOf(server, node("stream", [0]))).toEqual({ $chunk: "bytes", base64: "" });
  expect(await resultOf(server, node("stream", [3]))).toMatchObject({
    type: "failed",
    message: "broken off",
  });
  expect(await resultOf(server, node("map"))).toMatchObject({ $chunk: "clone" });
});

test("[D-06] a function that never pauses ends with its thread when it is cancelled", async () => {
  // As it is built: threads run what lies beside it.
  const { onThread, Worker, WebSocketTransport } = (await import(
    new URL("../dist/worker/index.js", import.meta.url).href
  )) as typeof import("../src/worker/index.ts");
  const server = await TestServer.start();
  servers.push(server);
  const worker = new Worker({
    transport: new WebSocketTransport({ url: server.url, key: "key" }),
    handlers: Object.fromEntries(
      ["spins", "marked"].map((name) => {
        const origin = { file: tasks, name, rule: undefined };
        return [name, onThread({ ...plainTask(() => "main"), origin })];
      }),
    ),
    registration: { id: "w1", executors: ["default"], cpu_millicores: 1, memory_bytes: 1, slots: 4 },
    threads: 1,
    graceMs: 100,
  });
  const ended = worker.run();
  const spins = node("spins");
  await server.hears("register");
  server.assign(spins);
  await server.hears("heartbeat", (it) => it.heartbeat.attempts.some(({ started_at }) => started_at > 0));
  server.cancel({ task: spins.task, attempt: 1 });
  expect(await server.report(spins.task)).toMatchObject({ type: "cancelled" });
  expect(await resultOf(server, node("marked"))).toEqual(expect.any(Number));
  worker.stop();
  await ended;
});

type Finished = Extract<Report, { type: "finished" }>;

test("[D-07] results move between processes; of one that is killed they are missing, and its files go with the next", async () => {
  const there = await start("--data-memory", "1000000");
  const here = await start("--data-memory", "1000000", "--transport", "http");
  const made = [node("make", [400_000]), node("make", [800_000])];
  there.server.assign(...made);
  const { registration } = await there.server.hears("register");
  const inputs = await Promise.all(
    made.map(async ({ task }) => ({
      ...((await there.server.report(task)) as Finished).chunk,
      chunk: `${task}:1`,
      node: "made",
      from: [{ worker: "there", url: registration.data_url ?? "" }],
    })),
  );
  const both = node("length", [INPUT], { inputs: inputs as Data["inputs"] });
  here.server.assign(both);
  expect(await here.server.report(both.task)).toMatchObject({ result: 400_000, moved: 1_200_000 });
  const spilled = (): Promise<string[]> => readdir(join(directory, "spill"));
  expect(await spilled()).toHaveLength(2);
  there.worker.child.kill("SIGKILL");
  await there.worker.ended;
  const lost = node("length", [INPUT], {
    inputs: [{ ...inputs[0], chunk: `${both.task}:2` }] as Data["inputs"],
  });
  expect(await resultOf(here.server, lost)).toMatchObject({
    code: "input-missing",
    missing: [{ worker: "there" }],
  });
  here.worker.child.kill("SIGTERM");
  expect(await here.worker.ended).toMatchObject({ code: 0 });
  expect(await spilled()).toHaveLength(1);
  const next = await start("--data-memory", "100000");
  await resultOf(next.server, node("make", [100_000]));
  expect(await spilled()).toHaveLength(1);
  expect((await spilled())[0]).toContain(`_${next.worker.child.pid}_`);
}, 120_000);

test("a port that is taken, and a size that is none, end the worker with what to do", async () => {
  const { server } = await start();
  const { registration } = await server.hears("register");
  const { port } = new URL(registration.data_url ?? "");
  const taken = await start("--data-port", port);
  expect(await taken.worker.ended).toMatchObject({
    code: 2,
    output: expect.stringContaining(`cannot listen on 127.0.0.1 port ${port}: something else listens there`),
  });
  const wrong = await start("--data-memory", "lots");
  expect(await wrong.worker.ended).toMatchObject({ code: 2, output: expect.stringContaining("data-memory") });
  const elsewhere = await start("--data-host", "0.0.0.0", "--data-url", "http://data.example:80");
  expect((await elsewhere.server.hears("register")).registration.data_url).toBe("http://data.example:80");
});
