import { expect, test } from "vitest";
import { type Fiber, Runtime, type Steps, sleep, wait } from "./index.ts";

function* add(_fiber: Fiber, a: number, b: number): Steps<number> {
  yield;
  return a + b;
}

for (const deterministic of [false, true])
  test(`a nursery runs children and gives what its body returns (${deterministic})`, async () => {
    await using rt = await Runtime.start({ deterministic, processors: deterministic ? 4 : 1 });
    const sum = await rt.nursery(undefined, undefined, function* (n, fiber) {
      const a = n.spawn(add, [1, 2]);
      const b = n.spawn(add, [3, 4]);
      yield* sleep(5);
      const x: number = yield* a.join();
      const inner = yield* fiber.nursery({ ops: 100, spawnCount: 2 }, undefined, function* (m) {
        return yield* m.spawn(add, [10, 20]).join();
      });
      const p = yield* wait(Promise.resolve(1000));
      return x + (yield* b.join()) + inner + p;
    });
    expect(sum).toBe(1040);
    await expect(
      rt.nursery(undefined, undefined, function* (n) {
        n.spawn(function* () {
          yield;
          throw new Error("boom");
        }, []);
        yield* sleep(1000);
      }),
    ).rejects.toThrow("boom");
    const ch = rt.channel<number>(2);
    const got = await rt.nursery(undefined, undefined, function* (n) {
      n.spawn(function* () {
        for (let i = 0; i < 10; i++) yield* ch.send(i);
        ch.close();
      }, []);
      let s = 0;
      while (!ch.closed || ch.size > 0) s += yield* ch.recv();
      return s;
    });
    expect(got).toBe(45);
    await expect(
      rt.nursery(undefined, undefined, function* (n) {
        n.spawn(function* () {
          yield* rt.channel<number>({ name: "x" }).recv();
        }, []);
        yield* n
          .spawn(function* () {
            yield* rt.channel<number>({ name: "y" }).recv();
          }, [])
          .join();
      }),
    ).rejects.toThrow(/everything is blocked/);
    await expect(
      rt.nursery(undefined, undefined, function* (n) {
        n.spawn(function* (fiber) {
          for (;;) if (fiber.loop()) yield;
        }, []);
        yield* sleep(1);
      }),
    ).rejects.toThrow(/no ops left/);
    await expect(
      rt.nursery(undefined, undefined, function* () {
        for (;;) yield;
      }),
    ).rejects.toThrow(/no ops left/);
  });
