import { describe, expect, expectTypeOf, test } from "vitest";
import { type Instruction, Runtime, type RuntimeOptions, type Steps, select, sleep } from "./index.ts";

const MODES: [string, RuntimeOptions][] = [
  ["live", {}],
  ["deterministic", { deterministic: true, processors: 4 }],
];

describe.each(MODES)("%s: ", (_name, options) => {
  test.each([0, 1, 7, 1_000])(
    "[R-12] a channel of capacity %i holds no more, loses nothing, and keeps the order",
    async (capacity) => {
      await using rt = await Runtime.start(options);
      const channel = rt.channel<number>(capacity);
      let most = 0;
      const received = await rt.nursery(
        { ops: 100_000, channelOps: 10_000, spawnCount: 1 },
        undefined,
        function* (n) {
          n.spawn(
            function* () {
              for (let i = 0; i < 500; i++) {
                yield* channel.send(i);
                most = Math.max(most, channel.size);
              }
              channel.close();
            },
            [],
            { budget: { channelOps: 600 } },
          );
          const all: number[] = [];
          try {
            for (;;) all.push(yield* channel.recv());
          } catch (error) {
            expect(error).toMatchObject({ code: "ChannelClosed" });
          }
          return all;
        },
      );
      expect(received).toEqual(Array.from({ length: 500 }, (_, i) => i));
      expect(most).toBeLessThanOrEqual(capacity);
    },
  );

  test("[R-12] blocked fibers wake in the order in which they came, receivers and senders", async () => {
    await using rt = await Runtime.start({ ...options, processors: 1 });
    const channel = rt.channel<number>();
    const order: string[] = [];
    await rt.nursery(undefined, undefined, function* (n) {
      for (let i = 0; i < 5; i++) {
        n.spawn(function* () {
          order.push(`receiver ${i} got ${yield* channel.recv()}`);
        }, []);
        yield* sleep(1);
      }
      for (let i = 0; i < 5; i++) yield* channel.send(i);
      yield* sleep(1);
      for (let i = 5; i < 10; i++) {
        n.spawn(function* () {
          yield* channel.send(i);
          order.push(`sender ${i}`);
        }, []);
        yield* sleep(1);
      }
      for (let i = 5; i < 10; i++) {
        expect(yield* channel.recv()).toBe(i);
        yield* sleep(1);
      }
    });
    expect(order).toEqual([
      ...[0, 1, 2, 3, 4].map((i) => `receiver ${i} got ${i}`),
      ...[5, 6, 7, 8, 9].map((i) => `sender ${i}`),
    ]);
  });

  test("[R-12] closing tells who waits, and what was sent before can still be received", async () => {
    await using rt = await Runtime.start(options);
    const full = rt.channel<number>(2);
    const empty = rt.channel<number>();
    function* code(instruction: Instruction<unknown>): Steps<string> {
      try {
        yield* instruction;
        return "done";
      } catch (error) {
        return (error as { code: string }).code;
      }
    }
    const said = await rt.nursery(undefined, undefined, function* (n) {
      yield* full.send(1);
      yield* full.send(2);
      const sender = n.spawn(() => code(full.send(3)), []);
      const receiver = n.spawn(() => code(empty.recv()), []);
      yield* sleep(1);
      full.close();
      empty.close();
      empty.close();
      const late = yield* code(full.send(4));
      return [
        yield* sender.join(),
        yield* receiver.join(),
        late,
        yield* full.recv(),
        yield* full.recv(),
        yield* code(full.recv()),
      ];
    });
    expect(said).toEqual(["ChannelClosed", "ChannelClosed", "ChannelClosed", 1, 2, "ChannelClosed"]);
  });

  test("[R-12] who is cancelled while it waits takes and leaves nothing", async () => {
    await using rt = await Runtime.start(options);
    const channel = rt.channel<string>();
    const got = await rt.nursery(undefined, undefined, function* (n) {
      const gone = n.spawn(function* () {
        yield* channel.recv();
      }, []);
      const goneToo = n.spawn(
        function* () {
          yield* channel.send("never");
        },
        [],
        { priority: "low" },
      );
      yield* sleep(1);
      gone.cancel();
      goneToo.cancel();
      yield* sleep(1);
      n.spawn(function* () {
        yield* channel.send("for me");
      }, []);
      return yield* channel.recv();
    });
    // The two that were cancelled may have met each other before.
    expect(got).toBe("for me");
  });

  test("[R-12] select takes what is possible, one of it, and is fair among several", async () => {
    await using rt = await Runtime.start(options);
    const a = rt.channel<number>(1_000);
    const b = rt.channel<string>(1_000);
    const full = rt.channel<boolean>(0);
    const counts = await rt.nursery({ channelOps: 10_000, ops: 50_000 }, undefined, function* () {
      for (let i = 0; i < 100; i++) {
        yield* a.send(i);
        yield* b.send(`${i}`);
      }
      const seen = [0, 0, 0];
      for (let i = 0; i < 100; i++) {
        const one = yield* select([a.recv(), b.recv(), full.send(true)]);
        if (one.index === 0) expectTypeOf(one.value).toEqualTypeOf<number>();
        if (one.index === 1) expectTypeOf(one.value).toEqualTypeOf<string>();
        seen[one.index] = (seen[one.index] ?? 0) + 1;
      }
      return { seen, left: a.size + b.size };
    });
    expect(counts.seen[2]).toBe(0);
    expect(Math.min(counts.seen[0] ?? 0, counts.seen[1] ?? 0)).toBeGreaterThan(30);
    expect(counts.left).toBe(100);
  });

  test("[R-12] select waits for the first of several, and the others have not happened", async () => {
    await using rt = await Runtime.start(options);
    const a = rt.channel<number>();
    const b = rt.channel<number>();
    const said = await rt.nursery(undefined, undefined, function* (n) {
      const timedOut = yield* select([a.recv(), sleep(2)]);
      n.spawn(function* () {
        yield* sleep(1);
        yield* b.send(7);
      }, []);
      const first = yield* select([a.recv(), b.recv(), sleep(60_000)]);
      n.spawn(function* () {
        yield* a.send(8);
      }, []);
      const sent = n.spawn(function* () {
        return yield* select([b.send(9), sleep(60_000)]);
      }, []);
      const after = [yield* a.recv(), yield* b.recv()];
      return { timedOut, first, after, sent: (yield* sent.join()).index };
    });
    expect(said).toEqual({
      timedOut: { index: 1, value: undefined },
      first: { index: 1, value: 7 },
      after: [8, 9],
      sent: 0,
    });
    expect(() => select([])).toThrow("select takes an array");
    expect(() => select([5 as never])).toThrow("select takes an array");
  });

  test("[R-12] two that select each other's channels meet, once", async () => {
    await using rt = await Runtime.start(options);
    const a = rt.channel<string>();
    const b = rt.channel<string>();
    const met = await rt.nursery(undefined, undefined, function* (n) {
      const one = n.spawn(function* () {
        return yield* select([a.send("from one"), b.recv()]);
      }, []);
      const other = n.spawn(function* () {
        return yield* select([b.send("from other"), a.recv()]);
      }, []);
      return [yield* one.join(), yield* other.join()];
    });
    const values = met.map(({ value }) => value ?? "sent").sort();
    expect(values).toHaveLength(2);
    expect(values).toContain("sent");
    expect(values.some((value) => value.startsWith("from"))).toBe(true);
  });

  test("[R-12] a channel of another runtime is refused, and bad capacities are", async () => {
    await using rt = await Runtime.start(options);
    await using other = await Runtime.start(options);
    const foreign = other.channel<number>({ capacity: 1, name: "theirs" });
    const run = rt.nursery(undefined, undefined, function* () {
      yield* foreign.send(1);
    });
    await expect(run).rejects.toThrow("channel theirs belongs to another runtime");
    for (const bad of [-1, 0.5, Number.NaN]) expect(() => rt.channel(bad)).toThrow(`capacity is ${bad}`);
  });
});
