// Workers that give each other their results, each with a server that tells it what to do.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Assignment, Report } from "../src/protocol/worker-messages.ts";
import { command, plainTask } from "../src/worker/handler.ts";
import {
  type DataOptions,
  type Handlers,
  PollTransport,
  reading,
  task,
  WebSocketTransport,
} from "../src/worker/index.ts";
import { anAssignment, Gate, type StartedWorker, startWorker } from "./worker-fixture.ts";
import { TestServer } from "./worker-server.ts";

const TRANSPORTS = { WebSocket: WebSocketTransport, HTTP: PollTransport };
const TOKEN = "a token of the run";
const LARGE = 100_000;

type Input = NonNullable<Assignment["data"]>["inputs"][number];
type Finished = Extract<Report, { type: "finished" }>;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "orrery-data-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

interface Side extends StartedWorker {
  readonly server: TestServer;
}

const sides: Side[] = [];

afterEach(async () => {
  for (const { worker } of sides) worker.stop();
  await Promise.allSettled(sides.map(({ ended }) => ended));
  await Promise.all(sides.splice(0).map(({ server }) => server.crash()));
});

async function side(
  handlers: Handlers,
  options: {
    readonly slots?: number;
    readonly data?: DataOptions;
    readonly Way?: typeof WebSocketTransport;
  } = {},
): Promise<Side> {
  const { slots = 2, data, Way = WebSocketTransport } = options;
  const server = await TestServer.start();
  const started = startWorker(new Way({ url: server.url, key: "key" }), handlers, {
    slots,
    data: { spillDirectory: directory, ...data },
  });
  sides.push({ ...started, server });
  await server.hears("register");
  return { ...started, server };
}

function node(
  type: string,
  payload: unknown,
  inputs: readonly Input[] = [],
  extra: Partial<NonNullable<Assignment["data"]>> = {},
): Assignment {
  return anAssignment(type, payload, {
    run: "r",
    node: type,
    data: { token: TOKEN, inputs: [...inputs], ...extra },
  });
}

const chunkOf = ({ task: id, attempt }: Assignment): string => `${id}:${attempt}`;
const inputs = (...names: readonly string[]): object =>
  Object.fromEntries(names.map((name, at) => [name, { $input: at }]));

/** The result of an attempt here, for one elsewhere. */
async function heldBy({ server }: Side, made: Assignment): Promise<Input> {
  const { chunk } = (await server.report(made.task)) as Finished;
  const { registration } = await server.hears("register");
  return {
    chunk: chunkOf(made),
    node: "made",
    ...chunk,
    from: [{ worker: "there", url: registration.data_url ?? "" }],
  } as Input;
}

async function listening(): Promise<AsyncDisposable & { readonly url: string }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on("error", () => {})));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const bytes = (length: number): Buffer => Buffer.alloc(length, "x");
const HANDLERS: Handlers = {
  make: plainTask((length) => bytes(length as number)),
  length: plainTask((value) => (value as Buffer).length),
  echo: task((payload) => payload),
  list: plainTask((...all) => all),
};

describe.each(Object.entries(TRANSPORTS))("over %s", (_name, Way) => {
  test("[D-08] a small result goes with the report, a large one stays, is announced again and is freed", async () => {
    const { server } = await side(HANDLERS, { Way: Way as typeof WebSocketTransport });
    const small = node("echo", { args: [], inputs: { n: 1 } });
    const large = node("make", { args: [LARGE], inputs: {} });
    server.assign(small, large);
    const inline = await server.report(small.task);
    expect(inline).toMatchObject({ result: { n: 1, args: [] } });
    expect(inline).not.toHaveProperty("chunk");
    const held = await server.report(large.task);
    expect(held).toMatchObject({ chunk: { kind: "bytes", bytes: LARGE } });
    expect(held).not.toHaveProperty("result");
    const isFreed = (freed: number) => (it: { heartbeat: { memory?: { held: number; freed: number } } }) =>
      it.heartbeat.memory?.freed === freed;
    const { heartbeat } = await server.hears("heartbeat", isFreed(17));
    expect(heartbeat.memory).toEqual({ held: LARGE, spilled: 0, moved: 0, freed: 17 });
    // It comes back to a server that has forgotten all.
    const { port } = server;
    await server.crash();
    const again = await TestServer.start({ port });
    try {
      expect((await again.hears("chunks")).chunks).toEqual([chunkOf(large)]);
      again.free(chunkOf(large));
      await again.hears("heartbeat", isFreed(LARGE + 17));
    } finally {
      await again.crash();
    }
  });
});

test("[D-07] a result moves from worker to worker, and is counted where it came", async () => {
  const there = await side(HANDLERS);
  const here = await side(HANDLERS);
  const made = node("make", { args: [LARGE], inputs: {} });
  there.server.assign(made);
  const input = await heldBy(there, made);
  const first = node("length", { args: [{ $input: 0 }], inputs: {} }, [input]);
  here.server.assign(first);
  expect(await here.server.report(first.task)).toMatchObject({
    result: LARGE,
    moved: LARGE,
    transfers: [{ chunk: chunkOf(made), from: input.from?.[0]?.worker, took_us: expect.any(Number) }],
  });
  // It is here now, whether or not the server knows that.
  const second = node("length", { args: [{ $input: 0 }], inputs: {} }, [input]);
  here.server.assign(second);
  const report = await here.server.report(second.task);
  expect(report).toMatchObject({ result: LARGE });
  expect(report).not.toHaveProperty("moved");
  expect(report).not.toHaveProperty("transfers");
  const wrong = node("length", { args: [{ $input: 0 }], inputs: {} }, [
    { ...input, chunk: `${randomUUID()}:1` },
  ]);
  here.server.assign(wrong);
  expect(await here.server.report(wrong.task)).toMatchObject({
    type: "failed",
    code: "input-missing",
    retry: true,
    started_at: -1,
    missing: [{ chunk: wrong.data?.inputs[0]?.chunk, worker: "there" }],
  });
});

test("[D-07] a node may fetch many inputs at once, without a warning", async () => {
  const [there, here] = [await side(HANDLERS), await side(HANDLERS)];
  const made = Array.from({ length: 12 }, () => node("make", { args: [LARGE], inputs: {} }));
  there.server.assign(...made);
  const held = await Promise.all(made.map((one) => heldBy(there, one)));
  const warnings: Error[] = [];
  const warned = (warning: Error): void => void warnings.push(warning);
  process.on("warning", warned);
  try {
    const all = node("list", { args: held.map((_, at) => ({ $input: at })), inputs: {} }, held);
    here.server.assign(all);
    expect(await here.server.report(all.task)).toMatchObject({ moved: 12 * LARGE });
    expect(warnings).toEqual([]);
  } finally {
    process.off("warning", warned);
  }
});

test("[D-09] of small results, which their tasks have, the last thousand stay while there is something to do", async () => {
  const gate = new Gate();
  const { server } = await side({ ...HANDLERS, wait: task(() => gate.opened) });
  const small = Array.from({ length: 1100 }, () => node("echo", { args: [], inputs: { n: 1 } }));
  const last = node("wait", { args: [], inputs: {} });
  server.assign(last, ...small);
  await Promise.all(small.map(({ task: id }) => server.report(id)));
  const { heartbeat } = await server.hears(
    "heartbeat",
    (it) => (it.heartbeat.memory?.freed ?? 0) === 100 * 17,
  );
  expect(heartbeat.memory).toMatchObject({ held: 1000 * 17 });
  gate.open();
  await server.report(last.task);
  await server.hears("heartbeat", (it) => it.heartbeat.memory?.held === 0);
});

test("[D-09] what was fetched for a task that failed is offered back, unless another waits for it", async () => {
  const there = await side(HANDLERS);
  const gate = new Gate();
  const here = await side({
    fails: task(() => Promise.reject(new Error("no"))),
    waits: task(() => gate.opened),
  });
  const [one, other] = [
    node("make", { args: [LARGE], inputs: {} }),
    node("make", { args: [LARGE], inputs: {} }),
  ];
  there.server.assign(one, other);
  const fetched = [await heldBy(there, one), await heldBy(there, other)];
  const failing = node("fails", inputs("a", "b"), fetched);
  here.server.assign(node("waits", inputs("b"), fetched.slice(1)), failing);
  expect(await here.server.report(failing.task)).toMatchObject({ type: "failed", message: "no" });
  expect((await here.server.hears("chunks")).chunks).toEqual([chunkOf(one)]);
  gate.open();
});

test("arguments come by position, then by name; inline values of every kind as they were", async () => {
  const { server } = await side({
    ...HANDLERS,
    kinds: plainTask((...all) => all.map((one) => Object.prototype.toString.call(one))),
  });
  const values = [42, "text", { $chunk: "bytes", base64: "AAE=" }, { a: [null] }, null];
  const given = values.map((value, at) => ({ chunk: `${randomUUID()}:1`, node: `n${at}`, value }));
  const args = [{ $input: 0 }, [{ $input: 1 }, { deep: { $input: 3 } }], "literal", { $input: 4 }];
  const list = node("list", { args, inputs: { named: { $input: 3 } } }, given);
  const kinds = node("kinds", { args: [{ $input: 2 }], inputs: {} }, given);
  const asked = node("echo", { args: [{ $input: 0 }], inputs: inputs("x", "y") }, given);
  const plain = node("echo", { ms: 3 });
  const meta = node(
    "echo",
    { args: [], inputs: inputs("x") },
    [{ ...(given[0] as Input), kind: "json", bytes: 2 }],
    { meta: true },
  );
  const beyond = node("list", { args: [{ $input: 5 }] }, given);
  server.assign(list, kinds, asked, plain, meta, beyond);
  const report = (of: Assignment) => server.report(of.task);
  expect(await report(list)).toMatchObject({
    result: [42, ["text", { deep: { a: [null] } }], "literal", null, { named: { a: [null] } }],
  });
  expect(await report(kinds)).toMatchObject({ result: ["[object Uint8Array]"] });
  expect(await report(asked)).toMatchObject({ result: { x: 42, y: "text", args: [42] } });
  expect(await report(plain)).toMatchObject({ result: { ms: 3 } });
  expect(await report(meta)).toMatchObject({
    result: { x: { chunk: given[0]?.chunk, node: "n0", kind: "json", bytes: 2, value: 42 } },
  });
  expect(await report(beyond)).toMatchObject({
    type: "failed",
    code: "bad-payload",
    message: expect.stringContaining("input 5 of 5"),
  });
});

test("[D-08] a task waits for what an earlier one makes here, and begins before what was assigned after it", async () => {
  const gate = new Gate();
  const order: string[] = [];
  const step = (name: string, wait?: Promise<void>) =>
    plainTask(async (...all) => {
      order.push(name);
      await wait;
      return all.length;
    });
  const { server } = await side(
    { first: step("first", gate.opened), second: step("second"), third: step("third") },
    { slots: 1 },
  );
  const first = node("first", { args: [] });
  const second = node("second", { args: [{ $input: 0 }] }, [{ chunk: chunkOf(first), node: "first" }]);
  const third = node("third", { args: [] });
  server.assign(first, second, third);
  await server.hears("heartbeat", (it) => it.heartbeat.attempts.length === 3);
  gate.open();
  expect(await server.report(second.task)).toMatchObject({ result: 1 });
  await server.report(third.task);
  expect(order).toEqual(["first", "second", "third"]);
});

test("a task whose input is not made after all is dropped without a report, and so is what waits for it", async () => {
  const gate = new Gate();
  const { server } = await side({
    ...HANDLERS,
    fails: plainTask(async () => {
      await gate.opened;
      throw new Error("no");
    }),
  });
  const fails = node("fails", { args: [] });
  const next = node("list", { args: [{ $input: 0 }] }, [{ chunk: chunkOf(fails), node: "fails" }]);
  const last = node("list", { args: [{ $input: 0 }] }, [{ chunk: chunkOf(next), node: "next" }]);
  server.assign(fails, next, last);
  await server.hears("heartbeat", (it) => it.heartbeat.attempts.length === 3);
  gate.open();
  await server.report(fails.task);
  await server.hears(
    "heartbeat",
    (it) => it.heartbeat.attempts.length === 0 && server.all("report").length > 0,
  );
  server.cancel({ task: next.task, attempt: 1 });
  const unknown = node("list", { args: [{ $input: 0 }] }, [{ chunk: chunkOf(last), node: "last" }]);
  server.assign(unknown);
  expect(await server.report(unknown.task)).toMatchObject({
    code: "input-missing",
    missing: [{ chunk: chunkOf(last), worker: "worker-1" }],
  });
  expect(server.all("report")).toHaveLength(2);
});

test("[D-07] inputs come while others run, and a cancelled task stops waiting for its own", async () => {
  // It takes connections, and says nothing.
  await using silence = await listening();
  const gate = new Gate();
  const there = await side(HANDLERS);
  const here = await side({ ...HANDLERS, hold: plainTask(() => gate.opened) }, { slots: 1 });
  const made = node("make", { args: [LARGE], inputs: {} });
  there.server.assign(made);
  const input = await heldBy(there, made);
  const silent = {
    ...input,
    chunk: `${randomUUID()}:1`,
    from: [{ worker: "silent", url: silence.url }],
  };
  const hold = node("hold", { args: [] });
  const next = node("length", { args: [{ $input: 0 }] }, [input]);
  const lost = node("length", { args: [{ $input: 0 }] }, [silent]);
  here.server.assign(hold, next, lost);
  await here.server.hears("heartbeat", (it) => it.heartbeat.memory?.moved === LARGE);
  expect(here.server.all("report")).toEqual([]);
  here.server.cancel({ task: lost.task, attempt: 1 });
  expect(await here.server.report(lost.task)).toMatchObject({ type: "cancelled", started_at: -1 });
  gate.open();
  expect(await here.server.report(next.task)).toMatchObject({ result: LARGE });
});

test("tasks that wait for others take no slot", async () => {
  const gates = Array.from({ length: 5 }, () => new Gate());
  let begun = 0;
  const { server } = await side(
    {
      ...HANDLERS,
      hold: plainTask(async (at) => {
        begun++;
        await gates[at as number]?.opened;
      }),
    },
    { slots: 1 },
  );
  server.assign(
    ...[0, 1, 2, 3].map((at) => node("hold", { args: [at] }, [], { io: true })),
    node("hold", { args: [4] }),
  );
  await expect.poll(() => begun, { timeout: 30_000 }).toBe(5);
  const waits = node("list", { args: [] });
  server.assign(waits);
  await server.hears("heartbeat", (it) => it.heartbeat.attempts.length === 6);
  for (const gate of gates.slice(0, 4)) gate.open();
  await expect.poll(() => server.all("report").length, { timeout: 30_000 }).toBe(4);
  gates[4]?.open();
  await server.report(waits.task);
});

test("what one task does to its input another does not see, unless both promise only to read", async () => {
  const seen: Uint8Array[] = [];
  const { server } = await side({
    shared: plainTask(() => new Uint8Array(new SharedArrayBuffer(LARGE))),
    spoil: plainTask((value) => {
      const given = value as Buffer;
      const [before] = given;
      given.fill(255);
      return before;
    }),
    read: reading(plainTask((value) => seen.push(value as Buffer))),
  });
  const made = node("shared", { args: [] });
  const of = (type: string) =>
    node(type, { args: [{ $input: 0 }] }, [{ chunk: chunkOf(made), node: "made" }]);
  const spoils = [of("spoil"), of("spoil")];
  server.assign(made, ...spoils, of("read"), of("read"));
  for (const { task: id } of spoils) expect(await server.report(id)).toMatchObject({ result: 0 });
  await expect.poll(() => seen.length, { timeout: 30_000 }).toBe(2);
  expect(seen[0]?.buffer).toBe(seen[1]?.buffer);
  expect(seen[0]?.buffer).toBeInstanceOf(SharedArrayBuffer);
});

test("large bytes that tasks only read are the same for all of them, and can be sent by them", async () => {
  const seen: Uint8Array[] = [];
  const { server } = await side({
    large: plainTask(() => Buffer.alloc(2 ** 20, 7)),
    send: reading(
      plainTask(async (value) => {
        seen.push(value as Buffer);
        return (await new Response(value as Buffer).arrayBuffer()).byteLength;
      }),
    ),
  });
  const made = node("large", { args: [] });
  const sends = [1, 2].map(() =>
    node("send", { args: [{ $input: 0 }] }, [{ chunk: chunkOf(made), node: "made" }]),
  );
  server.assign(made, ...sends);
  for (const { task: id } of sends) expect(await server.report(id)).toMatchObject({ result: 2 ** 20 });
  expect(seen[0]?.buffer).toBe(seen[1]?.buffer);
});

test("[D-11] streams are taken in as they come, spill, and are given to a program's stdin; so is its stdout", async () => {
  const { server } = await side(
    {
      ...HANDLERS,
      stream: plainTask(async function* (count) {
        for (let at = 0; at < (count as number); at++) yield bytes(10_000);
      }),
      readable: plainTask(() => Readable.from([Buffer.from("a"), Buffer.from("b")])),
      strings: plainTask(() => Readable.from(["a"])),
      pass: command("cat", [], { output: "bytes" }),
      count: command("wc", ["-c"]),
      upper: command("tr", ["a-z", "A-Z"]),
      many: command("head", ["-c", "3000000", "/dev/zero"], { output: "bytes" }),
      breaks: command("sh", ["-c", "echo some; echo why >&2; exit 3"], { output: "bytes" }),
    },
    { data: { memoryBytes: 200_000 } },
  );
  const report = async (of: Assignment) => {
    server.assign(of);
    return await server.report(of.task);
  };
  const stream = node("stream", { args: [50] });
  const from = (made: Assignment, type: string) =>
    node(type, { args: [{ $input: 0 }] }, [{ chunk: chunkOf(made), node: "m" }]);
  expect(await report(stream)).toMatchObject({ chunk: { kind: "bytes", bytes: 500_000 } });
  expect(readdirSync(directory)).toHaveLength(1);
  const passed = from(stream, "pass");
  expect(await report(passed)).toMatchObject({
    chunk: ((await server.report(stream.task)) as Finished).chunk,
  });
  expect(await report(from(passed, "count"))).toMatchObject({ result: 500_000 });
  expect(await report(node("many", { args: [] }))).toMatchObject({ chunk: { bytes: 3_000_000 } });
  expect(await report(node("readable", { args: [] }))).toMatchObject({
    result: { $chunk: "bytes", base64: "YWI=" },
  });
  expect(await report(node("strings", { args: [] }))).toMatchObject({
    code: "result-not-serializable",
    retry: false,
  });
  expect(await report(node("breaks", { args: [] }))).toMatchObject({
    code: "exit",
    message: "exited with code 3: why",
  });
  expect(await report(node("count", { args: ["four\n"] }))).toMatchObject({ result: 5 });
  expect(await report(node("upper", { args: ["a", "b"] }))).toMatchObject({ result: { ARGS: ["A", "B"] } });
  const two = node("count", { args: [{ $input: 0 }, 1] }, [{ chunk: chunkOf(stream), node: "m" }]);
  expect(await report(two)).toMatchObject({
    code: "input-not-json",
    message: expect.stringContaining("args[0]"),
    retry: false,
  });
  expect(await report(anAssignment("many"))).toMatchObject({ type: "failed", code: "result-not-json" });
});

test("[D-07] a worker that drains gives its results to others until it leaves, and its files go with it", async () => {
  const gate = new Gate();
  const there = await side(
    { ...HANDLERS, hold: plainTask(() => gate.opened) },
    { data: { memoryBytes: 1_000 } },
  );
  const here = await side(HANDLERS);
  const made = node("make", { args: [LARGE], inputs: {} });
  there.server.assign(made, node("hold", { args: [] }));
  const input = await heldBy(there, made);
  there.worker.drain();
  await there.server.hears("drain");
  const length = node("length", { args: [{ $input: 0 }] }, [input]);
  here.server.assign(length);
  expect(await here.server.report(length.task)).toMatchObject({ result: LARGE });
  gate.open();
  await there.ended;
  expect(readdirSync(directory)).toEqual([]);
  const late = node("length", { args: [{ $input: 0 }] }, [{ ...input, chunk: `${randomUUID()}:1` }]);
  here.server.assign(late);
  expect(await here.server.report(late.task)).toMatchObject({ code: "input-missing" });
});

test("[D-11] a result that fits neither into memory nor on the disk fails its attempt, which may be tried again", async () => {
  const blocked = join(directory, "a-file");
  writeFileSync(blocked, "");
  const { server } = await side(HANDLERS, { data: { memoryBytes: 100_000, spillDirectory: blocked } });
  const [small, large, again] = [10_000, LARGE, LARGE].map((length) => node("make", { args: [length] }));
  const report = async (of: Assignment | undefined) => {
    server.assign(of as Assignment);
    return await server.report((of as Assignment).task);
  };
  expect(await report(small)).toMatchObject({ type: "finished" });
  const failed = await report(large);
  expect(failed).toMatchObject({
    type: "failed",
    code: "spill-failed",
    message: expect.stringContaining("--spill-dir"),
  });
  expect(failed).not.toHaveProperty("retry");
  rmSync(blocked);
  expect(await report(again)).toMatchObject({ type: "finished", chunk: { bytes: LARGE } });
  const length = node("length", { args: [{ $input: 0 }] }, [
    { chunk: chunkOf(small as Assignment), node: "small" },
  ]);
  expect(await report(length)).toMatchObject({ result: 10_000 });
});
