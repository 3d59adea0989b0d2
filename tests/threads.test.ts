// Real threads: the runtime as it was built, because a thread cannot load TypeScript.

import { availableParallelism } from "node:os";
import { setEnvironmentData } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type Budget,
  type Handle,
  type Nursery,
  Runtime,
  type RuntimeOptions,
  sleep,
  wait,
} from "../dist/runtime/index.js";
import { parent } from "./channel-work.mjs";
import * as work from "./thread-work.mjs";

const PLENTY: Budget = {
  ops: 1e12,
  memory: 1e12,
  spawnCount: 1e9,
  channelOps: 1e9,
  syscalls: 1e9,
};

let words: Int32Array;
let rt: Runtime;

async function start(options: RuntimeOptions = {}): Promise<void> {
  rt = await Runtime.start({ processors: 3, ...options });
}

beforeEach(() => {
  words = new Int32Array(new SharedArrayBuffer(4 * 200_000));
  setEnvironmentData("words", words);
});
afterEach(() => rt.close());

const stolenSoFar = (): number => rt.counters().steals;

/** Spawns, and holds this thread until another one has stolen that. */
function elsewhere<T>(spawn: () => Handle<T>): Handle<T> {
  const before = stolenSoFar();
  const handle = spawn();
  const untilMs = performance.now() + 30_000;
  while (stolenSoFar() === before)
    if (performance.now() > untilMs) throw new Error("no thread has stolen it within 30 s");
  return handle;
}

/** Waits for a fiber of another thread to add to a word. */
function counted(word: number, times: number): void {
  const untilMs = performance.now() + 30_000;
  while (Atomics.load(words, word) < times)
    if (performance.now() > untilMs) throw new Error(`word ${word} did not become ${times} within 30 s`);
}

/** Runs one function on another thread, and gives how that ended. */
function outcomeOf(spawn: (nursery: Nursery) => Handle<unknown>) {
  return rt.launch(PLENTY, undefined, function* (nursery) {
    return yield* elsewhere(() => spawn(nursery)).join();
  }).outcome;
}

describe("[R-08] [R-09] [SCHED:6.3.1] fibers of portable functions", () => {
  test("are run by other threads, and what they did not use comes home", async () => {
    await start();
    const [thread, before, after] = await rt.nursery(PLENTY, undefined, function* (nursery) {
      const { ops } = nursery.pool;
      const handle = elsewhere(() => nursery.spawn(work.count, [100], { budget: { ops: 1_000 } }));
      return [yield* handle.join(), ops, nursery.pool.ops] as const;
    });
    expect(thread).not.toBe(0);
    // A hundred iterations there, and what the body took of the pool for itself.
    expect(before - after).toBeGreaterThanOrEqual(100);
    expect(before - after).toBeLessThan(300);
  });

  test.each([
    ["numbers", [0, -0, 1.5, -7, Number.NaN, 2 ** 31, Number.NEGATIVE_INFINITY]],
    ["texts and the like", ["", "a", "häß 😀", null, undefined, true, false]],
    ["what is too long for a record", ["x".repeat(1_000), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]],
    ["objects", [{ a: [1, { b: new Map([[1, "one"]]) }] }, new Date(0), 10n]],
  ])("are given copies of %s", async (_name, values) => {
    await start();
    const outcome = await outcomeOf((nursery) => nursery.spawn(work.echo, values));
    expect(outcome).toMatchObject({ kind: "success", value: { values } });
    expect((outcome as unknown as { value: { thread: number } }).value.thread).not.toBe(0);
  });

  test("share memory that they are given", async () => {
    await start();
    const memory = new Int32Array(new SharedArrayBuffer(16));
    const outcome = await outcomeOf((nursery) => nursery.spawn(work.same, [memory]));
    Atomics.store((outcome as unknown as { value: Int32Array }).value, 2, 7);
    expect(memory[2]).toBe(7);
  });

  test("stay at home where their arguments cannot be copied", async () => {
    await start();
    const fn = () => 1;
    expect(await outcomeOf((nursery) => nursery.spawn(work.echo, [fn]))).toMatchObject({
      kind: "success",
      value: { values: [fn], thread: 0 },
    });
  });

  test("fail with what they threw, with its class, code and cause", async () => {
    await start();
    const outcome = await outcomeOf((nursery) => nursery.spawn(work.throwing, ["oops"]));
    expect(outcome.kind).toBe("child failed");
    const { error } = outcome as { error: Error & { code: string } };
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ message: "oops", code: "E_TOO_FAR", cause: { message: "too far" } });
    expect(error.cause).toBeInstanceOf(RangeError);
  });

  test.each([
    ["give what cannot be copied", work.giving, "structured-clonable"],
    ["are not exported under their name", work.unknown, "exports no function isNotExported"],
  ])("fail where they %s", async (_name, fn, message) => {
    await start();
    expect(await outcomeOf((nursery) => nursery.spawn(fn as typeof work.giving, []))).toMatchObject({
      kind: "child failed",
      error: { code: "InvalidArgument", message: expect.stringContaining(message) },
    });
  });

  test("spawn others there, that are stolen as well", async () => {
    await start();
    const leaves = await rt.nursery(PLENTY, undefined, function* (nursery) {
      return yield* nursery.spawn(work.tree, [12], { budget: { ops: 1e9, spawnCount: 1e5 } }).join();
    });
    expect(leaves).toBe(4_096);
  });
});

describe("budgets and capabilities on other threads", () => {
  test("[R-04] who runs out fails if nobody recharges it", async () => {
    await start();
    const budget = { ops: 1_000 };
    expect(await outcomeOf((nursery) => nursery.spawn(work.countOn, [5_000], { budget }))).toMatchObject({
      kind: "budget exceeded",
      error: { code: "OpsBudgetExhausted", component: "ops" },
    });
  });

  test("[R-04] who runs out is recharged by the nursery where it was spawned", async () => {
    await start();
    const asked: string[] = [];
    const { outcome } = rt.launch(
      PLENTY,
      undefined,
      function* (nursery) {
        const before = nursery.pool.ops;
        const spawn = () => nursery.spawn(work.countOn, [5_000], { budget: { ops: 1_000 } });
        const thread = yield* elsewhere(spawn).join();
        return { thread, spent: before - nursery.pool.ops };
      },
      {
        onExhausted: ({ component }) => {
          asked.push(component);
          return { ops: 1_000 };
        },
      },
    );
    const ended = (await outcome) as { value: { thread: number; spent: number } };
    expect(ended.value.thread).not.toBe(0);
    expect(asked).toEqual(["ops", "ops", "ops", "ops"]);
    expect(ended.value.spent).toBeGreaterThanOrEqual(5_000);
    expect(ended.value.spent).toBeLessThan(5_200);
  });

  test("[R-05] who holds no capability to spawn cannot do it there either, nor who holds one that was revoked", async () => {
    await start({ profile: "sovereign" });
    const spawn = rt.grant.spawn({ delegable: true });
    const run = (caps: { spawn?: typeof spawn }) =>
      rt.launch(PLENTY, { spawn }, function* (nursery) {
        const budget = { spawnCount: 1 };
        return yield* elsewhere(() => nursery.spawn(work.spawning, [], { budget, caps })).join();
      }).outcome;
    expect(await run({})).toMatchObject({ error: { code: "CapabilityDenied" } });
    const child = spawn.attenuate({ delegable: true });
    expect(await run({ spawn: child })).toMatchObject({ kind: "success" });
    const { outcome } = rt.launch(PLENTY, { spawn }, function* (nursery) {
      const options = { budget: { spawnCount: 1 }, caps: { spawn: child } };
      const handle = elsewhere(() => nursery.spawn(work.spawningLater, [], options));
      counted(0, 1);
      child.revoke();
      Atomics.store(words, 1, 1);
      return yield* handle.join();
    });
    expect(await outcome).toMatchObject({
      error: { code: "CapabilityDenied", message: expect.stringContaining("revoked") },
    });
  });
});

describe("[R-13] cancelling", () => {
  test("reaches fibers that run elsewhere, and waits for their finally blocks", async () => {
    await start();
    const finals = await rt.nursery(PLENTY, undefined, function* (nursery) {
      const handle = elsewhere(() => nursery.spawn(work.lingering, []));
      counted(0, 1);
      handle.cancel();
      try {
        return yield* handle.join();
      } catch (error) {
        return { code: (error as { code: string }).code, finals: Atomics.load(words, 1) };
      }
    });
    expect(finals).toEqual({ code: "FiberCancelled", finals: 1 });
  });

  test("a nursery that takes too long ends those elsewhere, and closing the runtime all", async () => {
    await start();
    let begun = 0;
    const body = function* (nursery: Nursery) {
      const handle = elsewhere(() => nursery.spawn(work.lingering, []));
      counted(0, ++begun);
      yield* handle.join();
    };
    await expect(rt.nursery(PLENTY, undefined, body, { timeoutMs: 50 })).rejects.toMatchObject({
      code: "NurseryTimedOut",
    });
    expect(Atomics.load(words, 1)).toBe(1);
    const { outcome } = rt.launch(PLENTY, undefined, body);
    while (begun < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.all([rt.close(), rt.close()]);
    await rt.close();
    expect((await outcome).kind).toBe("cancelled");
    expect(Atomics.load(words, 1)).toBe(2);
  });
});

describe("[R-17] [SCHED:14.1.1] a thread that dies", () => {
  test.each([
    ["exit", "it ended with code 3"],
    ["timer", "thrown by a timer"],
    ["memory", "memory"],
  ])("by %s fails its fibers, is replaced, and the rest goes on", async (how, message) => {
    await start({ processors: 2, threadHeapMb: 64 });
    const other = rt.launch(PLENTY, undefined, function* (nursery) {
      while (Atomics.load(words, 3) === 0) yield* nursery.spawn(work.count, [1], { priority: "high" }).join();
      return "went on";
    });
    expect(await outcomeOf((nursery) => nursery.spawn(work.failing, [how]))).toMatchObject({
      kind: "panic",
      error: { code: "WorkerPanic", message: expect.stringContaining(message) },
    });
    Atomics.store(words, 3, 1);
    expect(await other.result).toBe("went on");
    expect(await outcomeOf((nursery) => nursery.spawn(work.count, [1]))).toMatchObject({ kind: "success" });
  });

  test("takes what others had stolen from it with it, and leaves nothing behind", async () => {
    await start({ processors: 3 });
    expect(
      await outcomeOf((nursery) => nursery.spawn(work.dyingParent, [], { budget: { spawnCount: 1 } })),
    ).toMatchObject({
      kind: "panic",
      error: { code: "WorkerPanic" },
    });
    // The child's `finally` runs, wherever it was.
    while (Atomics.load(words, 1) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });
});

test("[R-10] [SCHED:7.2.1] [SCHED:7.3.1] every choice of victims finds what there is, and stealing can be switched off", async () => {
  for (const victims of ["random", "round-robin", "least-loaded"] as const) {
    await start({ victims });
    expect(await outcomeOf((nursery) => nursery.spawn(work.count, [1]))).toMatchObject({ kind: "success" });
    await rt.close();
  }
  await start({ stealing: false });
  const threads = await rt.nursery(PLENTY, undefined, function* (nursery) {
    const handles = Array.from({ length: 100 }, () => nursery.spawn(work.count, [10]));
    const found = new Set<number>();
    for (const handle of handles) found.add(yield* handle.join());
    return [...found];
  });
  expect(threads).toEqual([0]);
  expect(stolenSoFar()).toBe(0);
});

test("[R-09] [SCHED:7.1.2] of 200,000 fibers that several threads steal from each other, each runs once", async () => {
  await start({ processors: 4 });
  const total = 200_000;
  const width = 1_000;
  await rt.nursery(PLENTY, undefined, function* (nursery) {
    const budget = { ops: 1e6, spawnCount: width };
    const groups = Array.from({ length: total / width }, (_, group) =>
      nursery.spawn(work.markingMany, [group * width, width], { budget }),
    );
    for (const group of groups) yield* group.join();
  });
  const wrong = words.reduce((sum, times) => sum + (times === 1 ? 0 : 1), 0);
  expect(wrong).toBe(0);
  expect(stolenSoFar()).toBeGreaterThan(0);
});

/** What a program of a random kind comes to; whatever it is, nothing of it may be left. */
function anything(draw: () => number): Promise<{ kind: string }> {
  const kind = draw();
  const kept = draw() < 0.5;
  const launched = rt.launch(
    { ops: 1e9, memory: 1e9, spawnCount: 1e5, channelOps: 1e4, syscalls: 1e4 },
    undefined,
    function* (nursery) {
      const handles: Handle<unknown>[] = [];
      const budget = { ops: 1e7, spawnCount: 200 };
      for (let at = 0; at < 4; at++)
        if (kind < 0.4) handles.push(nursery.spawn(work.tree, [5], { budget }));
        else if (kind < 0.5) handles.push(nursery.spawn(work.throwing, ["oops"]));
        else if (kind < 0.6) handles.push(nursery.spawn(work.lingering, []));
        else if (kind < 0.7) handles.push(nursery.spawn(work.countOn, [3_000], { budget: { ops: 500 } }));
        else if (kind < 0.9) handles.push(nursery.spawn(work.echo, [{ at }, "y".repeat(100)]));
        else handles.push(at === 0 ? nursery.spawn(work.dying, []) : nursery.spawn(work.countOn, [9_000]));
      if (draw() < 0.3) handles[0]?.cancel();
      for (const handle of handles)
        try {
          yield* handle.join();
        } catch (error) {
          if (!kept) throw error;
        }
    },
    { timeoutMs: 20 + draw() * 300, ...(kept ? { onExhausted: () => ({ ops: 700 }) } : {}) },
  );
  if (draw() < 0.1) setTimeout(() => launched.cancel(), draw() * 50);
  return launched.outcome;
}

test("[R-17] whatever is spawned, cancelled, recharged or dies in whatever order, all of it ends", async () => {
  await start({ processors: 4 });
  let state = 20_260_216;
  const draw = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const kinds = new Set<string>();
  const some = async () => {
    for (let at = 0; at < 40; at++) kinds.add((await anything(draw)).kind);
  };
  await Promise.all([some(), some(), some(), some(), some()]);
  expect([...kinds]).toEqual(expect.arrayContaining(["success", "cancelled", "child failed"]));
  expect(Object.values(rt.snapshot().fibers).reduce((sum, fibers) => sum + fibers, 0)).toBe(0);
});

test("[R-08] two threads write to each other while the main one does something else", async () => {
  await start();
  const round = (isHeld: boolean) =>
    rt.nursery(PLENTY, undefined, function* (nursery) {
      const own = new Int32Array(new SharedArrayBuffer(8));
      const before = stolenSoFar();
      const handle = elsewhere(() => nursery.spawn(parent, [own], { budget: { spawnCount: 1 } }));
      while (Atomics.load(own, 0) === 0) yield* sleep(1);
      const untilMs = performance.now() + 30_000;
      Atomics.store(own, 0, 2);
      while (stolenSoFar() < before + 2 && performance.now() < untilMs);
      Atomics.store(own, 0, 3);
      while (isHeld && Atomics.load(own, 1) === 0 && performance.now() < untilMs);
      if (isHeld) expect(Atomics.load(own, 1)).toBe(1_000);
      yield* handle.join();
    });
  // The first letter of two threads takes the port for all further ones along, by way of the main thread.
  await round(false);
  await round(true);
});

test("[R-10] [SCHED:7.4.2] threads that have nothing to do sleep", async () => {
  await start({ processors: 8 });
  await rt.nursery(PLENTY, undefined, function* (nursery) {
    yield* nursery.spawn(work.tree, [6], { budget: { ops: 1e7, spawnCount: 200 } }).join();
  });
  await new Promise((resolve) => setTimeout(resolve, 200));
  const before = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(400);
});

test("[R-08] there are as many processors as cores, and their threads start when there is something for them", async () => {
  rt = await Runtime.start();
  const local = await rt.nursery(PLENTY, undefined, function* (nursery) {
    const handle = nursery.spawn((_fiber, value: number) => value + 1, [1]);
    yield* sleep(1);
    return yield* handle.join();
  });
  expect([local, rt.processors]).toEqual([2, []]);
  // A promise that is awaited before there are threads, and a timer.
  const outcome = await rt.nursery(PLENTY, undefined, function* (nursery) {
    const waiting = nursery.spawn(function* () {
      return yield* wait(new Promise<string>((resolve) => setTimeout(() => resolve("from before"), 50)));
    }, []);
    const sleeping = nursery.spawn(function* (fiber) {
      yield* sleep(20);
      return fiber.id;
    }, []);
    yield;
    const { id } = sleeping;
    const counting = nursery.spawn(work.countOn, [5_000]);
    expect(yield* sleeping.join()).toBe(id);
    return [yield* waiting.join(), typeof (yield* counting.join())];
  });
  expect(outcome).toEqual(["from before", "number"]);
  expect(rt.processors).toHaveLength(availableParallelism());
  if (availableParallelism() > 1)
    expect(await outcomeOf((nursery) => nursery.spawn(work.count, [1]))).toMatchObject({ kind: "success" });
});

test("bad options are refused", async () => {
  await start({ processors: 1 });
  await expect(Runtime.start({ processors: 2_000 })).rejects.toThrow("processors is 2000");
  await expect(Runtime.start({ processors: 2, threadHeapMb: 1 })).rejects.toThrow("threadHeapMb is 1");
});
