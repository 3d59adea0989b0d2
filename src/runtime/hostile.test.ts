// What programs do that are mistaken or mean harm: each is told what is wrong, and the others go on.

import { describe, expect, test } from "vitest";
import {
  type Body,
  type CapNamed,
  type CapSpawn,
  type Fiber,
  type Handle,
  type Instruction,
  type NurseryOptions,
  Runtime,
  type RuntimeOptions,
  type Steps,
  sleep,
  wait,
} from "./index.ts";

const MODES: [string, RuntimeOptions][] = [
  ["live", { processors: 1 }],
  ["deterministic", { deterministic: true, processors: 2 }],
];

const TRAPS = new Proxy(
  {},
  {
    get() {
      throw new Error("a trap");
    },
    getPrototypeOf() {
      throw new Error("a trap");
    },
  },
);

describe.each(MODES)("%s: ", (_name, options) => {
  const CODES: [string, () => unknown][] = [
    [
      "throws what throws when it is looked at",
      () => {
        throw TRAPS as Error;
      },
    ],
    [
      "throws an error whose message is none",
      () => {
        throw Object.assign(new RangeError(), { message: 5 });
      },
    ],
    ["returns what throws when it is looked at", () => TRAPS],
    [
      "gives an iterator that gives nothing",
      () => ({ next: () => null, throw: () => null, return: () => null }),
    ],
  ];

  test.each(CODES)("[R-02] a fiber that %s fails by itself, and the runtime goes on", async (_what, code) => {
    await using rt = await Runtime.start(options);
    const launched = rt.launch(undefined, undefined, function* (n) {
      n.spawn(code, []);
      yield* sleep(1_000);
    });
    expect((await launched.outcome).kind).toBe("child failed");
    expect(await rt.nursery(undefined, undefined, answer)).toBe(42);
  });

  test("[R-02] what a fiber threw is what its nursery throws, even undefined", async () => {
    await using rt = await Runtime.start(options);
    const launched = rt.launch(undefined, undefined, function* () {
      yield;
      const nothing = undefined as unknown as Error;
      throw nothing;
    });
    expect(await launched.outcome).toMatchObject({ kind: "child failed", error: undefined });
  });

  test("[R-02] what only looks like a promise may call back at once, twice, or throw", async () => {
    await using rt = await Runtime.start(options);
    const thenables = [
      // biome-ignore lint/suspicious/noThenProperty: that is what is tested
      { then: (told: (value: number) => void) => [told(1), told(2)] },
      // biome-ignore lint/suspicious/noThenProperty: that is what is tested
      Object.assign(Promise.resolve(7), { then: (told: (value: number) => void) => told(1) }),
    ];
    const come = await rt.nursery(undefined, undefined, function* (_n, fiber) {
      const waited: unknown[] = [];
      for (const one of thenables) {
        waited.push(yield* wait(one as never));
        waited.push(yield* fiber.syscall("network", () => one as never));
      }
      return waited;
    });
    expect(come).toHaveLength(4);
    const failed = rt.nursery(undefined, undefined, function* () {
      yield* wait({
        // biome-ignore lint/suspicious/noThenProperty: that is what is tested
        then: () => {
          throw new Error("within then");
        },
      } as never);
    });
    await expect(failed).rejects.toThrow("within then");
  });

  test("[R-02] what is no body, and options that are none, are refused with what they should be", async () => {
    await using rt = await Runtime.start(options);
    const open = async (body: unknown, given: unknown = {}) =>
      rt.nursery(undefined, undefined, body as Body<unknown>, given as NurseryOptions);
    await expect(open(() => 1)).rejects.toThrow("the body of a nursery is no function*");
    await expect(open(async () => 1)).rejects.toThrow("yield* wait(promise)");
    await expect(open(undefined)).rejects.toThrow("the body of a nursery is a function*");
    await expect(open(answer, null)).rejects.toThrow("options are an object such as {timeoutMs: 5000}");
    await expect(open(answer, { onExhausted: 5 })).rejects.toThrow("onExhausted is a function");
    expect(() => rt.channel("3" as never)).toThrow("a channel is made with its capacity");
    expect(() => rt.channel(null as never)).toThrow("a channel is made with its capacity");
  });

  test("[R-04] a nursery that is refused takes nothing of its opener", async () => {
    await using rt = await Runtime.start(options);
    const left = await rt.nursery({ ops: 1_000 }, undefined, function* (n, fiber) {
      for (let i = 0; i < 3; i++)
        yield* refused(() => fiber.nursery({ ops: 300 }, undefined, answer, { timeoutMs: Number.NaN }));
      return n.pool.ops;
    });
    expect(left).toBe(1_000);
  });

  test("[R-04] what a child is given is in the pool after its spawner has paid", async () => {
    await using rt = await Runtime.start(options);
    const seen = await rt.nursery({ ops: 1_000 }, undefined, function* (n) {
      const told = yield* refused(function* () {
        n.spawn(() => 0, [], { budget: { ops: 1_000 } });
        yield;
      });
      n.spawn(() => 0, [], { budget: { ops: n.pool.ops } });
      const least = n.pool.ops;
      const child = n.spawn(() => 0, []);
      return { told, least, child: child.budget.ops };
    });
    expect(seen).toEqual({ told: "OpsBudgetExhausted", least: 0, child: 0 });
  });

  test("[R-04] a recharge by a CapBudget that falls short in one part uses up nothing of it", async () => {
    await using rt = await Runtime.start({ ...options, profile: "sovereign" });
    const budget = rt.grant.budget({ ops: 500, memory: 10 }, { delegable: true });
    const caps = { spawn: rt.grant.spawn({ delegable: true }), budget };
    const done = await rt.nursery({ ops: 5_000, memory: 1_000 }, caps, function* (n) {
      const child = n.spawn(
        (fiber) => [
          fiber.recharge(budget, { ops: 400, memory: 11 }),
          fiber.recharge(budget, { ops: 500, memory: 10 }),
        ],
        [],
        { caps: { budget }, budget: { ops: 100, memory: 0 } },
      );
      return yield* child.join();
    });
    expect(done).toEqual([false, true]);
  });

  test("[R-02] two fibers that wait by one join or one receive are told, rather than one forgotten", async () => {
    await using rt = await Runtime.start(options);
    const told = await rt.nursery(undefined, undefined, function* (n) {
      const channel = rt.channel<number>();
      const codes: unknown[][] = [];
      for (const one of [n.spawn(sleepy, []).join(), channel.recv()]) {
        const both = [n.spawn(outcome, [one]), n.spawn(outcome, [one])];
        yield* sleep(1);
        if (codes.length > 0) yield* channel.send(5);
        codes.push([yield* (both[0] as Handle).join(), yield* (both[1] as Handle).join()]);
      }
      return codes.map((pair) =>
        pair.toSorted((a, b) => Number(typeof a === "string") - Number(typeof b === "string")),
      );
    });
    expect(told).toEqual([
      [42, "InvalidArgument"],
      [5, "InvalidArgument"],
    ]);
  });
});

test("[R-05] capabilities come from others of their kind only, whatever their methods are called on", async () => {
  await using rt = await Runtime.start({ profile: "sovereign" });
  const spawn = rt.grant.spawn();
  const { attenuate } = spawn;
  expect(() => attenuate({ delegable: true })).toThrow("no CapSpawn of a runtime");
  const channel = rt.grant.channel();
  const kinds: [string, object][] = [
    ["prototype", Object.create(Object.getPrototypeOf(spawn) as object) as object],
    ["proxy", new Proxy(spawn, {})],
    ["other kind", Object.setPrototypeOf(channel, Object.getPrototypeOf(spawn) as object) as object],
    ["clone", structuredClone(spawn)],
  ];
  for (const [, one] of kinds) {
    expect(() => attenuate.call(one as CapSpawn)).toThrow("no CapSpawn of a runtime");
    expect(() => rt.launch(undefined, { spawn: one as CapSpawn }, answer)).toThrow(
      "caps.spawn is no CapSpawn",
    );
  }
});

test("[R-05] a fiber can neither rename a capability nor add one to what others hold", async () => {
  await using rt = await Runtime.start({ profile: "service" });
  const gpu = rt.grant.named("gpu", { delegable: true });
  const caps = { spawn: rt.grant.spawn({ delegable: true }), own: { gpu } };
  const seen = await rt.nursery(undefined, caps, function* (n) {
    const bad = n.spawn((fiber) => {
      const own = fiber.capabilities.own as Record<string, CapNamed>;
      const mine = (own["gpu"] as CapNamed).attenuate({ delegable: true });
      return [
        Reflect.set(mine, "capability", "root"),
        Reflect.set(own, "root", mine),
        Reflect.deleteProperty(own, "gpu"),
      ];
    }, []);
    const changed = yield* bad.join();
    const held = yield* n.spawn((fiber) => Object.keys(fiber.capabilities.own ?? {}), []).join();
    return { changed, held };
  });
  expect(seen).toEqual({ changed: [false, false, false], held: ["gpu"] });
});

test("[R-05] capabilities that answer differently each time they are read are read once", async () => {
  await using rt = await Runtime.start({ profile: "sovereign" });
  let reads = 0;
  const caps = {
    get spawn() {
      return (reads++ === 0 ? rt.grant.spawn() : {}) as CapSpawn;
    },
  };
  const child = await rt.nursery(undefined, caps, function* (n) {
    return yield* n.spawn(() => 42, []).join();
  });
  expect([child, reads]).toEqual([42, 1]);
});

function* answer(): Steps<number> {
  yield;
  return 42;
}

function* sleepy(_fiber: Fiber): Steps<number> {
  yield* sleep(5);
  return 42;
}

function* refused(steps: () => Steps<unknown>): Steps<unknown> {
  try {
    yield* steps();
    return "allowed";
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

function* outcome(_fiber: Fiber, one: Instruction<unknown>): Steps<unknown> {
  try {
    return yield* one;
  } catch (error) {
    return (error as { code?: string }).code;
  }
}
