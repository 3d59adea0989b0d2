import fc from "fast-check";
import { expect, test } from "vitest";
import { Limit } from "./index.ts";

const NOW = 1_790_000_000_000;

function aLimit(concurrency: number | null, rateCount: number | null, ratePeriodMs = 1_000): Limit {
  const limit = new Limit();
  limit.configure({ concurrency, rateCount, ratePeriodMs }, NOW);
  return limit;
}

test("a limit that was not set stands in nobody's way", () => {
  const limit = new Limit();
  expect([limit.isConfigured, limit.admits(NOW), limit.nextAt(NOW)]).toEqual([false, true, undefined]);
  expect(aLimit(null, null).isConfigured).toBe(false);
  expect([aLimit(1, null).isConfigured, aLimit(null, 1).isConfigured]).toEqual([true, true]);
});

test("as many run at once as the concurrency says; time alone admits no more", () => {
  const limit = aLimit(2, null);
  limit.start(NOW);
  limit.start(NOW);
  expect([limit.running, limit.admits(NOW + 10 ** 9), limit.nextAt(NOW)]).toEqual([2, false, undefined]);
  limit.end();
  expect(limit.admits(NOW)).toBe(true);
  limit.end();
  expect(() => limit.end()).toThrow("was started under it");
});

test("a rate lets a whole period's worth go at once, and then one at a time", () => {
  const limit = aLimit(null, 3, 1_000);
  for (let i = 0; i < 3; i++) limit.start(NOW);
  expect([limit.admits(NOW), limit.nextAt(NOW)]).toEqual([false, NOW + 334]);
  expect([limit.admits(NOW + 333), limit.admits(NOW + 334)]).toEqual([false, true]);
  limit.start(NOW + 334);
  // The third of a millisecond that was rounded away is not lost.
  expect(limit.nextAt(NOW + 334)).toBe(NOW + 667);
});

test("within any time no more start than the bucket and the rate allow, and a waiting one starts in time", () => {
  const anyRate = fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 5_000 }));
  const anyPauses = fc.array(fc.oneof(fc.constant(0), fc.nat(50), fc.nat(6_000)), { maxLength: 150 });
  fc.assert(
    fc.property(anyRate, anyPauses, ([count, periodMs], pauses) => {
      let limit = aLimit(null, count, periodMs);
      const starts: number[] = [];
      let now = NOW;
      for (const pause of pauses) {
        now += pause;
        // Half of the tries wait until they are let in.
        if (pause % 2 === 0) now = limit.nextAt(now) ?? now;
        if (pause % 2 === 0) expect(limit.admits(now)).toBe(true);
        if (!limit.admits(now)) {
          expect(limit.nextAt(now)).toBeGreaterThan(now);
          expect(limit.admits((limit.nextAt(now) as number) - 1)).toBe(false);
          continue;
        }
        limit.start(now);
        starts.push(now);
        if (pause % 5 === 0) limit = Limit.restore(JSON.parse(JSON.stringify(limit.toSnapshot())));
      }
      for (const [from, first] of starts.entries()) {
        for (const [more, last] of starts.slice(from).entries()) {
          expect(more + 1).toBeLessThanOrEqual(count + Math.floor(((last - first) * count) / periodMs));
        }
      }
    }),
    { seed: 1, numRuns: 150 },
  );
});

test("asking changes nothing, and a new rate counts what was used of the old", () => {
  const limit = aLimit(5, 10, 1_000);
  for (let i = 0; i < 10; i++) limit.start(NOW);
  const before = limit.toSnapshot();
  limit.admits(NOW + 500);
  limit.nextAt(NOW + 500);
  expect(limit.toSnapshot()).toEqual(before);
  limit.configure({ concurrency: null, rateCount: 10, ratePeriodMs: 1_000 }, NOW);
  expect(limit.nextAt(NOW)).toBe(NOW + 100);
  limit.configure({ concurrency: null, rateCount: 12, ratePeriodMs: 60_000 }, NOW);
  expect(limit.admits(NOW)).toBe(true);
  limit.start(NOW);
  limit.start(NOW);
  expect(limit.nextAt(NOW)).toBe(NOW + 5_000);
  limit.configure({ concurrency: null, rateCount: 2, ratePeriodMs: 60_000 }, NOW);
  expect(limit.nextAt(NOW)).toBe(NOW + 30_000);
  expect(limit.running).toBe(12);
});

test("[G-05] amounts share a limit: what does not fit waits, what is smaller fits", () => {
  const limit = aLimit(10, null);
  limit.start(NOW, 7);
  expect([limit.running, limit.admits(NOW, 4), limit.admits(NOW, 3)]).toEqual([7, false, true]);
  limit.end(7);
  expect([limit.admits(NOW, 10), limit.admits(NOW, 11)]).toEqual([true, false]);
});

test("a rate that was taken away leaves nothing behind", () => {
  const limit = aLimit(null, 3);
  limit.start(NOW + 5);
  limit.end();
  limit.configure({ concurrency: null, rateCount: null, ratePeriodMs: 1 }, NOW + 9);
  expect(limit.toSnapshot()).toEqual(new Limit().toSnapshot());
});
