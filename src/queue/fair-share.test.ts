import fc from "fast-check";
import { expect, test } from "vitest";
import { FairShare } from "./index.ts";

test("[Q-12] an agent runs as many tasks as it may, and one more when one completes", () => {
  const share = new FairShare();
  expect(share.admit("z", "a")).toBe(true);
  share.configure(2);
  share.recordStart("a");
  expect(share.admit("z", "a")).toBe(true);
  share.recordStart("a");
  expect([share.admit("z", "a"), share.admit("z", "b"), share.running("a")]).toEqual([false, true, 2]);
  share.recordComplete("a");
  expect(share.admit("z", "a")).toBe(true);
});

test("[Q-12] an agent's own limit goes before its zone's, and that before the default", () => {
  const share = new FairShare();
  share.configure(10);
  share.setZoneMax("z", 5);
  share.setMax("a", 0);
  share.setMax("b", null);
  expect([share.maxOf("z", "a"), share.maxOf("z", "b"), share.maxOf("z", "c")]).toEqual([0, null, 5]);
  expect([share.maxOf("y", "a"), share.maxOf("y", "c"), share.admit("z", "a")]).toEqual([0, 10, false]);
  share.setMax("a", undefined);
  expect(share.maxOf("z", "a")).toBe(5);
  share.setZoneMax("z", undefined);
  expect(share.maxOf("z", "a")).toBe(10);
});

test("[Q-12] what completes without having started is a bug", () => {
  expect(() => new FairShare().recordComplete("a")).toThrow("was counted as running");
});

test("[Q-12] ten thousand agents are counted exactly, and those without tasks leave no trace", () => {
  const anyMoves = fc.array(fc.tuple(fc.nat(9_999), fc.integer({ min: 1, max: 3 })), { maxLength: 300 });
  fc.assert(
    fc.property(anyMoves, (moves) => {
      let share = new FairShare();
      const running = new Map<string, number>();
      for (const [agent, count] of moves) {
        const key = `agent ${agent % (agent > 5_000 ? 10_000 : 7)}`;
        const before = running.get(key) ?? 0;
        // Every third stops what it runs; the others start more.
        if (agent % 3 === 0) for (let i = 0; i < before; i++) share.recordComplete(key);
        else for (let i = 0; i < count; i++) share.recordStart(key);
        running.set(key, agent % 3 === 0 ? 0 : before + count);
        if (agent % 10 === 1) share = FairShare.restore(JSON.parse(JSON.stringify(share.toSnapshot())));
        expect(share.running(key)).toBe(running.get(key));
      }
      const kept = [...running].filter(([, count]) => count > 0).sort(([a], [b]) => (a < b ? -1 : 1));
      expect(share.toSnapshot().running).toEqual(kept);
    }),
    { seed: 1, numRuns: 50 },
  );
});

test("[Q-12] a restart restores limits and counts", () => {
  const share = new FairShare();
  share.configure(3);
  share.setZoneMax("z", null);
  share.setMax("b", 1);
  share.setMax("a", 4);
  share.recordStart("c");
  const snapshot = share.toSnapshot();
  expect(snapshot).toEqual({
    defaultMax: 3,
    own: [
      ["a", 4],
      ["b", 1],
    ],
    zones: [["z", null]],
    running: [["c", 1]],
  });
  expect(FairShare.restore(snapshot).toSnapshot()).toEqual(snapshot);
});
