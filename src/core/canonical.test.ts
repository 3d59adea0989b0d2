import canonicalize from "canonicalize";
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson, InvariantError } from "./index.ts";

const SEED = { seed: 1, numRuns: 1_000 };
const anyJson = fc.jsonValue({ maxDepth: 4, stringUnit: "binary" });

test("canonical JSON is that of RFC 8785, as another implementation writes it", () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      expect(canonicalJson(value)).toBe(canonicalize(value));
    }),
    SEED,
  );
});

test("canonical JSON reads back as the same value", () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
    SEED,
  );
});

test("the order in which members were set does not show", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: "binary" }), fc.nat()), (value) => {
      const reversed = Object.fromEntries(Object.entries(value).toReversed());
      expect(canonicalJson(reversed)).toBe(canonicalJson({ ...value }));
    }),
    SEED,
  );
});

test("numbers and keys are written as the RFC's own examples are", () => {
  expect(canonicalJson([333_333_333.333_333_3, 1e30, 4.5, 2e-3, 1e-27, -0])).toBe(
    "[333333333.3333333,1e+30,4.5,0.002,1e-27,0]",
  );
  const keys = { "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\u{1f600}": 5, "\u0080": 6, "\u00f6": 7 };
  expect(canonicalJson(keys)).toBe(
    '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\u{1f600}":5,"\ufb33":3}',
  );
});

test("members that are undefined are left out", () => {
  expect(canonicalJson({ b: undefined, a: [{ c: undefined }] })).toBe('{"a":[{}]}');
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, undefined, [undefined], () => 1, Symbol("s")])(
  "what JSON cannot say is a bug, not a text: %s",
  (value) => {
    expect(() => canonicalJson(value)).toThrow(InvariantError);
  },
);
