import { describe, expect, test } from "vitest";
import { Panic, Runtime, type RuntimeOptions, type Steps, sleep, wait } from "./index.ts";

const MODES: [string, RuntimeOptions][] = [
  ["live", {}],
  ["deterministic", { deterministic: true, processors: 4 }],
];

const later = () => new Error("later");

describe.each(MODES)("%s: ", (_name, options) => {
  test("[R-02] [SCHED:8.1.3] a nursery ends when all children have, and its states are Open, Closing and Closed", async () => {
    const moves: string[] = [];
    const observer = { nurseryMoved: (_id: number, from: string, to: string) => moves.push(`${from} ${to}`) };
    await using rt = await Runtime.start({ ...options, observer });
    let ended = 0;
    await rt.nursery(undefined, undefined, function* (n) {
      expect(n.state).toBe("Open");
      for (let i = 0; i < 10; i++)
        n.spawn(function* () {
          yield* sleep(i);
          ended++;
        }, []);
      yield;
    });
    expect(ended).toBe(10);
    expect(moves).toEqual(["Open Closing", "Closing Closed"]);
    expect(rt.snapshot().roots).toEqual([]);
  });

  test("[R-02] [SCHED:8.1.2] who spawns needs an open nursery: none that closes, and not from outside of fibers", async () => {
    await using rt = await Runtime.start(options);
    const codes: unknown[] = [];
    const refused = (spawn: () => unknown) => {
      try {
        spawn();
      } catch (error) {
        codes.push((error as { code?: string }).code);
      }
    };
    await rt.nursery(undefined, undefined, function* (n) {
      n.spawn(function* () {
        yield* sleep(5);
        refused(() => n.spawn(() => 1, []));
      }, []);
      setImmediate(() => refused(() => n.spawn(() => 1, [])));
      yield;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(codes).toEqual(["NurseryNotActive", "NurseryNotActive"]);
  });

  test("[R-02] the first error wins, the others are cancelled, and the body is interrupted", async () => {
    await using rt = await Runtime.start(options);
    const log: string[] = [];
    const run = rt.nursery(undefined, undefined, function* (n) {
      n.spawn(function* () {
        try {
          yield* sleep(60_000);
        } finally {
          log.push("sibling");
        }
      }, []);
      n.spawn(function* () {
        yield* sleep(1);
        throw new Error("first");
      }, []);
      try {
        yield* sleep(60_000);
      } catch (error) {
        log.push((error as { code: string }).code);
        throw error;
      } finally {
        log.push("body");
      }
    });
    await expect(run).rejects.toThrow("first");
    expect(log.sort()).toEqual(["NurseryCancelled", "body", "sibling"]);
  });

  const panics = () => new Panic("bug");
  const ranks: [string, (() => Error)[], string][] = [
    ["an error before what was cancelled", [later], "child failed"],
    ["a panic that comes later before an error", [later, panics], "panic"],
    ["an error that comes later not before a panic", [panics, later], "panic"],
  ];
  test.each(ranks)("[R-02] rank: %s", async (_rank, errors, kind) => {
    await using rt = await Runtime.start(options);
    const { outcome } = rt.launch(undefined, undefined, function* (n) {
      for (const [i, error] of errors.entries())
        n.spawn(function* () {
          try {
            yield* sleep(i === 0 ? 1 : 60_000);
          } finally {
            // biome-ignore lint/correctness/noUnsafeFinally: the error of a fiber that is being cancelled is what is tested
            throw error();
          }
        }, []);
      yield* sleep(60_000);
    });
    expect((await outcome).kind).toBe(kind);
  });

  test("[R-02] rank: a budget that was exceeded comes before a cancellation and after a child's error", async () => {
    await using rt = await Runtime.start(options);
    const exceeded = rt.launch(undefined, undefined, function* (n) {
      yield* n
        .spawn(function* (fiber) {
          yield* fiber.alloc(2 ** 40);
        }, [])
        .join();
    });
    expect(await exceeded.outcome).toMatchObject({
      kind: "budget exceeded",
      error: { code: "MemoryBudgetExhausted", component: "memory" },
    });
    const beside = rt.launch(undefined, undefined, function* (n) {
      n.spawn(function* () {
        try {
          yield* sleep(60_000);
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: as above
          throw later();
        }
      }, []);
      yield* n
        .spawn(function* (fiber) {
          yield* fiber.alloc(2 ** 40);
        }, [])
        .join();
    });
    expect(await beside.outcome).toMatchObject({ kind: "child failed", error: { message: "later" } });
  });

  test("[R-02] a nursery that is cancelled says so, from Open and from Closing", async () => {
    await using rt = await Runtime.start(options);
    const open = rt.launch(undefined, undefined, function* (n) {
      n.cancel("enough");
      yield* sleep(60_000);
    });
    expect(await open.outcome).toMatchObject({
      kind: "cancelled",
      error: { code: "NurseryCancelled", message: "enough" },
    });
    const closing = rt.launch(undefined, undefined, function* (n) {
      n.spawn(function* () {
        yield* wait(new Promise(() => undefined));
      }, []);
      yield;
    });
    setTimeout(() => closing.cancel(), 5);
    expect(await closing.outcome).toMatchObject({ kind: "cancelled", error: { code: "NurseryCancelled" } });
    expect(closing.nursery).toBe("Cancelled");
  });

  test("[R-13] [SCHED:8.3.1] cancelling reaches every child, whatever it does, and waits for all finally blocks", async () => {
    await using rt = await Runtime.start({ ...options, processors: 1 });
    const log: string[] = [];
    const channel = rt.channel<number>();
    const states: string[] = [];
    const run = rt.nursery({ spawnCount: 20, ops: 50_000 }, undefined, function* (n) {
      const blocked = n.spawn(function* () {
        try {
          yield* channel.recv();
        } finally {
          yield* sleep(1);
          log.push("blocked");
        }
      }, []);
      const yielding = n.spawn(function* () {
        try {
          for (;;) yield;
        } finally {
          yield;
          log.push("yielding");
        }
      }, []);
      const exhausted = n.spawn(
        function* (fiber) {
          try {
            yield* fiber.alloc(10);
          } finally {
            log.push("exhausted");
          }
        },
        [],
        { budget: { memory: 5 } },
      );
      const joining = n.spawn(function* () {
        try {
          yield* blocked.join();
        } finally {
          log.push("joining");
        }
      }, []);
      yield* sleep(2);
      const unstarted = n.spawn(() => log.push("unstarted ran"), []);
      const children = [blocked, yielding, exhausted, joining, unstarted];
      states.push(...children.map(({ state }) => state));
      n.cancel();
      states.push(...children.map(({ state }) => state));
      yield;
    });
    await expect(run).rejects.toMatchObject({ code: "NurseryCancelled" });
    expect(states).toEqual([
      "Blocked",
      "Ready",
      "BudgetExhausted",
      "Blocked",
      "Ready",
      ...Array(5).fill("Cancelled"),
    ]);
    expect(log.sort()).toEqual(["blocked", "exhausted", "joining", "yielding"]);
    expect(rt.snapshot().fibers).toEqual({
      Ready: 0,
      Running: 0,
      Blocked: 0,
      BudgetExhausted: 0,
      Completed: 0,
      Cancelled: 0,
    });
  });

  test("[R-13] code behind a call that was cancelled does not run, although the finally block in it waits", async () => {
    await using rt = await Runtime.start(options);
    const log: string[] = [];
    function* inner(): Steps<void> {
      try {
        yield* sleep(60_000);
      } finally {
        yield* sleep(1);
        yield;
        log.push("inner finally");
      }
    }
    function* outer(): Steps<void> {
      try {
        yield* inner();
        log.push("behind");
      } finally {
        yield* sleep(1);
        log.push("outer finally");
      }
      log.push("behind all");
    }
    await rt.nursery(undefined, undefined, function* (n) {
      const child = n.spawn(outer, []);
      yield* sleep(1);
      child.cancel();
    });
    expect(log).toEqual(["inner finally", "outer finally"]);
  });

  test("[R-13] a fiber that cancels its own nursery is Cancelled while it runs, and ends at its next yield", async () => {
    await using rt = await Runtime.start(options);
    const log: string[] = [];
    const run = rt.nursery(undefined, undefined, function* (n) {
      n.spawn(function* () {
        n.cancel();
        log.push("goes on");
        try {
          yield;
          log.push("not reached");
        } finally {
          log.push("finally");
        }
      }, []);
      yield* sleep(60_000);
    });
    await expect(run).rejects.toMatchObject({ code: "NurseryCancelled" });
    expect(log).toEqual(["goes on", "finally"]);
  });

  test("[R-13] a child can be cancelled alone: who joins it is told, and the others go on", async () => {
    await using rt = await Runtime.start(options);
    const said = await rt.nursery(undefined, undefined, function* (n) {
      const slow = n.spawn(function* () {
        yield* sleep(60_000);
      }, []);
      const other = n.spawn(() => "other", []);
      yield* sleep(1);
      slow.cancel();
      slow.cancel();
      try {
        yield* slow.join();
      } catch (error) {
        return [(error as { code: string }).code, yield* other.join(), slow.state];
      }
      return [];
    });
    expect(said).toEqual(["FiberCancelled", "other", "Cancelled"]);
  });

  test("[R-13] cancelling goes down through nurseries within nurseries, and comes back when all are over", async () => {
    await using rt = await Runtime.start(options);
    const log: string[] = [];
    const run = rt.nursery({ ops: 100_000, spawnCount: 50 }, undefined, function* (n) {
      n.spawn(
        function* (fiber) {
          try {
            yield* fiber.nursery({ ops: 5_000, spawnCount: 2 }, undefined, function* (inner) {
              inner.spawn(
                function* (leaf) {
                  try {
                    yield* leaf.nursery(undefined, undefined, function* () {
                      yield* sleep(60_000);
                    });
                  } finally {
                    yield* sleep(1);
                    log.push("leaf");
                  }
                },
                [],
                { budget: { ops: 1_000 } },
              );
              yield;
            });
          } finally {
            log.push("middle");
          }
        },
        [],
        { budget: { ops: 20_000, spawnCount: 10 } },
      );
      yield* sleep(2);
      throw new Error("above");
    });
    await expect(run).rejects.toThrow("above");
    expect(log).toEqual(["leaf", "middle"]);
    expect(rt.snapshot().budget.held).toEqual({
      ops: 0,
      memory: 0,
      spawnCount: 0,
      channelOps: 0,
      syscalls: 0,
    });
  });

  test("[R-13] finally blocks that do not end are ended: those that wait, those that yield, those that will not be left", async () => {
    await using rt = await Runtime.start({ ...options, graceMs: 3 });
    const never = rt.channel<never>();
    const { outcome } = rt.launch({ ops: 1_000_000, spawnCount: 5 }, undefined, function* (n) {
      n.spawn(function* () {
        try {
          yield* sleep(60_000);
        } finally {
          yield* never.recv();
        }
      }, []);
      n.spawn(function* () {
        for (;;)
          try {
            yield;
          } finally {
          }
      }, []);
      yield* sleep(1);
      n.cancel();
      for (;;)
        try {
          yield* never.recv();
        } catch {}
    });
    expect(await outcome).toMatchObject({ kind: "panic" });
    expect(rt.snapshot().roots).toEqual([]);
  });

  test("[R-02] a time-out and a deadline end a nursery on the runtime's clock, also one within another", async () => {
    await using rt = await Runtime.start(options);
    const timed = rt.launch(
      undefined,
      undefined,
      function* () {
        yield* sleep(60_000);
      },
      { timeoutMs: 5 },
    );
    expect(await timed.outcome).toMatchObject({ kind: "cancelled", error: { code: "NurseryTimedOut" } });
    const inner = await rt.nursery(undefined, undefined, function* (_n, fiber) {
      try {
        yield* fiber.nursery(
          undefined,
          undefined,
          function* (m) {
            m.spawn(function* () {
              yield* sleep(60_000);
            }, []);
            yield;
          },
          { deadlineMs: rt.nowMs() + 5 },
        );
      } catch (error) {
        return (error as { code: string }).code;
      }
      return "";
    });
    expect(inner).toBe("NurseryTimedOut");
    const early = await rt.nursery(
      undefined,
      undefined,
      function* () {
        yield;
        return "in time";
      },
      { timeoutMs: 60_000 },
    );
    expect(early).toBe("in time");
    const bad = rt.nursery(undefined, undefined, function* () {}, { timeoutMs: Number.NaN });
    await expect(bad).rejects.toThrow("timeoutMs is NaN; it is a number from 0 on");
  });

  test("[R-02] nothing is left behind by a fiber that leaves a nursery open", async () => {
    await using rt = await Runtime.start(options);
    let stopped = 0;
    await rt.nursery({ spawnCount: 10 }, undefined, function* (n) {
      yield* n
        .spawn(
          function* (fiber) {
            const opened = fiber.nursery({ spawnCount: 2 }, undefined, function* (inner) {
              inner.spawn(function* () {
                try {
                  yield* sleep(60_000);
                } finally {
                  stopped++;
                }
              }, []);
              for (;;) yield;
            });
            opened.next();
            yield* sleep(1);
          },
          [],
          { budget: { spawnCount: 3 } },
        )
        .join();
    });
    expect(stopped).toBe(1);
    expect(rt.snapshot().budget.held.ops).toBe(0);
  });
});
