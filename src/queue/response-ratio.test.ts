import fc from "fast-check";
import { expect, test } from "vitest";
import { compareRatios, overtakenFrom } from "./response-ratio.ts";

const anyPoint = fc.record({
  age: fc.oneof(fc.nat(10), fc.nat(10 ** 12)),
  estimateMs: fc.oneof(
    fc.integer({ min: 1, max: 10 }),
    fc.integer({ min: 1, max: 10 ** 10 }),
    fc.constantFrom(10 ** 9, 10 ** 9 + 1),
  ),
});

test("[Q-09] nobody is overtaken before the moment that was foretold", () => {
  const now = 1_790_000_000_000;
  fc.assert(
    fc.property(anyPoint, anyPoint, fc.double({ min: 0, max: 1, noNaN: true }), (a, b, share) => {
      const order = compareRatios(now - a.age, a.estimateMs, now - b.age, b.estimateMs, now);
      fc.pre(order !== 0);
      const [ahead, behind] = order < 0 ? [a, b] : [b, a];
      const isAhead = (at: number) =>
        compareRatios(now - ahead.age, ahead.estimateMs, now - behind.age, behind.estimateMs, at) <= 0;
      const from = overtakenFrom(now - ahead.age, ahead.estimateMs, now - behind.age, behind.estimateMs, now);
      expect(from).toBeGreaterThan(now);
      const last = Math.min(from, now + 10 ** 14) - 1;
      expect(isAhead(last)).toBe(true);
      expect(isAhead(now + Math.floor((last - now) * share))).toBe(true);
    }),
    { seed: 1, numRuns: 3_000 },
  );
});

test("[Q-09] who is ahead and has the smaller estimate stays ahead; else the moment is at most one early", () => {
  // Ready at 0 with 40 to do, against ready at 90 with 10 to do: equal at 120.
  expect(compareRatios(0, 40, 90, 10, 120)).toBe(0);
  expect(overtakenFrom(0, 40, 90, 10, 100)).toBe(120);
  expect(overtakenFrom(0, 40, 90, 11, 100)).toBe(125);
  expect(overtakenFrom(0, 40, 90, 10, 120)).toBe(121);
  expect(overtakenFrom(0, 10, 90, 40, 100)).toBe(Number.POSITIVE_INFINITY);
});
