import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { COMPONENTS, readBudget, UNLIMITED } from "./budget.ts";
import {
  type Budget,
  type Component,
  type Fiber,
  Runtime,
  type RuntimeOptions,
  type Snapshot,
  type Steps,
  sleep,
  wait,
} from "./index.ts";

const MODES: [string, RuntimeOptions][] = [
  ["live", {}],
  ["deterministic", { deterministic: true, processors: 4 }],
];

function* spend(fiber: Fiber, ops: number): Steps<number> {
  for (let i = 0; i < ops; i++) if (fiber.loop()) yield;
  return ops;
}

/** What is not accounted for; all zeros, always. */
function unaccounted({
  budget: { total, reserve, held, spent, waived },
}: Snapshot): Record<Component, number> {
  const missing = COMPONENTS.map((one) => [
    one,
    reserve[one] + held[one] + spent[one] - waived[one] - total[one],
  ]);
  return Object.fromEntries(missing) as Record<Component, number>;
}

const NOTHING_MISSING = { ops: 0, memory: 0, spawnCount: 0, channelOps: 0, syscalls: 0 };
const BUDGET: Budget = {
  ops: 100_000_000,
  memory: 100_000_000,
  spawnCount: 100_000,
  channelOps: 100_000,
  syscalls: 100_000,
};

test("[R-04] [SCHED:5.1.1] [SCHED:5.1.2] budget: five whole numbers from 0 on; all else is refused by name", () => {
  expect(COMPONENTS).toEqual(["ops", "memory", "spawnCount", "channelOps", "syscalls"]);
  expect(readBudget({ ops: 5 }, { ...UNLIMITED, memory: 7 }, "budget")).toMatchObject({ ops: 5, memory: 7 });
  for (const bad of [-1, 0.5, Number.NaN, "5", null, 2 ** 60])
    expect(() => readBudget({ ops: bad as never }, UNLIMITED, "budget")).toThrow(
      `budget.ops is ${String(bad)}; it is a whole number from 0 to 9007199254740991`,
    );
  expect(() => readBudget({ spawnCount: 2 ** 32 }, UNLIMITED, "budget")).toThrow("from 0 to 4294967295");
  expect(() => readBudget({ op: 1 } as never, UNLIMITED, "budget")).toThrow("budget.op is no component");
  expect(() => readBudget(5 as never, UNLIMITED, "budget")).toThrow("budget is an object");
});

describe.each(MODES)("%s: ", (_name, options) => {
  test("[R-04] [SCHED:3.3.1] budget costs: what is charged is what the table says", async () => {
    await using rt = await Runtime.start({ ...options, budget: BUDGET });
    const channel = rt.channel<number>(1);
    await rt.nursery({ ...BUDGET, ops: 50_000 }, undefined, function* (n, fiber) {
      fiber.loop(10);
      fiber.call(5);
      yield* fiber.alloc(1_000);
      yield* n.spawn(() => 0, []).join();
      yield* channel.send(1);
      yield* channel.recv();
      yield* fiber.syscall("files", () => "read");
      yield* fiber.syscall("network", () => Promise.resolve("fetched"));
      yield* sleep(1);
      yield;
    });
    expect(rt.snapshot().budget.spent).toEqual({
      ops: 10 + 5 + 1 + 1 + 2 + 2,
      memory: 1_000,
      spawnCount: 1,
      channelOps: 2,
      syscalls: 2,
    });
  });

  test("[R-04] [SCHED:8.2.1] a child gets its default or what the pool has, and no spawns; what is unused returns", async () => {
    await using rt = await Runtime.start({ ...options, processors: 1 });
    const seen: Budget[] = [];
    await rt.nursery(
      { ops: 25_000, memory: 1_000, spawnCount: 4, channelOps: 150, syscalls: 15 },
      undefined,
      function* (n) {
        const children = [0, 1, 2].map(() => n.spawn((fiber) => fiber.loop(100), []));
        seen.push(...children.map(({ budget }) => budget), n.pool);
        for (const child of children) yield* child.join();
        seen.push(n.pool);
      },
    );
    expect(seen).toEqual([
      { ops: 10_000, memory: 1_000, spawnCount: 0, channelOps: 100, syscalls: 10 },
      { ops: 10_000, memory: 0, spawnCount: 0, channelOps: 50, syscalls: 5 },
      { ops: 4_936, memory: 0, spawnCount: 0, channelOps: 0, syscalls: 0 },
      { ops: 0, memory: 0, spawnCount: 1, channelOps: 0, syscalls: 0 },
      { ops: 24_636, memory: 1_000, spawnCount: 1, channelOps: 150, syscalls: 15 },
    ]);
  });

  test("[R-04] a child cannot be given more than the pool has", async () => {
    await using rt = await Runtime.start(options);
    const run = rt.nursery({ ops: 1_000, spawnCount: 2 }, undefined, function* (n) {
      n.spawn(spend, [1], { budget: { ops: 5_000 } });
      yield;
    });
    await expect(run).rejects.toMatchObject({
      code: "OpsBudgetExhausted",
      message: expect.stringContaining("the child is to get 5000 ops, the pool has"),
    });
    await using poor = await Runtime.start({ ...options, budget: { ops: 500 } });
    expect(() => poor.launch({ ops: 501 }, undefined, function* () {})).toThrow(
      "the runtime has 500 ops left",
    );
  });

  const asks: [Component, string, (fiber: Fiber, rt: Runtime) => Steps<void>][] = [
    ["ops", "OpsBudgetExhausted", (fiber) => spend(fiber, 20_000) as Steps<never>],
    [
      "memory",
      "MemoryBudgetExhausted",
      function* (fiber) {
        yield* fiber.alloc(2 ** 30);
      },
    ],
    [
      "channelOps",
      "ChannelBudgetExhausted",
      function* (_fiber, rt) {
        const channel = rt.channel<number>(1_000);
        for (let i = 0; i < 500; i++) yield* channel.send(i);
      },
    ],
    [
      "syscalls",
      "SyscallBudgetExhausted",
      function* (fiber) {
        for (let i = 0; i < 500; i++) yield* fiber.syscall("files", () => i);
      },
    ],
  ];
  test.each(asks)(
    "[R-04] [SCHED:5.2.1] [SCHED:5.2.2] exhaustion: who lacks %s and is recharged by nobody fails with %s",
    async (component, code, ask) => {
      await using rt = await Runtime.start(options);
      const { outcome } = rt.launch(undefined, undefined, function* (n) {
        yield* n.spawn((fiber) => ask(fiber, rt), []).join();
      });
      expect(await outcome).toMatchObject({ kind: "budget exceeded", error: { code, component } });
      expect(unaccounted(rt.snapshot())).toEqual(NOTHING_MISSING);
    },
  );

  test("[R-04] [R-17] [SCHED:14.1.1] SpawnBudgetExhausted: no spawns left, no spawn", async () => {
    await using rt = await Runtime.start(options);
    const { outcome } = rt.launch({ spawnCount: 3 }, undefined, function* (n) {
      for (;;) n.spawn(() => 0, []);
    });
    expect(await outcome).toMatchObject({ kind: "budget exceeded", error: { code: "SpawnBudgetExhausted" } });
    expect(rt.counters().spawned).toBe(4);
  });

  test("[R-04] [SCHED:3.2.3] parent recharge: an exhausted fiber waits while its nursery's body could recharge it, and goes on", async () => {
    await using rt = await Runtime.start({ ...options, processors: 1 });
    const states: string[] = [];
    const done = await rt.nursery(undefined, undefined, function* (n) {
      const child = n.spawn(spend, [25_000]);
      while (child.state !== "Completed") {
        yield* sleep(50);
        states.push(child.state);
        if (child.state === "BudgetExhausted") n.recharge(child, { ops: 10_000 });
      }
      return yield* child.join();
    });
    expect(done).toBe(25_000);
    expect(states).toContain("BudgetExhausted");
  });

  test("[R-04] [SCHED:3.2.3] parent recharge: onExhausted is asked each time, gives what there is, and an end to it is an end", async () => {
    await using rt = await Runtime.start(options);
    const asked: Component[] = [];
    const onExhausted = ({ component }: { component: Component }) => {
      asked.push(component);
      return { ops: 10_000 };
    };
    const run = (ops: number) =>
      rt.launch(
        { ops: 40_000, spawnCount: 1 },
        undefined,
        function* (n) {
          return yield* n.spawn(spend, [ops]).join();
        },
        { onExhausted },
      ).outcome;
    expect(await run(29_000)).toMatchObject({ kind: "success", value: 29_000 });
    expect(asked).toEqual(["ops", "ops"]);
    expect(await run(60_000)).toMatchObject({ kind: "budget exceeded" });
    const throwing = rt.launch(
      { spawnCount: 1 },
      undefined,
      function* (n) {
        yield* n.spawn(spend, [20_000]).join();
      },
      {
        onExhausted: () => {
          throw new Error("no");
        },
      },
    );
    expect(await throwing.outcome).toMatchObject({ kind: "panic", error: { message: "onExhausted threw" } });
  });

  test("[R-04] [R-14] [SCHED:3.2.3] [SCHED:10.2.3] supervisor recharge: in cluster a fiber watches over others and recharges them", async () => {
    await using rt = await Runtime.start({ ...options, profile: "cluster" });
    const done = await rt
      .nursery(undefined, undefined, function* (n) {
        const workers = [1, 2, 3].map(() => n.spawn(spend, [25_000]));
        n.spawn(
          function* () {
            for (;;) {
              const { fiber, component } = yield* n.exhausted();
              expect(component).toBe("ops");
              n.recharge(fiber, { ops: 10_000 });
            }
          },
          [],
          { priority: "high" },
        );
        let sum = 0;
        for (const worker of workers) sum += yield* worker.join();
        n.cancel();
        return sum;
      })
      .catch((error: { code: string }) => error.code);
    expect(done).toBe("NurseryCancelled");
    expect(rt.counters()).toMatchObject({ exhausted: 6, recharged: 6, completed: 4 });
    await using service = await Runtime.start(options);
    const refused = service.nursery(undefined, undefined, function* (n) {
      yield* n.exhausted();
    });
    await expect(refused).rejects.toThrow("fibers supervise in the profiles cluster and sovereign");
  });

  test("[R-04] [SCHED:3.2.3] capability grant: a CapBudget recharges its holder out of the pool, up to its limit", async () => {
    await using rt = await Runtime.start(options);
    const cap = rt.grant.budget({ ops: 15_000, memory: 0 }, { delegable: true });
    const caps = { spawn: rt.grant.spawn(), budget: cap };
    const run = (ops: number) =>
      rt.launch(undefined, caps, function* (n) {
        return yield* n.spawn(spend, [ops], { caps: { budget: cap.attenuate({ ops: 12_000 }) } }).join();
      }).outcome;
    expect(await run(21_000)).toMatchObject({ kind: "success", value: 21_000 });
    expect(await run(21_000)).toMatchObject({ kind: "budget exceeded" });
    const byHand = rt.nursery(undefined, caps, function* (n) {
      return yield* n
        .spawn(
          function* (fiber) {
            yield;
            const own = fiber.capabilities.budget;
            if (own === undefined) throw new Error("it holds one");
            return [fiber.recharge(own, { ops: 500 }), fiber.recharge(own, { memory: 1 }), fiber.budget.ops];
          },
          [],
          { caps: { budget: rt.grant.budget({ ops: 500 }) } },
        )
        .join();
    });
    await expect(byHand).rejects.toMatchObject({ code: "CapabilityDenied" });
  });

  test("[R-04] recharge from outside: a root that was told to wait waits, and goes on when the host recharges it", async () => {
    await using rt = await Runtime.start(options);
    const launched = rt.launch(
      { ops: 5_000, spawnCount: 1 },
      undefined,
      function* (n, fiber) {
        const child = yield* n.spawn(spend, [8_000]).join();
        return child + (yield* spend(fiber, 8_000));
      },
      { onExhausted: () => "wait" },
    );
    const timer = setInterval(() => launched.recharge({ ops: 6_000 }), 5);
    expect(await launched.result).toBe(16_000);
    clearInterval(timer);
    expect(() => launched.recharge({ ops: 1 })).toThrow("it is over");
    expect(unaccounted(rt.snapshot())).toEqual(NOTHING_MISSING);
  });

  test("[R-04] nobody hangs: what waits for a recharge that never comes fails once nothing else can happen", async () => {
    await using rt = await Runtime.start({ ...options, profile: "cluster" });
    const never = rt.channel<number>();
    const waits = rt.launch(undefined, undefined, function* (n, fiber) {
      yield* fiber.nursery(
        { ops: 30_000, spawnCount: 1 },
        undefined,
        function* (inner) {
          inner.spawn(spend, [20_000]);
          yield* never.recv();
        },
        { onExhausted: () => "wait" },
      );
      n.cancel();
    });
    expect(await waits.outcome).toMatchObject({
      kind: "budget exceeded",
      error: { code: "OpsBudgetExhausted" },
    });
    const watched = rt.launch(undefined, undefined, function* (n) {
      n.spawn(spend, [20_000]);
      n.spawn(function* () {
        yield* n.exhausted();
      }, []);
      yield* never.recv();
    });
    expect(await watched.outcome).toMatchObject({ kind: "budget exceeded" });
  });

  test("[R-04] a fiber that catches the error of its exhaustion and goes on is ended all the same", async () => {
    await using rt = await Runtime.start(options);
    let caught = 0;
    const { outcome } = rt.launch(undefined, undefined, function* (n) {
      yield* n
        .spawn(function* (fiber) {
          for (;;)
            try {
              yield* fiber.alloc(2 ** 40);
            } catch {
              caught++;
            }
        }, [])
        .join();
    });
    expect(await outcome).toMatchObject({ kind: "budget exceeded" });
    expect(caught).toBeLessThan(20);
  });

  test("[R-06] [SCHED:4.1.1] [SCHED:4.1.2] [SCHED:4.3.1] iterations are charged one by one, told of every interval, overdrawn by at most one", async () => {
    await using rt = await Runtime.start({ ...options, processors: 1 });
    const told = await rt.nursery({ ops: 100_000, spawnCount: 3 }, undefined, function* (n) {
      const when = yield* n
        .spawn((fiber) => {
          const at: number[] = [];
          for (let i = 1; i <= 3_000; i++) if (fiber.loop() && at.length === 0) at.push(i);
          return at;
        }, [])
        .join();
      const spent = yield* n
        .spawn(
          (fiber) => {
            let done = 0;
            try {
              for (;;) {
                fiber.loop();
                done++;
              }
            } catch (error) {
              return [done, (error as { code: string }).code];
            }
          },
          [],
          { budget: { ops: 50 } },
        )
        .join();
      return { when, spent };
    });
    expect(told).toEqual({ when: [1_024], spent: [50 + 1_024, "OpsBudgetExhausted"] });
    await using cluster = await Runtime.start({ ...options, profile: "cluster" });
    const at = await cluster.nursery(undefined, undefined, function* (n) {
      return yield* n
        .spawn((fiber) => {
          let i = 1;
          while (!fiber.loop()) i++;
          return i;
        }, [])
        .join();
    });
    expect(at).toBe(512);
    for (const bad of [-1, 0.5, Number.NaN])
      await expect(
        rt.nursery(undefined, undefined, function* (_n, fiber) {
          fiber.loop(2_000);
          fiber.loop(bad);
          yield;
        }),
      ).rejects.toThrow("a charge is");
  });

  test("[R-06] [SCHED:4.2.1] [SCHED:4.2.2] a voluntary yield costs nothing, as do waiting and joining", async () => {
    await using rt = await Runtime.start({ ...options, budget: BUDGET });
    await rt.nursery({ ops: 100, spawnCount: 1 }, undefined, function* (n, fiber) {
      for (let i = 0; i < 500; i++) yield* fiber.pause();
      for (let i = 0; i < 500; i++) yield;
      yield* sleep(0);
      yield* wait(Promise.resolve());
      yield* n.spawn(() => 0, []).join();
    });
    expect(rt.snapshot().budget.spent.ops).toBe(1);
  });
});

test("[R-04] the total is conserved: pools, fibers and what was spent are what there was, at every step of any program", async () => {
  const act = fc.oneof(
    fc.record({ do: fc.constant("spend" as const), ops: fc.nat(3_000) }),
    fc.record({ do: fc.constant("alloc" as const), bytes: fc.nat(2_000_000) }),
    fc.record({
      do: fc.constant("child" as const),
      ops: fc.nat(20_000),
      spawnCount: fc.nat(5),
      acts: fc.nat(4),
    }),
    fc.record({
      do: fc.constant("nursery" as const),
      ops: fc.nat(5_000),
      spawnCount: fc.nat(3),
      acts: fc.nat(4),
    }),
    fc.record({ do: fc.constant("sleep" as const), ms: fc.nat(3) }),
    fc.record({ do: fc.constant("cancel" as const) }),
    fc.record({ do: fc.constant("fail" as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 25 }), fc.nat(), async (acts, seed) => {
      let faults = 0;
      const check = () => {
        if (COMPONENTS.some((one) => unaccounted(rt.snapshot({ fibers: 0 }))[one] !== 0)) faults++;
      };
      const rt = await Runtime.start({
        deterministic: true,
        processors: 3,
        seed,
        budget: BUDGET,
        observer: { ran: check, nurseryMoved: undefined },
      });
      let next = 0;
      function* program(fiber: Fiber, steps: number): Steps<void> {
        for (let i = 0; i < steps && next < acts.length; i++) {
          const one = acts[next++] as (typeof acts)[number];
          if (one.do === "spend") yield* spend(fiber, one.ops);
          if (one.do === "alloc") yield* fiber.alloc(one.bytes);
          if (one.do === "sleep") yield* sleep(one.ms);
          if (one.do === "fail") throw new Error("fails");
          if (one.do === "child" || one.do === "nursery" || one.do === "cancel")
            yield* fiber.nursery(
              one.do === "nursery" ? { ops: one.ops, spawnCount: one.spawnCount } : undefined,
              undefined,
              function* (n) {
                if (one.do === "child")
                  n.spawn(program, [one.acts], { budget: { ops: one.ops, spawnCount: one.spawnCount } });
                if (one.do === "nursery") n.spawn(program, [one.acts]);
                if (one.do === "cancel") n.cancel();
                yield;
              },
            );
        }
      }
      const { outcome } = rt.launch({ ops: 200_000, spawnCount: 100 }, undefined, function* (n, fiber) {
        n.spawn(program, [10], { budget: { ops: 30_000, spawnCount: 20 } });
        yield* program(fiber, 10);
      });
      await outcome;
      check();
      expect(faults).toBe(0);
      expect(rt.snapshot().budget.held).toEqual(NOTHING_MISSING);
      await rt.close();
    }),
    { numRuns: 150 },
  );
});
