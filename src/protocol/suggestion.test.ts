import fc from "fast-check";
import { expect, test } from "vitest";
import { closest } from "./suggestion.ts";

const KEYS = ["run", "task", "needs", "timeout", "retries", "priority", "capabilities"];

test.each([
  ["need", "needs"],
  ["neesd", "needs"],
  ["TIMEOUT", "timeout"],
  ["timout", "timeout"],
  ["cap", "capabilities"],
  ["prio", "priority"],
  ["xyz", undefined],
  ["r", undefined],
  ["", undefined],
])("for %j it is %j", (word, meant) => expect(closest(word, KEYS)).toBe(meant));

test("two neighbours swapped are a single slip, wherever they stand", () => {
  fc.assert(
    fc.property(
      fc.stringMatching(/^[a-z]{6,40}$/),
      fc.nat(),
      fc.array(fc.stringMatching(/^[0-9]{1,40}$/)),
      (id, at, others) => {
        const first = at % (id.length - 1);
        const swapped = id.slice(0, first) + id[first + 1] + id[first] + id.slice(first + 2);
        expect(closest(swapped, [...others, id])).toBe(id);
      },
    ),
  );
});

test("the nearest of several is meant", () => {
  expect(closest("train-model-3", ["train-model-11", "train-model-33", "train-mode", "train-model-2"])).toBe(
    "train-model-33",
  );
});

test("nothing is looked for that is too long to be a slip", () => {
  expect(closest("x".repeat(100), [`${"x".repeat(99)}y`])).toBe(`${"x".repeat(99)}y`);
  expect(closest("x".repeat(101), ["x".repeat(100)])).toBeUndefined();
});
