import fc from "fast-check";
import { expect, test } from "vitest";
import { compareProducts } from "./exact-product.ts";

/** Also numbers whose products differ by one in fifty digits. */
const anyFactor = fc.oneof(
  fc.maxSafeNat(),
  fc.nat(1_000),
  fc.constantFrom(0, 1, 94_906_265, 94_906_266, 94_906_267, 999_999_999, 1_000_000_000, 1_000_000_001),
);

test("[Q-09] products are compared exactly, also beyond what a double holds", () => {
  const anyNudge = fc.integer({ min: -1, max: 1 });
  const bounded = (value: number) => Math.min(Math.max(0, value), Number.MAX_SAFE_INTEGER);
  fc.assert(
    fc.property(anyFactor, anyFactor, anyNudge, anyNudge, fc.boolean(), (a, b, da, db, swaps) => {
      const [c, d] = swaps ? [bounded(b + db), bounded(a + da)] : [bounded(a + da), bounded(b + db)];
      const exact = BigInt(a) * BigInt(b) - BigInt(c) * BigInt(d);
      expect(Math.sign(compareProducts(a, b, c, d))).toBe(exact > 0n ? 1 : exact < 0n ? -1 : 0);
    }),
    { seed: 1, numRuns: 5_000 },
  );
});
