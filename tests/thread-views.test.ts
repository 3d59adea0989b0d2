// What can be seen of all threads of a runtime.

import { afterEach, describe, expect, test } from "vitest";
import {
  type Budget,
  type FiberView,
  type Handle,
  Runtime,
  type RuntimeOptions,
  type Slice,
  type Steal,
  type TraceEvent,
} from "../dist/runtime/index.js";
import * as work from "./channel-work.mjs";
import { dozing, tree } from "./replay-work.mjs";

const PLENTY: Budget = { ops: 1e12, memory: 1e12, spawnCount: 1e9, channelOps: 1e9, syscalls: 1e9 };

let rt: Runtime;
async function start(options: RuntimeOptions = {}): Promise<void> {
  rt = await Runtime.start({ processors: 3, ...options });
}
afterEach(() => rt.close());

/** Spawns, and holds this thread until another one has stolen that. */
function elsewhere<T>(spawn: () => Handle<T>): Handle<T> {
  const before = rt.counters().steals;
  const handle = spawn();
  const untilMs = performance.now() + 30_000;
  while (rt.counters().steals === before)
    if (performance.now() > untilMs) throw new Error("no thread has stolen it within 30 s");
  return handle;
}

async function until(holds: () => boolean): Promise<void> {
  const untilMs = performance.now() + 30_000;
  while (!holds()) {
    if (performance.now() > untilMs) throw new Error("it did not come to that within 30 s");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const flat = (fibers: readonly FiberView[]): FiberView[] =>
  fibers.flatMap((fiber) => [fiber, ...fiber.nurseries.flatMap(({ children }) => flat(children))]);

test("[SCHED:6.3.1] a snapshot has the fibers of all threads in the tree of nurseries, each once", async () => {
  await start();
  const channel = rt.channel<number>({ name: "gate" });
  const launched = rt.launch(PLENTY, undefined, function* (n) {
    const handles = [1, 2].map(() =>
      elsewhere(() => n.spawn(work.waitWithChild, [channel], { budget: { channelOps: 9, spawnCount: 1 } })),
    );
    // While it is there the others may yet go on; without it they would be ended as a deadlock.
    n.spawn(dozing, [60_000]);
    for (const handle of handles) yield* handle.join();
  });
  let seen = rt.snapshot();
  await until(() => {
    seen = rt.snapshot();
    return seen.fibers.Blocked === 6 && seen.silent.length === 0;
  });
  const { roots, fibers, processors, silent } = seen;
  expect(fibers).toMatchObject({ Blocked: 6, Ready: 0, Running: 0 });
  expect([processors.map(({ id }) => id), silent]).toEqual([[0, 1, 2], []]);
  const all = flat(roots);
  expect(new Set(all.map(({ id }) => id)).size).toBe(6);
  expect(all.filter(({ waitsFor }) => waitsFor === "a value in channel gate")).toHaveLength(2);
  expect(all.some(({ processor }) => processor > 0)).toBe(true);
  channel.close();
  expect((await launched.outcome).kind).toBe("child failed");
  expect(Object.values(rt.snapshot().fibers).every((count) => count === 0)).toBe(true);
});

test("a snapshot says who does not answer", async () => {
  await start({ processors: 2 });
  const words = new Int32Array(new SharedArrayBuffer(4));
  const { outcome } = rt.launch(PLENTY, undefined, function* (n) {
    yield* elsewhere(() => n.spawn(work.spin, [words])).join();
  });
  await until(() => Atomics.load(words, 0) === 1);
  expect(rt.snapshot().silent).toEqual([1]);
  Atomics.store(words, 0, 2);
  expect((await outcome).kind).toBe("success");
});

test("counters, slices and steals of all threads are told, and each fiber is counted once", async () => {
  const slices: Slice[] = [];
  const steals: Steal[] = [];
  const ended: number[] = [];
  const observer = {
    ran: (slice: Slice) => slices.push(slice),
    stole: (steal: Steal) => steals.push(steal),
    moved: (fiber: number, _from: number, to: number) => {
      if (to === 4) ended.push(fiber);
    },
  };
  await start({ observer, trace: true });
  const leaves = await rt.nursery(PLENTY, undefined, function* (n) {
    const budget = { ops: 1e9, spawnCount: 1_000 };
    const handle = elsewhere(() => n.spawn(tree, [7], { budget }));
    return yield* handle.join();
  });
  expect(leaves).toBe(128);
  await until(
    () => rt.trace().traceEvents.length > 0 && ended.length === 256 && rt.counters().completed === 256,
  );
  const trace = rt.trace();
  // The root, and a tree of 255.
  expect(rt.counters()).toMatchObject({ spawned: 256, completed: 256, cancelled: 0, slices: slices.length });
  expect(ended.length).toBe(256);
  expect(new Set(ended).size).toBe(256);
  expect(steals.length).toBe(rt.counters().steals);
  expect(steals.every(({ thief, victim }) => thief !== victim)).toBe(true);
  const ran = new Set(slices.map(({ fiber }) => fiber));
  expect(steals.every(({ fiber }) => ran.has(fiber))).toBe(true);
  expect(new Set(slices.map(({ processor }) => processor)).size).toBeGreaterThan(1);
  checkTrace(
    JSON.parse(JSON.stringify(trace)) as { traceEvents: TraceEvent[] },
    slices.length + steals.length,
  );
});

/** As the trace event format has it: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU */
function checkTrace({ traceEvents }: { traceEvents: TraceEvent[] }, wanted: number): void {
  const named = traceEvents.filter(({ ph }) => ph === "M");
  expect(traceEvents.length - named.length).toBe(wanted);
  for (const event of traceEvents) {
    expect(event).toMatchObject({ name: expect.any(String), cat: expect.any(String), pid: 1 });
    expect(Number.isInteger(event.tid) && event.ts >= 0 && Number.isFinite(event.ts)).toBe(true);
    if (event.ph === "X") expect(event.dur).toBeGreaterThanOrEqual(0);
    else if (event.ph === "i") expect(event.s).toBe("t");
    else
      expect(event).toMatchObject({ ph: "M", name: "thread_name", args: { name: `processor ${event.tid}` } });
  }
  const tids = new Set(traceEvents.map(({ tid }) => tid));
  expect(named.map(({ tid }) => tid)).toEqual([...tids].toSorted((a, b) => a - b));
}

describe("when no thread can go on", () => {
  test("it is a deadlock, and says who waits for what on which thread", async () => {
    await start();
    const [here, there] = [rt.channel<number>({ name: "here" }), rt.channel<number>({ name: "there" })];
    const { outcome } = rt.launch(PLENTY, undefined, function* (n) {
      elsewhere(() => n.spawn(work.waitWithChild, [there], { budget: { channelOps: 9, spawnCount: 1 } }));
      yield* here.recv();
    });
    const ended = (await outcome) as { kind: string; error: { code: string; waits: string[] } };
    expect([ended.kind, ended.error.code]).toEqual(["child failed", "Deadlock"]);
    const waits = ended.error.waits.join("; ");
    expect(waits).toMatch(/fiber \d+ waits for a value in channel here/);
    expect(waits).toMatch(/fiber \d+ waits for a value in channel there/);
    expect(waits).toMatch(/waits for the end of fiber \d+/);
  });

  test("who ran out of budget on another thread is told so", async () => {
    await start({ profile: "cluster" });
    const channel = rt.channel<number>();
    const { outcome } = rt.launch(PLENTY, undefined, function* (n) {
      n.spawn(function* () {
        yield* n.exhausted();
        yield* channel.recv();
      }, []);
      yield* elsewhere(() => n.spawn(tree, [3], { budget: { ops: 20, spawnCount: 20 } })).join();
    });
    expect(await outcome).toMatchObject({ kind: "budget exceeded", error: { component: "ops" } });
  });

  test("it is none where a timer or somebody outside will have them go on", async () => {
    await start();
    const channel = rt.channel<number>();
    const launched = rt.launch(PLENTY, undefined, function* (n) {
      const handle = elsewhere(() => n.spawn(work.receiveAll, [channel], { budget: { channelOps: 9 } }));
      n.spawn(dozing, [300]);
      yield* n.spawn(dozing, [100]).join();
      yield* channel.send(1);
      channel.close();
      return yield* handle.join();
    });
    expect(await launched.result).toEqual([1]);
  });
});
