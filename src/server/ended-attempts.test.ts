import fc from "fast-check";
import { expect, test } from "vitest";
import { EndedAttempts } from "./ended-attempts.ts";
import type { RecentAttempt } from "./recent-attempts.ts";

const time = fc.integer({ min: -1, max: 2 ** 45 });
const name = fc.string({ maxLength: 3 });

const anAttempt: fc.Arbitrary<RecentAttempt> = fc.record({
  worker: fc.nat(),
  lane: fc.integer({ min: -1, max: 300 }),
  isIo: fc.boolean(),
  taskId: name,
  node: fc.option(name, { nil: undefined }),
  attempt: fc.nat(),
  type: name,
  zone: name,
  agent: name,
  assignedAt: time,
  startedAt: time,
  endedAt: time,
  toldAt: time,
  outcome: fc.constantFrom("finished", "failed", "timed out", "lost", "cancelled", "expanded"),
  transfers: fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat(), fc.nat()), { maxLength: 2 }),
});

test("the attempts that ended last are told as they were, however many went before", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.array(anAttempt, { maxLength: 60 }),
      (remembered, all) => {
        const ended = new EndedAttempts(remembered, 7);
        for (const [at, attempt] of all.entries()) {
          ended.add(attempt);
          ended.trim();
          const told = [...ended.latest()];
          expect(told.length).toBeGreaterThanOrEqual(Math.min(at + 1, remembered));
          expect(told.length).toBeLessThanOrEqual(2 * remembered);
          expect(told).toEqual(all.slice(at + 1 - told.length, at + 1).reverse());
          expect(ended.wholeFrom).toBe(all[at - told.length]?.toldAt ?? 7);
        }
      },
    ),
  );
});
