import { expect, test } from "vitest";
import {
  type Fiber,
  Runtime,
  type RuntimeOptions,
  type Steal,
  type Steps,
  sleep,
  type Victims,
  wait,
} from "./index.ts";

function opsFor(depth: number): number {
  return Math.ceil(1_000 * 2.1 ** depth);
}

/** A tree of fibers whose leaves take 200 ops each. */
function* tree(fiber: Fiber, depth: number): Steps<number> {
  if (depth === 0) {
    for (let i = 0; i < 4; i++) if (fiber.loop(50)) yield;
    return 1;
  }
  return yield* fiber.nursery(undefined, undefined, function* (n) {
    const budget = { ops: opsFor(depth - 1), spawnCount: 2 ** depth - 2 };
    const left = n.spawn(tree, [depth - 1], { budget });
    const right = n.spawn(tree, [depth - 1], { budget });
    return (yield* left.join()) + (yield* right.join());
  });
}

async function runTree(depth: number, options: RuntimeOptions) {
  await using rt = await Runtime.start({ deterministic: true, ...options });
  const leaves = await rt.nursery(
    { ops: 1e12, memory: 1e9, spawnCount: 2 ** (depth + 1) },
    undefined,
    function* (n) {
      const budget = { ops: opsFor(depth), spawnCount: 2 ** (depth + 1) - 2 };
      return yield* n.spawn(tree, [depth], { budget }).join();
    },
  );
  expect(leaves).toBe(2 ** depth);
  return { hash: rt.traceHash, makespan: rt.makespan ?? 0, counters: rt.counters() };
}

test("[R-11] [SCHED:9.1.1] [SCHED:9.2.1] [SCHED:9.3.1] [SCHED:2.7.2] the same program, seed, processors and budgets run in the same order", async () => {
  const hashes = new Map<string, number | undefined>();
  for (const processors of [1, 2, 8, 64])
    for (const seed of [1, 2, 3]) {
      const first = await runTree(8, { processors, seed });
      const again = await runTree(8, { processors, seed });
      expect(again).toEqual(first);
      hashes.set(`${processors} ${seed}`, first.hash);
    }
  // With one processor there is nobody to steal from, and so no use for a seed.
  expect(new Set([...hashes].filter(([key]) => key.startsWith("1 ")).map(([, hash]) => hash)).size).toBe(1);
  expect(new Set([...hashes].filter(([key]) => key.startsWith("8 ")).map(([, hash]) => hash)).size).toBe(3);
});

test("[R-11] a hash of the order is the same on every machine and version", async () => {
  const { hash, makespan } = await runTree(6, { processors: 4, seed: 42 });
  expect({ hash, makespan }).toMatchInlineSnapshot(`
    {
      "hash": 1702745670,
      "makespan": 3262,
    }
  `);
});

test("[R-11] promises that settle in any order are taken in the order in which they were waited for", async () => {
  const run = async (delays: readonly number[]) => {
    await using rt = await Runtime.start({ deterministic: true, processors: 2, seed: 5 });
    const order: number[] = [];
    await rt.nursery(undefined, undefined, function* (n) {
      for (const [i, delay] of delays.entries())
        n.spawn(function* () {
          yield* wait(new Promise((resolve) => setTimeout(resolve, delay)));
          order.push(i);
          yield* sleep(1);
        }, []);
      yield;
    });
    return { order, hash: rt.traceHash };
  };
  expect(await run([1, 5, 20])).toEqual(await run([20, 5, 1]));
});

test("[R-11] a promise that never settles does not keep a time-out from passing", async () => {
  await using rt = await Runtime.start({ deterministic: true, processors: 1, patienceMs: 10 });
  const run = rt.nursery(
    undefined,
    undefined,
    function* () {
      yield* wait(new Promise(() => undefined));
    },
    { timeoutMs: 1_000_000 },
  );
  await expect(run).rejects.toMatchObject({ code: "NurseryTimedOut" });
  expect(rt.nowMs()).toBeCloseTo(1_000_000, 1);
});

test("[R-11] what fibers see of time and randomness is the same again", async () => {
  const run = async (seed: number) => {
    await using rt = await Runtime.start({ deterministic: true, processors: 3, seed });
    return await rt.nursery(undefined, undefined, function* (_n, fiber) {
      yield* sleep(3);
      return [yield* fiber.time(), yield* fiber.random(), yield* fiber.random()];
    });
  };
  expect(await run(1)).toEqual(await run(1));
  expect(await run(1)).not.toEqual(await run(2));
});

test.each([
  [2, 10],
  [8, 11],
  [64, 13],
  [256, 14],
])(
  "[R-11] [R-18] [SCHED:13.2.1] %i simulated processors are at least 0.95 times as many times as fast",
  async (processors, depth) => {
    const one = await runTree(depth, { processors: 1 });
    const many = await runTree(depth, { processors });
    expect(one.makespan / many.makespan).toBeGreaterThanOrEqual(0.95 * processors);
  },
);

test.each(["random", "round-robin", "least-loaded"] as Victims[])(
  "[R-10] [SCHED:7.3.1] [SCHED:7.3.2] victims: %s finds work",
  async (victims) => {
    const { makespan, counters } = await runTree(10, { processors: 8, victims });
    expect(counters.steals).toBeGreaterThan(7);
    expect((await runTree(10, { processors: 1 })).makespan / makespan).toBeGreaterThan(6);
  },
);

test("[R-10] [SCHED:7.2.1] [SCHED:7.4.1] [SCHED:7.4.2] an idle processor tries at most four others at a time, and parks rather than trying on", async () => {
  const attempts: number[] = [];
  await using rt = await Runtime.start({ deterministic: true, processors: 16 });
  await rt.nursery({ ops: 100_000, spawnCount: 1 }, undefined, function* (_n, fiber) {
    for (let i = 0; i < 20; i++) {
      fiber.loop(1_000);
      attempts.push(rt.counters().failedSteals);
      yield;
    }
  });
  expect(attempts.at(-1)).toBeLessThanOrEqual(4 * 15);
});

test("[R-10] [SCHED:7.2.1] without stealing the one processor runs all", async () => {
  const alone = await runTree(8, { processors: 8, stealing: false });
  expect(alone.counters).toMatchObject({ steals: 0, failedSteals: 0 });
  expect(alone.makespan).toBe((await runTree(8, { processors: 1 })).makespan);
});

test("[R-09] [SCHED:6.3.1] [SCHED:7.1.1] the owner takes the newest, thieves the oldest, and only what has not started moves", async () => {
  const steals: Steal[] = [];
  const started = new Map<number, number[]>();
  const observer = {
    stole: (steal: Steal) => steals.push(steal),
    ran: ({ fiber, processor }: { fiber: number; processor: number }) => {
      started.set(fiber, [...(started.get(fiber) ?? []), processor]);
    },
  };
  await using rt = await Runtime.start({ deterministic: true, processors: 2, observer });
  const order: number[] = [];
  await rt.nursery({ ops: 1_000_000, spawnCount: 100 }, undefined, function* (n) {
    for (let i = 0; i < 20; i++)
      n.spawn(
        function* (fiber) {
          order.push(i);
          for (let step = 0; step < 5; step++) {
            fiber.loop(100);
            yield;
          }
        },
        [],
        { budget: { ops: 5_000 } },
      );
    yield;
  });
  expect(steals.length).toBeGreaterThan(0);
  for (const [fiber, processors] of started) expect(new Set(processors).size, `fiber ${fiber}`).toBe(1);
  const stolen = steals.map(({ fiber }) => fiber);
  expect(stolen).toEqual([...stolen].sort((a, b) => a - b));
  const kept = order.filter((i) => !stolen.includes(i + 1));
  expect(kept).toEqual([...kept].sort((a, b) => b - a));
});
