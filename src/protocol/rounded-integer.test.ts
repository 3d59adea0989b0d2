import fc from "fast-check";
import { expect, test } from "vitest";
import { roundedInteger } from "./rounded-integer.ts";

test.each([
  ["9007199254740993"],
  ["-9007199254740993"],
  ["9223372036854775807"],
  ["1234567890123456789012345"],
])("%s loses digits", (digits) => {
  const texts = [digits, `[${digits}]`, `{"a\\"": "\\\\", "b": [1, {"c":${digits} }]}`, `\uFEFF[${digits}]`];
  for (const text of texts) expect(roundedInteger(text)).toBe(digits);
});

test("what comes back as it was sent loses none, and digits in a text are none", () => {
  const sent = fc.oneof(
    fc.json(),
    fc.maxSafeInteger().map(String),
    fc.bigInt().map((n) => JSON.stringify(`${n}`)),
  );
  fc.assert(
    fc.property(sent, (text) => {
      for (const power of [21, 22, 23, 300])
        expect(roundedInteger(`[-1${"0".repeat(power)}]`)).toBeUndefined();
      expect(roundedInteger(`15${"0".repeat(25)}`)).toBeUndefined();
      expect(roundedInteger(JSON.stringify(JSON.parse(text)))).toBeUndefined();
    }),
  );
  for (const power of [21, 22, 23, 300]) expect(roundedInteger(`[-1${"0".repeat(power)}]`)).toBeUndefined();
  expect(roundedInteger(`15${"0".repeat(25)}`)).toBeUndefined();
  expect(roundedInteger(JSON.stringify([2 ** 53, 2 ** 63, 1e300, "9007199254740993"]))).toBeUndefined();
});
