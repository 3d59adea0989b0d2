import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as door from "./index.ts";
import { defaultRuntime, type Handle, Runtime, type RuntimeOptions, sleep, wait } from "./index.ts";

const MODES: [string, RuntimeOptions][] = [
  ["live", {}],
  ["deterministic", { deterministic: true, processors: 4 }],
];

function readSources(): [file: string, text: string][] {
  const folder = new URL(".", import.meta.url);
  return readdirSync(folder)
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .map((name) => [name, readFileSync(new URL(name, folder), "utf8")]);
}

test("[R-01] [SCHED:2.1.1] [SCHED:2.1.2] [SCHED:2.2.2] [SCHED:2.2.4] there is one global, the default runtime, and nothing inside looks at it", () => {
  const importing = readSources().filter(([, text]) => text.includes('from "./default-runtime.ts"'));
  expect(importing.map(([name]) => name)).toEqual(["index.ts"]);
  // Beside it only what classes hand to their own file while it is loaded.
  const mutable = readSources().flatMap(([name, text]) =>
    [...text.matchAll(/^(?:export )?(?:let|var) (\w+)/gm)].map(([, variable]) => `${name} ${variable}`),
  );
  const assignedTwice = mutable.filter((one) => {
    const [name, variable] = one.split(" ");
    const text = readSources().find(([file]) => file === name)?.[1] ?? "";
    return [...text.matchAll(new RegExp(`^\\s+${variable} \\?{0,2}= `, "gm"))].length !== 1;
  });
  expect(assignedTwice).toEqual([]);
  expect(mutable).toContain("default-runtime.ts started");
});

test("[R-01] [SCHED:2.6.2] all scheduling goes through runtimes and nurseries: there is nothing else to import", () => {
  expect(Object.keys(door).sort()).toEqual([
    "BudgetExhausted",
    "Cancelled",
    "Deadlock",
    "Panic",
    "Runtime",
    "RuntimeError",
    "defaultRuntime",
    "portable",
    "select",
    "sleep",
    "wait",
  ]);
  expect(door).not.toHaveProperty("Kernel");
});

test("[R-01] [SCHED:2.2.3] the default runtime is one, and others do not need it", async () => {
  const rt = await defaultRuntime();
  expect(await defaultRuntime()).toBe(rt);
  await using other = await Runtime.start();
  expect(other).not.toBe(rt);
  expect(
    await rt.nursery(undefined, undefined, function* () {
      yield;
      return 1;
    }),
  ).toBe(1);
  await rt.close();
});

test("[R-01] [SCHED:2.2.1] [SCHED:2.3.1] [SCHED:2.7.1] runtimes are isolated: budgets, clocks and channels of one are not another's", async () => {
  await using a = await Runtime.start({
    deterministic: true,
    processors: 1,
    seed: 42,
    budget: { ops: 1_000 },
  });
  await using b = await Runtime.start({ deterministic: true, processors: 1, seed: 42 });
  const work = (rt: Runtime) =>
    rt.nursery({ ops: 1_000 }, undefined, function* (_n, fiber) {
      fiber.loop(500);
      yield* sleep(7);
      return rt.nowMs();
    });
  expect(await Promise.all([work(a), work(b)])).toEqual([7.5, 7.5]);
  expect(a.snapshot().budget.reserve.ops).toBe(500);
  expect(b.nowMs()).toBeCloseTo(7.5, 2);
});

test("[R-01] [SCHED:2.3.2] runtimes side by side run as each does alone, with their own profiles, and closing one leaves the others", async () => {
  const options = { deterministic: true, processors: 3, seed: 5 } as const;
  const run = (rt: Runtime, rounds: number) =>
    rt.nursery({ ops: 1e6, memory: 1e9, spawnCount: 50 }, { spawn: rt.grant.spawn() }, function* (n) {
      for (let at = 0; at < 50; at++)
        n.spawn(function* (fiber) {
          for (let round = 0; round < rounds; round++) if (fiber.loop(at * 3)) yield;
          yield* sleep(at);
        }, []);
      yield;
    });
  const hashAlone = async (rounds: number) => {
    await using rt = await Runtime.start({ ...options, profile: "sovereign" });
    await run(rt, rounds);
    return rt.traceHash;
  };
  const alone = [await hashAlone(30), await hashAlone(40)];

  await using a = await Runtime.start({ ...options, profile: "sovereign" });
  await using b = await Runtime.start({ ...options, profile: "sovereign" });
  const closing = await Runtime.start({ profile: "service" });
  const cut = closing.nursery(undefined, undefined, function* () {
    yield* sleep(60_000);
  });
  const both = Promise.all([run(a, 30), run(b, 40)]);
  await closing.close();
  await expect(cut).rejects.toThrow("cancelled");
  await both;
  expect(alone[0]).not.toBe(alone[1]);
  expect([a.traceHash, b.traceHash]).toEqual(alone);
  // What the one implies the other has to be given.
  expect(() => a.nursery(undefined, { spawn: {} as never }, function* () {})).toThrow("is no CapSpawn");
});

test("[R-08] [SCHED:6.2.1] [SCHED:6.2.2] [SCHED:6.2.3] processors: as many as cores unless said otherwise, at least one, and 256 and more", async () => {
  await using many = await Runtime.start({ deterministic: true, processors: 256 });
  expect(many.snapshot().processors).toHaveLength(256);
  await using some = await Runtime.start({ deterministic: true });
  expect(some.snapshot().processors.length).toBeGreaterThan(0);
  await expect(Runtime.start({ deterministic: true, processors: 0 })).rejects.toThrow(
    "processors is 0; it is a whole number from 1 to 65535",
  );
});

test.each([
  [{ profile: "kernel" }, "profile is kernel; there are core, service, cluster, sovereign"],
  [{ profile: "constructor" }, "profile is constructor; there are"],
  [{ seed: -1 }, "seed is -1; it is a whole number from 0 to 4294967295"],
  [{ deterministic: true, victims: "rich" }, "victims is rich; there are random, round-robin, least-loaded"],
  [{ yieldInterval: 0 }, "yieldInterval is 0; it is a whole number from 1"],
  [{ graceMs: "1s" }, "graceMs is 1s; it is a whole number"],
  [{ budget: { ops: -5 } }, "budget.ops is -5"],
  [{ processors: 1_025 }, "processors is 1025"],
])("what is wrong with %j is said", async (options, message) => {
  await expect(Runtime.start(options as RuntimeOptions)).rejects.toThrow(message);
});

test("[R-14] [SCHED:10.2.1] core: there is no scheduler", async () => {
  await using rt = await Runtime.start({ profile: "core" });
  expect(() => rt.nursery(undefined, undefined, function* () {})).toThrow(
    "the profile core has no scheduler",
  );
});

test("[R-14] [SCHED:10.2.2] [SCHED:10.2.3] service and cluster: capabilities are implicit, budgets have defaults, cluster's are ten times as large", async () => {
  const pools = await Promise.all(
    (["service", "cluster"] as const).map(async (profile) => {
      await using rt = await Runtime.start({ profile });
      return await rt.nursery(undefined, undefined, function* (n) {
        yield* n.spawn(() => 0, []).join();
        return n.pool;
      });
    }),
  );
  expect(pools).toMatchObject([
    { memory: 10 * 2 ** 20, spawnCount: 99, channelOps: 1_000, syscalls: 100 },
    { memory: 100 * 2 ** 20, spawnCount: 999, channelOps: 10_000, syscalls: 1_000 },
  ]);
});

describe.each(MODES)("%s: ", (_name, options) => {
  test("[R-01] [SCHED:2.6.1] closing cancels what runs, waits for its finally blocks, frees, and can be repeated", async () => {
    const rt = await Runtime.start(options);
    let cleaned = 0;
    const runs = [1, 2, 3].map(() =>
      rt.launch(undefined, undefined, function* (n) {
        n.spawn(function* () {
          try {
            yield* wait(new Promise(() => undefined));
          } finally {
            yield* sleep(1);
            cleaned++;
          }
        }, []);
        yield* wait(new Promise(() => undefined));
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.all([rt.close(), rt.close()]);
    await rt.close();
    expect(cleaned).toBe(3);
    expect(await Promise.all(runs.map(async ({ outcome }) => (await outcome).kind))).toEqual(
      Array(3).fill("cancelled"),
    );
    expect(rt.snapshot()).toMatchObject({ roots: [], budget: { held: { ops: 0, memory: 0 } } });
    expect(() => rt.nursery(undefined, undefined, function* () {})).toThrow("the runtime is closed");
  });

  test("[R-02] [SCHED:2.4.1] [SCHED:2.4.2] [SCHED:2.5.1] within a fiber a nursery comes out of its own budget, never out of the runtime's", async () => {
    await using rt = await Runtime.start(options);
    const run = rt.nursery(undefined, undefined, function* () {
      rt.launch(undefined, undefined, function* () {});
      yield;
    });
    await expect(run).rejects.toThrow("within a fiber a nursery is opened by fiber.nursery");
  });

  test("[SCHED:5.1.1] [SCHED:6.1.1] [SCHED:8.1.1] task, worker, nursery: a snapshot has fibers by state, budgets, and the tree of nurseries with who waits for what", async () => {
    await using rt = await Runtime.start({ ...options, processors: 1 });
    const channel = rt.channel<number>({ name: "orders" });
    await rt
      .nursery(
        { ops: 50_000, spawnCount: 5 },
        undefined,
        function* (n, fiber) {
          n.spawn(function* () {
            yield* channel.recv();
          }, []);
          n.spawn(function* () {
            yield* sleep(60);
          }, []);
          yield* sleep(1);
          yield* fiber.nursery({ ops: 100 }, undefined, function* () {
            const { fibers, roots } = rt.snapshot();
            expect(fibers).toMatchObject({ Running: 1, Blocked: 2, Ready: 0 });
            expect(roots[0]?.nurseries).toMatchObject([
              {
                name: "main",
                state: "Open",
                live: 2,
                children: [
                  { state: "Blocked", waitsFor: "60 ms to pass" },
                  { state: "Blocked", waitsFor: "a value in channel orders" },
                ],
              },
              { state: "Open", live: 0, pool: { ops: 100 } },
            ]);
            expect(rt.snapshot({ fibers: 2 })).toMatchObject({ omitted: 1 });
            yield;
          });
          channel.close();
        },
        { name: "main" },
      )
      .catch(() => undefined);
  });

  test("a deadlock is found, and says who waits for what", async () => {
    await using rt = await Runtime.start(options);
    const a = rt.channel<number>({ name: "a" });
    const b = rt.channel<number>({ name: "b" });
    let cleaned = 0;
    const { outcome } = rt.launch(undefined, undefined, function* (n) {
      for (const [one, other] of [
        [a, b],
        [b, a],
      ] as const)
        n.spawn(function* () {
          try {
            yield* one.recv();
            yield* other.send(1);
          } finally {
            cleaned++;
          }
        }, []);
      yield;
    });
    const ended = await outcome;
    expect(ended).toMatchObject({ kind: "child failed", error: { code: "Deadlock" } });
    expect((ended as { error: Error }).error.message).toMatch(
      /^everything is blocked: fiber 0 waits for the 2 children of nursery 1; fiber \d+ waits for a value in channel a; fiber \d+ waits for a value in channel b$/,
    );
    expect(cleaned).toBe(2);
    const self = rt.launch(undefined, undefined, function* (n) {
      const joins: Handle[] = [];
      const one = n.spawn(function* () {
        yield;
        if (joins[0]) yield* joins[0].join();
      }, []);
      joins.push(one);
      yield* one.join();
    });
    expect(await self.outcome).toMatchObject({ kind: "child failed", error: { code: "Deadlock" } });
  });

  test("a trace has what each processor ran, for Chrome, up to its limit", async () => {
    await using rt = await Runtime.start({ ...options, trace: 30 });
    await rt.nursery({ ops: 1_000_000, spawnCount: 20 }, undefined, function* (n) {
      for (let i = 0; i < 20; i++)
        n.spawn(function* (fiber) {
          fiber.loop(100);
          yield;
        }, []);
      yield;
    });
    const { traceEvents, otherData } = rt.trace();
    expect(traceEvents.filter(({ ph }) => ph !== "M")).toHaveLength(30);
    expect(otherData.omitted).toBeGreaterThan(0);
    const ran = traceEvents.filter(({ cat }) => cat === "fiber");
    expect(ran[0]).toMatchObject({ name: "fiber 0", ph: "X", pid: 1, args: { fiber: 0, ops: 20 } });
    expect(ran.every(({ ts, dur }) => ts >= 0 && dur !== undefined && dur >= 0)).toBe(true);
    await using untraced = await Runtime.start(options);
    expect(() => untraced.trace()).toThrow("start the runtime with trace: true");
  });

  test("[R-19] what spawn is given is checked", async () => {
    await using rt = await Runtime.start(options);
    const messages = await rt.nursery(undefined, undefined, function* (n) {
      yield;
      return [
        () => n.spawn(5 as never, []),
        () => n.spawn(() => 0, 5 as never),
        () => n.spawn(() => 0, [], { priority: "urgent" as never }),
        () => n.spawn(() => 0, [], { budget: { ops: 0.5 } }),
        () => n.recharge({} as never, { ops: 1 }),
      ].map((act) => {
        try {
          act();
          return "";
        } catch (error) {
          return (error as Error).message;
        }
      });
    });
    expect(messages).toEqual([
      "spawn(fn, args) takes a function and an array of its arguments",
      "spawn(fn, args) takes a function and an array of its arguments",
      "priority is urgent; there are normal, high, low",
      "budget.ops is 0.5; it is a whole number from 0 to 9007199254740991",
      "child is no fiber of this nursery, or is over",
    ]);
  });
});
