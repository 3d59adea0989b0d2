// Runs of real threads, recorded and replayed on one.

import { afterEach, describe, expect, test } from "vitest";
import {
  type Budget,
  type Handle,
  type Launched,
  type Nursery,
  type Recording,
  Runtime,
  type RuntimeOptions,
  sleep,
  wait,
} from "../dist/runtime/index.js";
import { waitWithChild } from "./channel-work.mjs";
import * as work from "./replay-work.mjs";

const PLENTY: Budget = { ops: 1e12, memory: 1e12, spawnCount: 1e9, channelOps: 1e9, syscalls: 1e9 };

let rt: Runtime;
let isReplayed = false;
afterEach(() => rt.close());

async function run<T>(options: RuntimeOptions, program: () => Promise<T>): Promise<T> {
  rt = await Runtime.start(options);
  return program();
}

/** Runs a program on threads, and again from the recording; what both came to. */
async function recordAndReplay<T>(program: () => Promise<T>, options: RuntimeOptions = {}) {
  isReplayed = false;
  const first = await run({ processors: 3, record: true, ...options }, program);
  const recording = JSON.parse(JSON.stringify(await rt.recording())) as Recording;
  const { steals } = rt.counters();
  await rt.close();
  isReplayed = true;
  const second = await run({ deterministic: true, replay: recording }, program);
  const replayed = await rt.replayed();
  expect(replayed.steals).toBe(steals);
  return { first, second, steals, recording, replayed };
}

/** Holds this thread until others have stolen so much. */
function untilStolen(steals: number): void {
  const untilMs = performance.now() + 30_000;
  while (!isReplayed && rt.counters().steals < steals)
    if (performance.now() > untilMs) throw new Error(`no ${steals} steals within 30 s`);
}

describe("[R-11] a run with threads that was recorded", () => {
  test("is replayed with the same steals, slices, charges and results", async () => {
    const { first, second, steals, replayed } = await recordAndReplay(() =>
      rt.nursery(PLENTY, undefined, function* (n) {
        const trees = [7, 8, 9].map((depth) =>
          n.spawn(work.tree, [depth], { budget: { ops: 1e9, spawnCount: 2_000 } }),
        );
        let sum = 0;
        untilStolen(2);
        for (const tree of trees) sum += yield* tree.join();
        return sum;
      }),
    );
    expect([first, second]).toEqual([896, 896]);
    expect(steals).toBeGreaterThanOrEqual(2);
    expect(replayed.steps).toBeGreaterThan(1_000);
  });

  test("is replayed with sleeps, times, random numbers and promises", async () => {
    const { first, second } = await recordAndReplay(() =>
      rt.nursery(PLENTY, undefined, function* (n) {
        const handles = [30, 5, 12, 1, 20, 0].map((ms) => n.spawn(work.dozing, [ms]));
        const values = [yield* wait(Promise.resolve("from outside"))];
        yield* sleep(3);
        const drawn: unknown[] = [...values];
        for (const handle of handles) drawn.push(yield* handle.join());
        return drawn;
      }),
    );
    expect(second).toEqual(first);
  });

  test("is replayed with channels between threads, errors and cancelling", async () => {
    const { first, second, steals } = await recordAndReplay(async () => {
      const channel = rt.channel<{ at: number }>(2);
      const run = async (fails: boolean) => {
        const { outcome } = rt.launch(PLENTY, undefined, function* (n) {
          const sums = [0, 0, 0];
          const budget = { ops: 1e6, channelOps: 1_000 };
          const makers = sums.map((_, at) =>
            n.spawn(work.producing, [{ to: channel }, 40, fails && at === 2], { budget }),
          );
          untilStolen(fails ? 2 : 1);
          for (let got = 0; got < 120; got++) sums[got % 3] = (yield* channel.recv()).at;
          for (const maker of makers) sums.push((yield* maker.join()).sent);
          return sums;
        });
        const ended = await outcome;
        return ended.kind === "success" ? ended.value : String(ended.error);
      };
      return [await run(false), await run(true)];
    });
    expect(second).toEqual(first);
    expect(first[1]).toBe("RangeError: no more");
    expect(steals).toBeGreaterThanOrEqual(2);
  });

  test("is replayed with what was done from outside", async () => {
    const { first, second } = await recordAndReplay(async () => {
      const body = function* (n: Nursery) {
        yield* n.spawn(work.dozing, [600_000]).join();
      };
      const launched: Launched<void>[] = [1, 2, 3].map(() => rt.launch(PLENTY, undefined, body));
      const kinds: string[] = [];
      for (const one of launched) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        one.cancel();
        kinds.push((await one.outcome).kind);
      }
      return kinds;
    });
    expect(second).toEqual(first);
    expect(first).toEqual(["cancelled", "cancelled", "cancelled"]);
  });

  test("is replayed with its deadlock", async () => {
    const { first, second } = await recordAndReplay(async () => {
      const channel = rt.channel<number>({ name: "never" });
      const { outcome } = rt.launch(PLENTY, undefined, function* (n) {
        n.spawn(waitWithChild, [channel], { budget: { channelOps: 9, spawnCount: 1 } });
        untilStolen(1);
        yield* channel.recv();
      });
      return String(((await outcome) as { error: unknown }).error);
    });
    expect(first).toMatch(/Deadlock: everything is blocked: .*; .*; /);
    expect(second).toBe(first);
  });
});

describe("a replay is refused", () => {
  const program = (depth: number) =>
    rt.nursery(PLENTY, undefined, function* (n: Nursery) {
      return yield* n.spawn(work.tree, [depth], { budget: { ops: 1e9, spawnCount: 2_000 } }).join();
    });
  const recorded = async () => {
    await run({ processors: 2, record: true }, () => program(6));
    const recording = await rt.recording();
    await rt.close();
    return recording;
  };

  test("where the program does something else", async () => {
    const recording = await recorded();
    const told = await run({ replay: recording }, () => program(7)).catch((error: unknown) => error);
    expect(told).toMatchObject({
      code: "ReplayDiverged",
      message: expect.stringMatching(/does not do what was recorded: processor \d at step \d+: fiber/),
    });
    await expect(rt.replayed()).rejects.toBe(told);
  });

  test("where the program does less, or more", async () => {
    const recording = await recorded();
    rt = await Runtime.start({ replay: recording, patienceMs: 50 });
    rt.launch(PLENTY, undefined, function* () {});
    await expect(rt.replayed()).rejects.toMatchObject({ code: "ReplayDiverged" });
    rt = await Runtime.start({ replay: recording });
    await program(6);
    await rt.replayed();
    expect(() => program(6)).toThrow("not, or not yet, in the recording");
  });

  test.each([
    ["a number changed", (log: number[]) => log.splice(5, 1, 77)],
    ["the end cut off", (log: number[]) => log.splice(-9)],
    ["nothing left of it", (log: number[]) => log.splice(0)],
  ])("where the recording is damaged: %s", async (_name, damage) => {
    const recording = structuredClone(await recorded()) as Recording & { logs: number[][] };
    damage(recording.logs[0] as number[]);
    await expect(Runtime.start({ replay: recording })).rejects.toThrow("replay is damaged: its hash");
  });

  test("where it is no recording, of another version, or of another number of processors", async () => {
    const recording = await recorded();
    for (const [replay, words] of [
      [{ ...recording, logs: [null, null] }, "is no recording"],
      [null, "is no recording"],
      [{ logs: 3 }, "is no recording"],
      [{ ...recording, version: 9 }, "has version 9"],
    ] as const)
      await expect(Runtime.start({ replay: replay as never })).rejects.toThrow(words);
    await expect(Runtime.start({ replay: recording, processors: 5 })).rejects.toThrow("processors is 5");
  });

  test("where nothing was recorded, and where a thread has died", async () => {
    rt = await Runtime.start({ processors: 2 });
    await expect(rt.recording()).rejects.toThrow("record: true");
    await expect(rt.replayed()).rejects.toThrow("replay: recording");
    await rt.close();
    rt = await Runtime.start({ processors: 2, record: true });
    await rt
      .nursery(PLENTY, undefined, function* (n) {
        const before = rt.counters().steals;
        const handle: Handle<unknown> = n.spawn(work.dying, []);
        while (rt.counters().steals === before);
        try {
          yield* handle.join();
        } catch {}
      })
      .catch(() => undefined);
    await expect(rt.recording()).rejects.toThrow("a run in which a thread dies cannot be replayed");
  });
});
