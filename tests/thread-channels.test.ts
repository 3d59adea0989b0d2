// Channels between real threads: the runtime as it was built, because a thread cannot load TypeScript.

import { afterEach, describe, expect, test } from "vitest";
import {
  type Budget,
  type Channel,
  type Handle,
  Runtime,
  type RuntimeOptions,
  type Steps,
  select,
  sleep,
} from "../dist/runtime/index.js";
import * as work from "./channel-work.mjs";

const PLENTY: Budget = { ops: 1e12, memory: 1e12, spawnCount: 1e9, channelOps: 1e9, syscalls: 1e9 };
const SOME = { budget: { ops: 1e7, channelOps: 1e6 } };

let rt: Runtime;

async function start(options: RuntimeOptions = {}): Promise<void> {
  rt = await Runtime.start({ processors: 3, ...options });
}
afterEach(() => rt.close());

/** Spawns, and holds this thread until another one has stolen that. */
function elsewhere<T>(spawn: () => Handle<T>): Handle<T> {
  const before = rt.counters().steals;
  const handle = spawn();
  const untilMs = performance.now() + 30_000;
  while (rt.counters().steals === before)
    if (performance.now() > untilMs) throw new Error("no thread has stolen it within 30 s");
  return handle;
}

function* receive<T>(channel: Channel<T>): Steps<T> {
  return yield* channel.recv();
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

describe("[R-12] a channel between threads", () => {
  test.each([0, 1, 7, 1_000])(
    "of capacity %i loses nothing and keeps the order, either way",
    async (capacity) => {
      await start();
      const [up, down] = [rt.channel<number>(capacity), rt.channel<number>(capacity)];
      const [received, there, thread] = await rt.nursery(PLENTY, undefined, function* (n) {
        const sender = elsewhere(() => n.spawn(work.sendAll, [{ to: up }, 0, 500, true], SOME));
        const receiver = elsewhere(() => n.spawn(work.receiveAll, [down], SOME));
        const all: number[] = [];
        for (let i = 0; i < 500; i++) {
          all.push(yield* up.recv());
          yield* down.send(i);
        }
        down.close();
        return [all, yield* receiver.join(), yield* sender.join()] as const;
      });
      expect(received).toEqual(upTo(500));
      expect(there).toEqual(upTo(500));
      expect(thread).not.toBe(0);
      await expect(rt.nursery(PLENTY, undefined, () => receive(up))).rejects.toMatchObject({
        code: "ChannelClosed",
      });
    },
  );

  test("holds no more than its capacity", async () => {
    await start();
    const channel = rt.channel<number>(5);
    await rt.nursery(PLENTY, undefined, function* (n) {
      const sender = elsewhere(() => n.spawn(work.sendAll, [{ to: channel }, 0, 50, true], SOME));
      while (channel.size < 5) yield* sleep(1);
      yield* sleep(20);
      expect(channel.size).toBe(5);
      for (let i = 0; i < 50; i++) expect(yield* channel.recv()).toBe(i);
      yield* sender.join();
    });
  });

  test("of many senders and receivers gives each value to one, and each sender's in order", async () => {
    await start({ processors: 4 });
    const channel = rt.channel<number>(3);
    const all = await rt.nursery(PLENTY, undefined, function* (n) {
      const receivers = upTo(4).map(() => n.spawn(work.receiveAll, [channel], SOME));
      const senders = upTo(6).map((i) =>
        n.spawn(work.sendAll, [{ to: channel }, i * 1_000, i * 1_000 + 300, false], SOME),
      );
      for (const sender of senders) yield* sender.join();
      channel.close();
      const got: number[][] = [];
      for (const receiver of receivers) got.push(yield* receiver.join());
      return got;
    });
    const wanted = upTo(6).flatMap((i) => upTo(300).map((k) => i * 1_000 + k));
    expect(all.flat().toSorted((a, b) => a - b)).toEqual(wanted);
    for (const got of all)
      for (const i of upTo(6)) {
        const ofOne = got.filter((value) => Math.floor(value / 1_000) === i);
        expect(ofOne).toEqual(ofOne.toSorted((a, b) => a - b));
      }
  });

  test("serves those who wait in the order in which they came, wherever they are", async () => {
    await start({ processors: 2 });
    const told = rt.channel<number>();
    const channel = rt.channel<unknown>();
    const got = await rt.nursery(PLENTY, undefined, function* (n) {
      const handles: Handle<unknown>[] = [];
      for (let i = 0; i < 6; i++) {
        handles.push(
          i % 2 === 0
            ? elsewhere(() => n.spawn(work.receiveOne, [told, channel]))
            : n.spawn(work.receiveOne, [told, channel], { priority: "high" }),
        );
        yield* told.recv();
        while (channel.waiting.receivers <= i) yield* sleep(1);
      }
      for (let i = 0; i < 6; i++) yield* channel.send(i);
      const values: unknown[] = [];
      for (const handle of handles) values.push(yield* handle.join());
      return values;
    });
    expect(got).toEqual(upTo(6));
  });
});

describe("[R-12] what goes through a channel between threads", () => {
  test("is copied, and memory is shared", async () => {
    await start();
    const channel = rt.channel<{ memory: SharedArrayBuffer; text: string }>();
    const got = await rt.nursery(PLENTY, undefined, function* (n) {
      elsewhere(() => n.spawn(work.sendOne, [channel as Channel<unknown>, false]));
      return yield* channel.recv();
    });
    expect(got.text).toHaveLength(500);
    expect(got.memory).toBeInstanceOf(SharedArrayBuffer);
  });

  test("can be channels, that were made there and that hold something", async () => {
    await start();
    const offers = rt.channel<{ lines: [Channel<number>, Channel<number>] }>();
    const [answers, served] = await rt.nursery(PLENTY, undefined, function* (n) {
      const server = elsewhere(() => n.spawn(work.serve, [offers as Channel<unknown>], SOME));
      const { lines } = yield* offers.recv();
      const got = [yield* lines[1].recv()];
      expect(lines[0].describe()).toBe("channel questions");
      for (const question of [1, 2, 3]) {
        yield* lines[0].send(question);
        got.push(yield* lines[1].recv());
      }
      yield* lines[0].send(0);
      return [got, yield* server.join()] as const;
    });
    expect(answers).toEqual([-2, 2, 4, 6]);
    expect(served).toBe(4);
  });

  test.each([
    ["there", true],
    ["here", false],
  ])("is refused where it cannot be copied: %s", async (_where, isThere) => {
    await start();
    const channel = rt.channel<unknown>(1);
    const told = rt.channel<number>(1);
    const { outcome } = rt.launch(PLENTY, undefined, function* (n) {
      if (!isThere) yield* channel.send(() => 1);
      const spawn = () =>
        isThere ? n.spawn(work.sendOne, [channel, true]) : n.spawn(work.receiveOne, [told, channel]);
      yield* elsewhere<unknown>(spawn).join();
    });
    expect(await outcome).toMatchObject({
      kind: "child failed",
      error: { code: "InvalidArgument", message: expect.stringContaining("structured-clonable") },
    });
  });

  test("is no channel of another runtime", async () => {
    await start();
    await using other = await Runtime.start({ processors: 1 });
    const { outcome } = rt.launch(PLENTY, undefined, function* (n) {
      yield* elsewhere(() => n.spawn(work.receiveAll, [other.channel<number>()])).join();
    });
    expect(await outcome).toMatchObject({ error: { message: expect.stringContaining("another runtime") } });
  });
});

describe("[R-12] select between threads", () => {
  test("takes from whichever channel has something, each value once", async () => {
    await start({ processors: 4 });
    const channels = upTo(3).map(() => rt.channel<number>());
    const taken = await rt.nursery(PLENTY, undefined, function* (n) {
      const selecting = upTo(2).map(() => elsewhere(() => n.spawn(work.selectAll, [channels, 90], SOME)));
      for (const [i, to] of channels.entries())
        n.spawn(work.sendAll, [{ to }, i * 1_000, i * 1_000 + 60, false], SOME);
      const all: [number, number][] = [];
      for (const one of selecting) all.push(...(yield* one.join()));
      return all;
    });
    for (const [index, value] of taken) expect(Math.floor(value / 1_000)).toBe(index);
    expect(taken.map(([, value]) => value).toSorted((a, b) => a - b)).toEqual(
      upTo(3).flatMap((i) => upTo(60).map((k) => i * 1_000 + k)),
    );
  });

  test("of both ends on several threads never does one case for two, nor two for one", async () => {
    await start({ processors: 4 });
    const channel = rt.channel<number>();
    const said = await rt.nursery(PLENTY, undefined, function* (n) {
      const handles = upTo(40).map((i) => n.spawn(work.either, [channel, i, 200], SOME));
      const all: string[] = [];
      for (const handle of handles) all.push(yield* handle.join());
      return all;
    });
    const values = (word: string) =>
      said.filter((one) => one.startsWith(word)).map((one) => Number(one.slice(word.length)));
    expect(values("sent").toSorted((a, b) => a - b)).toEqual(values("got").toSorted((a, b) => a - b));
    expect(values("sent").length).toBeGreaterThan(0);
  });

  test("is late where nothing comes in time, and takes nothing then", async () => {
    await start();
    const channel = rt.channel<number>();
    const said = await rt.nursery(PLENTY, undefined, function* (n) {
      const first = yield* elsewhere(() => n.spawn(work.either, [channel, 1, 20], SOME)).join();
      return [first, (yield* select([channel.recv(), channel.send(2), sleep(20)])).index];
    });
    expect(said).toEqual(["late", 2]);
  });
});

describe("who waits at a channel of another thread", () => {
  test("[R-13] leaves it when it is cancelled", async () => {
    await start();
    const [told, channel] = [rt.channel<number>(), rt.channel<unknown>()];
    const got = await rt.nursery(PLENTY, undefined, function* (n) {
      const first = elsewhere(() => n.spawn(work.receiveOne, [told, channel]));
      yield* told.recv();
      while (channel.waiting.receivers < 1) yield* sleep(1);
      const second = elsewhere(() => n.spawn(work.receiveOne, [told, channel]));
      yield* told.recv();
      while (channel.waiting.receivers < 2) yield* sleep(1);
      first.cancel();
      try {
        yield* first.join();
      } catch {}
      yield* channel.send("for the second");
      return yield* second.join();
    });
    expect(got).toBe("for the second");
  });

  test("[R-17] is gone when its thread dies, and the channel is not", async () => {
    await start({ processors: 2 });
    const [told, channel] = [rt.channel<number>(), rt.channel<unknown>()];
    const dying = rt.launch(PLENTY, undefined, function* (n) {
      yield* elsewhere(() => n.spawn(work.dieWaiting, [told, channel], { budget: { spawnCount: 1 } })).join();
    });
    await rt.nursery(PLENTY, undefined, () => receive(told));
    expect(await dying.outcome).toMatchObject({ kind: "panic", error: { code: "WorkerPanic" } });
    const got = await rt.nursery(PLENTY, undefined, function* (n) {
      const handle = elsewhere(() => n.spawn(work.receiveOne, [told, channel]));
      yield* told.recv();
      yield* channel.send("for the living");
      return yield* handle.join();
    });
    expect(got).toBe("for the living");
  });

  test("[R-04] [R-05] pays for it and needs the right, as here", async () => {
    await start({ profile: "sovereign" });
    const channel = rt.channel<number>(10);
    const spawn = rt.grant.spawn({ delegable: true });
    const both = rt.grant.channel(["send", "receive"], { delegable: true });
    const run = (caps: { channel?: typeof both }, channelOps: number) =>
      rt.launch(PLENTY, { spawn, channel: both }, function* (n) {
        const options = { caps, budget: { channelOps } };
        yield* elsewhere(() => n.spawn(work.sendAll, [{ to: channel }, 0, 3, false], options)).join();
      }).outcome;
    expect(await run({}, 9)).toMatchObject({ error: { code: "CapabilityDenied" } });
    expect(await run({ channel: both.attenuate(["receive"]) }, 9)).toMatchObject({
      error: { code: "CapabilityDenied" },
    });
    expect(await run({ channel: both }, 2)).toMatchObject({ error: { code: "ChannelBudgetExhausted" } });
    expect(channel.size).toBe(2);
    expect(await run({ channel: both }, 3)).toMatchObject({ kind: "success" });
  });
});
