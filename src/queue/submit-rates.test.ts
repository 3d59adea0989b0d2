import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SubmitRates } from "./submit-rates.ts";

const TWO = { count: 2, periodMs: 1000 };

describe("[Q-22] how fast an agent may submit", () => {
  test("is not limited unless it is set, for everyone or for one", () => {
    const rates = new SubmitRates();
    for (let at = 0; at < 100; at++) rates.take("a", 0);
    expect([rates.nextAt("a", 0), rates.toSnapshot()]).toEqual([undefined, undefined]);
    rates.configure(TWO, 0);
    rates.set("b", null, 0);
    expect([rates.rateOf("a"), rates.rateOf("b")]).toEqual([TWO, null]);
    rates.set("b", undefined, 0);
    expect(rates.rateOf("b")).toEqual(TWO);
  });

  test("lets a burst of the count go, then one for each part of the period", () => {
    const rates = new SubmitRates();
    rates.configure(TWO, 0);
    rates.take("a", 0);
    expect(rates.nextAt("a", 0)).toBeUndefined();
    rates.take("a", 0);
    expect(rates.nextAt("a", 0)).toBe(500);
    expect(rates.nextAt("a", 499)).toBe(500);
    expect(rates.nextAt("a", 500)).toBeUndefined();
    expect(rates.nextAt("b", 0)).toBeUndefined();
  });

  test("what was used stays used when the rate is set again, and is forgiven when it is taken away", () => {
    const rates = new SubmitRates();
    rates.configure(TWO, 0);
    rates.take("a", 0);
    rates.take("a", 0);
    rates.set("a", { count: 4, periodMs: 1000 }, 0);
    rates.take("a", 0);
    expect(rates.nextAt("a", 0)).toBeUndefined();
    rates.take("a", 0);
    expect(rates.nextAt("a", 0)).toBe(250);
    rates.set("a", null, 0);
    rates.set("a", undefined, 0);
    expect(rates.nextAt("a", 0)).toBeUndefined();
  });

  test("never admits more than its bucket allows in any window, and a snapshot goes on the same", () => {
    const anyTimes = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 900 }),
        anyTimes,
        (count, periodMs, gaps) => {
          let rates = new SubmitRates();
          const rate = { count, periodMs };
          rates.configure(rate, 0);
          const taken: number[] = [];
          let now = 0;
          for (const gap of gaps) {
            now += gap;
            const copy = new SubmitRates();
            copy.configure(rate, now);
            copy.restore(rates.toSnapshot());
            expect(copy.nextAt("a", now)).toBe(rates.nextAt("a", now));
            rates = copy;
            if (rates.nextAt("a", now) !== undefined) continue;
            rates.take("a", now);
            taken.push(now);
          }
          for (const [at, from] of taken.entries()) {
            for (const [more, to] of taken.slice(at).entries()) {
              expect(more + 1).toBeLessThanOrEqual(count + Math.floor(((to - from) * count) / periodMs));
            }
          }
        },
      ),
    );
  });

  test("forgets agents that have all of their rate left, when there are many", () => {
    const rates = new SubmitRates();
    rates.configure(TWO, 0);
    for (let at = 0; at < 10_000; at++) rates.take(`early ${at}`, 0);
    rates.take("late", 5_000);
    expect(rates.toSnapshot()?.used.map(([key]) => key)).toEqual(["late"]);
  });
});
