import fc from "fast-check";
import { expect, test } from "vitest";
import { PassingMap } from "./index.ts";

test("it holds what a map holds, in the same order, however much has passed through it", () => {
  const anyStep = fc.record({ key: fc.nat({ max: 40 }), isDeleted: fc.boolean() });
  fc.assert(
    fc.property(fc.array(anyStep), fc.nat({ max: 3_000 }), (steps, passing) => {
      const [passed, plain] = [new PassingMap<number, number>(), new Map<number, number>()];
      for (let at = 0; at < passing; at++) {
        passed.set(-1, at);
        expect(passed.delete(-1)).toBe(true);
      }
      for (const [at, { key, isDeleted }] of steps.entries()) {
        if (isDeleted) expect(passed.delete(key)).toBe(plain.delete(key));
        else {
          passed.set(key, at);
          plain.set(key, at);
        }
      }
      expect([...passed]).toEqual([...plain]);
      expect([...passed.keys()]).toEqual([...plain.keys()]);
      expect([...passed.values()]).toEqual([...plain.values()]);
      expect(passed.size).toBe(plain.size);
      for (let key = -1; key <= 40; key++) {
        expect(passed.get(key)).toBe(plain.get(key));
        expect(passed.has(key)).toBe(plain.has(key));
      }
    }),
    { numRuns: 50 },
  );
});
