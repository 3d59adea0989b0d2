import { serialize } from "node:v8";
import { expect, test } from "vitest";
import { graph } from "../client/index.ts";
import { carriedValue } from "./carried-value.ts";

test.each([
  [Buffer.from([0, 255, 1])],
  ["a text with a \0"],
  [new Map([["when", new Date(0)]])],
  [new Float64Array([1.5, Number.NaN])],
  [Buffer.alloc(0)],
  [{ a: [1, null] }],
])("what a graph carries is what it was: %o", (value) => {
  const g = graph();
  const { id } = g.value(value);
  const { nodes } = g.toGraphFile() as { nodes: Record<string, { args: unknown[] }> };
  expect(carriedValue(nodes[id]?.args)).toEqual(value);
});

test("pieces are put together, and what is no value is refused for good", () => {
  const bytes = serialize({ a: [1, 2] });
  expect(carriedValue(["clone", bytes.subarray(0, 5).toString("base64"), bytes.subarray(5)])).toEqual({
    a: [1, 2],
  });
  for (const args of [undefined, [], ["json", "x"], ["yaml", "x"], ["bytes", 1], ["clone", "AAAA"]])
    expect(() => carriedValue(args)).toThrow(expect.objectContaining({ code: "bad-payload", retry: false }));
});
