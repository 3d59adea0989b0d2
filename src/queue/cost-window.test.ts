import fc from "fast-check";
import { expect, test } from "vitest";
import { CostWindow } from "./index.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;

test("[Q-08] a cost counts for a whole window, and at most a sixtieth longer", () => {
  const window = new CostWindow(HOUR);
  const now = 100 * HOUR + 12_345;
  window.add(now, 700);
  expect([window.sum(now), window.sum(now + HOUR - 1), window.sum(now + HOUR + MINUTE)]).toEqual([
    700, 700, 0,
  ]);
});

test("[Q-08] the sum lies between that of the window and that of a step more, and memory is bounded", () => {
  const anyCosts = fc.array(
    fc.tuple(fc.oneof(fc.nat(100), fc.nat(5_000), fc.nat(200_000)), fc.nat(1_000_000)),
    { maxLength: 200 },
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100_000 }), anyCosts, (windowMs, costs) => {
      let window = new CostWindow(windowMs);
      const log: [at: number, micros: number][] = [];
      const since = (at: number) => log.reduce((sum, [then, micros]) => (then > at ? sum + micros : sum), 0);
      let now = 0;
      for (const [pause, micros] of costs) {
        now += pause;
        const before = JSON.stringify(window.toSnapshot());
        expect(window.sum(now)).toBeGreaterThanOrEqual(since(now - windowMs));
        expect(window.sum(now)).toBeLessThanOrEqual(since(now - windowMs - Math.ceil(windowMs / 60)));
        expect(JSON.stringify(window.toSnapshot())).toBe(before);
        if (pause % 3 === 0) window = CostWindow.restore(JSON.parse(before));
        window.add(now, micros);
        log.push([now, micros]);
        expect(window.toSnapshot().steps.length).toBeLessThanOrEqual(61);
      }
    }),
    { seed: 1, numRuns: 100 },
  );
});

test("a window that is given another length counts what was added before, by the step that it was in", () => {
  const window = new CostWindow(60_000);
  window.add(500, 3);
  window.add(30_000, 4);
  const longer = window.resized(120_000, 30_000);
  expect(longer.sum(120_000)).toBe(7);
  expect(longer.sum(121_999)).toBe(4);
  expect(window.resized(120_000, 61_000).sum(61_000)).toBe(4);
  const shorter = window.resized(6_000, 30_000);
  expect(shorter.sum(31_000)).toBe(4);
  expect(shorter.sum(40_000)).toBe(0);
  const long = new CostWindow(3_600_000);
  long.add(59_000, 3);
  long.add(60_500, 4);
  expect(long.resized(10_000, 60_500).sum(60_500)).toBe(7);
});
