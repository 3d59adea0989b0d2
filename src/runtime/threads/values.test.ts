import fc from "fast-check";
import { expect, test } from "vitest";
import { readValue, readValues, writeValue, writeValues } from "./values.ts";

const anyValue = fc.oneof(
  fc.constantFrom(
    undefined,
    null,
    true,
    false,
    -0,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 31,
    -(2 ** 31),
  ),
  fc.integer(),
  fc.double(),
  fc.string({ maxLength: 12, unit: "binary" }),
);

test("what fits into a record is read as it was written, and nothing is written beyond", () => {
  fc.assert(
    fc.property(fc.array(anyValue, { maxLength: 12 }), (values) => {
      const words = new Int32Array(40).fill(-1);
      if (writeValues(words, 2, 34, values)) expect(readValues(words, 2)).toEqual(values);
      expect([...words.subarray(0, 2), ...words.subarray(34)]).toEqual([-1, -1, -1, -1, -1, -1, -1, -1]);
    }),
  );
});

test("a string of 55 characters fits into a record's 32 words, and what is too long or no plain value does not", () => {
  const words = new Int32Array(32);
  expect(writeValues(words, 0, 32, ["x".repeat(55)])).toBe(true);
  expect(readValues(words, 0)).toEqual(["x".repeat(55)]);
  for (const value of ["x".repeat(63), {}, [], 1n, Symbol("s"), () => 1, new Date(0)])
    expect(writeValues(words, 0, 32, [value])).toBe(false);
  expect(writeValue(words, 0, 32, "one")).toBe(3);
  expect(readValue(words, 0)).toBe("one");
});
