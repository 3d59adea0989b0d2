import fc from "fast-check";
import { expect, test } from "vitest";
import { RecentMap } from "./index.ts";

test("it keeps the last entries as they were set last, and forgets the others soon", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.array(fc.nat({ max: 60 })), (kept, keys) => {
      const recent = new RecentMap<number, number>(kept);
      for (const [at, key] of keys.entries()) recent.set(key, at);
      const last = new Map(keys.map((key, at) => [key, at]));
      for (const key of keys.slice(-kept)) expect(recent.get(key)).toBe(last.get(key));
      const remembered = [...last.keys()].filter((key) => recent.has(key));
      expect(remembered.length).toBeLessThanOrEqual(2 * kept);
      for (const key of remembered) expect(recent.get(key)).toBe(last.get(key));
    }),
  );
});
