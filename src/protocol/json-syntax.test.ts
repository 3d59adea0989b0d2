import fc from "fast-check";
import { expect, test } from "vitest";
import { findJsonError } from "./json-syntax.ts";

test.each([
  ['{"a": 1,}', 8, "a key"],
  ['{"a" 1}', 5, "a colon"],
  ['{"a": [1 2]}', 9, "a comma or ]"],
  ['{"a": x}', 6, "a value"],
  ['{"a": 01}', 6, "a value"],
  ['{"a": "x', 8, "a closing quote"],
  ['{"a": "\\x"}', 7, "an escape such as \\n or \\\\"],
  ['{"a": 1}}', 8, "the end"],
  ['{"a": 1', 7, "a comma or }"],
])("%s stops being JSON at %i", (text, offset, expected) => {
  expect(findJsonError(text)).toEqual({ offset, expected });
});

test("an error is found exactly where JSON.parse finds one", () => {
  const mutated = fc
    .tuple(
      fc.json({ maxDepth: 3 }),
      fc.nat(),
      fc.constantFrom("", '"', "{", "]", ",", ":", "\\", "1", "-", "e", " ", "\n", "t"),
    )
    .map(([json, at, inserted]) => {
      const offset = at % (json.length + 1);
      return json.slice(0, offset) + inserted + json.slice(offset + (at % 2));
    });
  fc.assert(
    fc.property(fc.oneof(mutated, fc.json(), fc.string()), (text) => {
      expect(findJsonError(text) === undefined).toBe(parses(text));
    }),
    { numRuns: 2000 },
  );
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
