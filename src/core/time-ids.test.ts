import fc from "fast-check";
import { expect, test } from "vitest";
import { TimeIds } from "./index.ts";

const UUID_7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7([0-9a-f]{3})-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const timeOf = (id: string) => {
  const [, seconds, rest] = UUID_7.exec(id) as unknown as [string, string, string];
  return Number.parseInt(seconds + rest, 16);
};

test("[Q-01] ids are UUIDs of version 7 that grow, whatever the clock does and whatever chance brings", () => {
  const anyClock = fc.array(fc.integer({ min: 0, max: 2 ** 48 - 2 }), { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(anyClock, fc.constantFrom(0, 0x5a, 0xff), (times, byte) => {
      const ids = new TimeIds((bytes) => bytes.fill(byte));
      let last = "";
      let latest = 0;
      for (const now of times) {
        const id = ids.next(now);
        latest = Math.max(latest, now);
        expect(id).toMatch(UUID_7);
        expect(timeOf(id)).toBe(latest);
        expect(id > last).toBe(true);
        last = id;
      }
    }),
    { seed: 1, numRuns: 500 },
  );
});

test("[Q-01] a counter that runs over goes on in its upper part, and then in the next millisecond", () => {
  let fills = 0;
  // The largest lower part, and the largest that the upper part may begin with.
  const ids = new TimeIds((bytes) => {
    fills += 1;
    bytes.fill(0xff);
  });
  const now = 1_700_000_000_000;
  let last = ids.next(now);
  expect(last).toBe("018bcfe5-6800-77ff-bfff-ffffffffffff");
  const next = ids.next(now);
  expect(next).toBe("018bcfe5-6800-7800-8000-0000ffffffff");
  expect(fills).toBe(1);
  last = next;
  for (let count = 0; count < 100; count++) {
    const id = ids.next(now - count);
    expect(id > last).toBe(true);
    last = id;
  }
});

test("[Q-01] what chance brings is used once", () => {
  let fills = 0;
  const ids = new TimeIds((bytes) => {
    bytes.forEach((_, at) => {
      bytes[at] = at % 251;
    });
    fills += 1;
  });
  const tails = new Set(Array.from({ length: 1_000 }, () => ids.next(5).slice(-8)));
  expect(fills).toBe(1);
  expect(tails.size).toBeGreaterThan(240);
});
