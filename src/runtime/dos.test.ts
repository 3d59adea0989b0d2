// What a fiber can do to the others: take its own budget, and no more than its turn.

import { describe, expect, test } from "vitest";
import { type Fiber, type Nursery, Runtime, type RuntimeOptions, type Steps, sleep } from "./index.ts";

const MODES: [string, RuntimeOptions][] = [
  ["live", { processors: 1 }],
  ["deterministic", { deterministic: true, processors: 1 }],
];

type Attack = (fiber: Fiber, rt: Runtime) => Steps<unknown>;

function* bomb(fiber: Fiber): Steps<void> {
  yield* fiber.nursery(undefined, undefined, function* (n) {
    for (;;) {
      n.spawn(bomb, [], { budget: { spawnCount: Math.floor(n.pool.spawnCount / 2) } });
      yield;
    }
  });
}

const ATTACKS: [string, string, Attack][] = [
  ["a fork bomb", "SpawnBudgetExhausted", bomb],
  [
    "an endless loop with yields",
    "OpsBudgetExhausted",
    function* () {
      for (;;) yield;
    },
  ],
  [
    "an endless loop that is charged",
    "OpsBudgetExhausted",
    function* (fiber) {
      for (;;) if (fiber.loop()) yield;
    },
  ],
  [
    "an endless loop that is charged and never yields",
    "OpsBudgetExhausted",
    function* (fiber) {
      yield;
      for (;;) fiber.loop(100);
    },
  ],
  [
    "a channel flood",
    "ChannelBudgetExhausted",
    function* (_fiber, rt) {
      const channel = rt.channel<number>(1_000_000);
      for (;;) yield* channel.send(1);
    },
  ],
  [
    "a memory hog",
    "MemoryBudgetExhausted",
    function* (fiber) {
      for (;;) yield* fiber.alloc(100_000);
    },
  ],
  [
    "an endless loop of what costs nothing and never waits",
    "OpsBudgetExhausted",
    function* (fiber) {
      yield* fiber.nursery({ spawnCount: 1 }, undefined, function* (n) {
        const done = n.spawn(() => 0, []);
        for (;;) yield* done.join();
      });
    },
  ],
  [
    "system calls without end",
    "SyscallBudgetExhausted",
    function* (fiber) {
      for (;;) yield* fiber.syscall("files", () => 0);
    },
  ],
];

describe.each(MODES)("%s: ", (_name, options) => {
  test.each(ATTACKS)(
    "[R-04] [SCHED:1.1.1] [SCHED:15.1.1] %s is stopped by its budget with %s, and a sibling has its turns",
    async (_attack, code, attack) => {
      await using rt = await Runtime.start(options);
      let gap = 0;
      const ended = await rt.nursery(
        { ops: 1_000_000, spawnCount: 1_000, channelOps: 10_000 },
        undefined,
        function* (n, fiber) {
          const sibling = n.spawn(
            function* () {
              let before = rt.snapshot({ fibers: 0 }).budget.spent.ops;
              for (;;) {
                yield* sleep(0);
                const { ops } = rt.snapshot({ fibers: 0 }).budget.spent;
                gap = Math.max(gap, ops - before);
                before = ops;
              }
            },
            [],
            { budget: { ops: 10_000 } },
          );
          const failed = yield* contained(fiber, function* (inner) {
            yield* inner
              .spawn((child) => attack(child, rt), [], {
                budget: { ops: 20_000, spawnCount: 64, channelOps: 500 },
              })
              .join();
          });
          sibling.cancel();
          return failed;
        },
      );
      expect(ended).toBe(code);
      // One slice of the attacker, overdrawn by an interval at most, between two of the sibling's; a bomb has many slices.
      expect(gap).toBeLessThanOrEqual(22 * 1_024);
      expect(rt.snapshot().roots).toEqual([]);
    },
  );
});

test.each([
  ["deterministic", 100_000],
  ["live", 1_000_000],
] as const)(
  "[R-04] [R-18] [SCHED:13.2.1] %s: %i children are all run, or all cancelled, and nothing remains",
  async (mode, children) => {
    await using rt = await Runtime.start({ deterministic: mode === "deterministic", processors: 1 });
    let ran = 0;
    const count = () => ran++;
    const none: [] = [];
    const budget = { ops: 20_000_000_000, spawnCount: children };
    await rt.nursery(budget, undefined, function* (n) {
      for (let i = 0; i < children; i++) n.spawn(count, none);
      yield;
    });
    expect(ran).toBe(children);
    const { outcome } = rt.launch({ ...budget, spawnCount: 100_000 }, undefined, function* (n) {
      yield;
      for (;;) n.spawn(count, none);
    });
    expect(await outcome).toMatchObject({ kind: "budget exceeded", error: { code: "SpawnBudgetExhausted" } });
    expect(rt.counters()).toMatchObject({ spawned: children + 100_002, cancelled: 100_000 });
    expect(rt.snapshot()).toMatchObject({ roots: [], budget: { held: { ops: 0 } } });
  },
);

function* contained(fiber: Fiber, body: (n: Nursery) => Steps<void>): Steps<string> {
  try {
    yield* fiber.nursery({ ops: 100_000, spawnCount: 100, channelOps: 1_000, syscalls: 50 }, undefined, body);
    return "nothing stopped it";
  } catch (error) {
    return (error as { code: string }).code;
  }
}
