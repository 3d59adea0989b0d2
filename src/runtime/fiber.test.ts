import { describe, expect, expectTypeOf, test } from "vitest";
import {
  type Continuation,
  type Fiber,
  Runtime,
  type RuntimeOptions,
  type Steps,
  sleep,
  wait,
} from "./index.ts";

const MODES: [string, RuntimeOptions][] = [
  ["live", {}],
  ["deterministic", { deterministic: true, processors: 4 }],
];

function* add(_fiber: Fiber, a: number, b: number): Steps<number> {
  yield;
  return a + b;
}

describe.each(MODES)("%s: ", (_name, options) => {
  test("[R-03] [SCHED:5.3.4] a generator is a fiber; join gives what it returns, with its type", async () => {
    await using rt = await Runtime.start(options);
    const sum = await rt.nursery(undefined, undefined, function* (n) {
      const a = n.spawn(add, [1, 2]);
      const b = n.spawn(add, [3, 4]);
      const text = n.spawn((_fiber, name: string) => `hello ${name}`, ["you"]);
      const first = yield* a.join();
      expectTypeOf(first).toEqualTypeOf<number>();
      expectTypeOf(yield* text.join()).toEqualTypeOf<string>();
      return first + (yield* b.join());
    });
    expect(sum).toBe(10);
  });

  test("[R-03] a plain function is a fiber that ends when it returns, and what it throws is its error", async () => {
    await using rt = await Runtime.start(options);
    const run = rt.nursery(undefined, undefined, function* (n) {
      expect(yield* n.spawn((_fiber, x: number) => x * 2, [21]).join()).toBe(42);
      yield* n
        .spawn(() => {
          throw new Error("plainly");
        }, [])
        .join();
    });
    await expect(run).rejects.toThrow("plainly");
  });

  test("[R-03] whatever has next, throw and return can be a fiber, not only a generator", async () => {
    await using rt = await Runtime.start(options);
    let steps = 0;
    const frame: Continuation = {
      next: () =>
        ++steps < 5 ? { done: false, value: undefined } : { done: true, value: "resumed four times" },
      throw: (error) => {
        throw error;
      },
      return: () => ({ done: true, value: undefined }),
    };
    const said = await rt.nursery(undefined, undefined, function* (n) {
      return yield* n.spawn(() => frame as unknown as Steps<string>, []).join();
    });
    expect([said, steps]).toEqual(["resumed four times", 5]);
  });

  test("[R-03] a promise is waited for, and its rejection is thrown", async () => {
    await using rt = await Runtime.start(options);
    const run = await rt.nursery(undefined, undefined, function* () {
      const value = yield* wait(Promise.resolve("there"));
      try {
        yield* wait(Promise.reject(new Error("not there")));
      } catch (error) {
        return `${value}, ${(error as Error).message}`;
      }
      return "nothing was thrown";
    });
    expect(run).toBe("there, not there");
  });

  test("what is no instruction is refused where it is yielded", async () => {
    await using rt = await Runtime.start(options);
    const caught = await rt.nursery(undefined, undefined, function* () {
      try {
        yield 5 as never;
      } catch (error) {
        return (error as Error).message;
      }
      return "";
    });
    expect(caught).toContain("yields nothing or, by yield*, an instruction");
    const promised = rt.nursery(undefined, undefined, function* (n) {
      void (yield* n.spawn(async () => 1, []).join());
    });
    await expect(promised).rejects.toThrow("yield* wait(promise)");
    expect(() => wait(5 as never)).toThrow("waits for a promise");
    expect(() => sleep(-1)).toThrow("ms is -1; it is a number from 0 on");
  });

  test("[R-08] fibers that yield and new ones take turns", async () => {
    await using rt = await Runtime.start({ ...options, processors: 1 });
    const order: string[] = [];
    await rt.nursery(undefined, undefined, function* (n) {
      for (const name of ["a", "b", "c"])
        n.spawn(function* () {
          for (let i = 1; i <= 3; i++) {
            order.push(name + i);
            yield;
          }
        }, []);
      yield;
    });
    // None has done its third step before each has done its first, nor ended two steps before another.
    const last = (step: string) => Math.max(...["a", "b", "c"].map((name) => order.indexOf(name + step)));
    const first = (step: string) => Math.min(...["a", "b", "c"].map((name) => order.indexOf(name + step)));
    expect(last("1")).toBeLessThan(first("3"));
    expect(order).toHaveLength(9);
  });

  test("[R-08] high goes first, low last, and none of them starves", async () => {
    await using rt = await Runtime.start({ ...options, processors: 1 });
    const done: string[] = [];
    await rt.nursery({ ops: 1_000_000, spawnCount: 10 }, undefined, function* (n) {
      for (const priority of ["low", "normal", "high"] as const)
        n.spawn(
          function* () {
            for (let i = 0; i < 300; i++) yield;
            done.push(priority);
          },
          [],
          { priority },
        );
      yield;
    });
    expect(done).toEqual(["high", "normal", "low"]);
    let low = 0;
    await rt.nursery({ ops: 1_000_000, spawnCount: 10 }, undefined, function* (n) {
      n.spawn(() => low++, [], { priority: "low" });
      n.spawn(
        function* () {
          for (let i = 0; low === 0 && i < 1_000; i++) yield;
        },
        [],
        { priority: "high" },
      );
      yield;
    });
    expect(low).toBe(1);
  });

  test("[R-19] [SCHED:15.2.2] a result is for the nursery: its opener and its other children, nobody else", async () => {
    await using rt = await Runtime.start(options);
    const seen = await rt.nursery(undefined, undefined, function* (n, fiber) {
      const secret = n.spawn(() => "secret", []);
      const sibling = yield* n
        .spawn(function* () {
          return yield* secret.join();
        }, [])
        .join();
      const stranger = yield* fiber.nursery({ spawnCount: 1 }, undefined, function* (inner) {
        return yield* inner
          .spawn(function* () {
            try {
              return yield* secret.join();
            } catch (error) {
              return (error as { code?: string }).code;
            }
          }, [])
          .join();
      });
      return { sibling, stranger, own: yield* secret.join() };
    });
    expect(seen).toEqual({ sibling: "secret", stranger: "ResultNotVisible", own: "secret" });
  });

  test("[R-19] [SCHED:15.2.1] what only a fiber itself may do is refused to all others", async () => {
    await using rt = await Runtime.start(options);
    const refused = await rt.nursery(undefined, undefined, function* (n, fiber) {
      const other = n.spawn(function* () {
        yield* sleep(1);
      }, []) as Fiber;
      const codes: unknown[] = [];
      for (const act of [
        () => other.loop(),
        () => other.alloc(1),
        () => other.nursery({}, {}, function* () {}),
      ])
        try {
          act();
        } catch (error) {
          codes.push((error as { code?: string }).code);
        }
      yield* n
        .spawn(() => {
          try {
            fiber.loop();
          } catch (error) {
            codes.push((error as { code?: string }).code);
          }
        }, [])
        .join();
      return codes;
    });
    expect(refused).toEqual(Array(4).fill("CapabilityDenied"));
  });

  test("[R-03] [R-17] [SCHED:5.3.3] [SCHED:14.1.1] a fiber that calls itself without end, or is nested too deeply, panics with StackOverflow", async () => {
    await using rt = await Runtime.start({ ...options, maxDepth: 20 });
    const endless = rt.launch(undefined, undefined, function* (n) {
      const call = (): number => 1 + call();
      yield* n.spawn(() => call(), []).join();
    });
    expect(await endless.outcome).toMatchObject({ kind: "panic", error: { code: "StackOverflow" } });
    function* nest(fiber: Fiber): Steps<void> {
      yield* fiber.nursery(undefined, undefined, function* (n) {
        yield* n.spawn(nest, [], { budget: { spawnCount: n.pool.spawnCount - 1 } }).join();
      });
    }
    const deep = rt.launch(undefined, undefined, function* (n) {
      yield* n.spawn(nest, [], { budget: { spawnCount: 90 } }).join();
    });
    expect(await deep.outcome).toMatchObject({ kind: "panic", error: { code: "StackOverflow" } });
  });
});
