import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isFilterProblem, readFilter } from "./task-filter.ts";

test("each term is read", () => {
  expect(
    readFilter(
      " status:queued,failed  agent:a1 class:batch type:resize executor:gpu run:r wait>5m wait<1h30m ",
    ),
  ).toEqual({
    status: ["queued", "failed"],
    agent: "a1",
    class: "batch",
    type: "resize",
    executor: "gpu",
    run: "r",
    waitMs: { min: 300_000, max: 5_400_000 },
  });
  expect(readFilter("")).toEqual({});
  expect(readFilter('type:"a b" agent:x:y')).toEqual({ type: "a b", agent: "x:y" });
});

describe("what is wrong is named with its place:", () => {
  const cases: readonly (readonly [string, number, string])[] = [
    ["status:queud", 0, 'has no status "queud"; did you mean "queued"?'],
    ["type:a stats:x", 7, 'has no key "stats"; did you mean "status"?'],
    ["resize", 0, 'has "resize", which is no term'],
    ["status:", 0, "has no value behind status:"],
    ["wait:5m", 0, "compares waits with > or <"],
    ["wait>soon", 0, "has a wait that must be a duration"],
    ["type>a", 0, "compares type, which only has values"],
    ["type:a type:b", 7, "has type twice"],
  ];
  test.each(cases)("%s", (text, at, detail) => {
    const read = readFilter(text);
    expect(isFilterProblem(read) && read.at).toBe(at);
    expect(isFilterProblem(read) && read.detail).toContain(detail);
  });
});

test("any text is read, or refused at a place that it has", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const read = readFilter(text);
      expect(!isFilterProblem(read) || read.at < text.length).toBe(true);
    }),
  );
});
