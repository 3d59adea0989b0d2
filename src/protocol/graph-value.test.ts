import fc from "fast-check";
import { expect, test } from "vitest";
import { readGraphFile, readGraphValue } from "./index.ts";

const anyNode = fc.record(
  {
    run: fc.constantFrom("echo hello", ""),
    task: fc.constantFrom("load", "command", 7),
    args: fc.array(
      fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.record({ node: fc.constantFrom("a", "b", "7") })),
    ),
    inputs: fc.constantFrom({}, { x: { node: "a" } }, []),
    needs: fc.subarray(["a", "b", "c", "7", "missing"]),
    retries: fc.constantFrom(2, -1),
    limits: fc.constantFrom(["gpu"], { gpu: 2 }),
    meta: fc.boolean(),
    env: fc.constantFrom({ LEVEL: "debug" }, 3),
    keep: fc.boolean(),
    payload: fc.jsonValue({ maxDepth: 1 }),
    odd: fc.constant(1),
  },
  { requiredKeys: ["task"] },
);

const goodNode = fc.record(
  {
    task: fc.constantFrom("load", "sum"),
    args: fc.array(fc.oneof(fc.nat(), fc.record({ node: fc.constantFrom("a", "7") }))),
    retries: fc.nat(3),
    limits: fc.constantFrom(["gpu"], { gpu: 2 }),
    keep: fc.boolean(),
  },
  { requiredKeys: ["task"] },
);

const nodesOf = (node: fc.Arbitrary<object>) =>
  fc.dictionary(fc.constantFrom("a", "b", "c", "7", "\0"), node, { minKeys: 1 });
const goodNodes = fc
  .record({ b: goodNode, c: goodNode })
  .map((nodes) => ({ a: { task: "load" }, "7": { task: "load", tokens: 2 }, ...nodes }));

const anyGraph = fc.record(
  {
    name: fc.constantFrom("nightly", ""),
    defaults: fc.constantFrom({ retries: 1, tokens: 3 }, { executor: "gpu", env: { A: "b" } }, { run: "x" }),
    nodes: fc.oneof(goodNodes, nodesOf(anyNode)),
  },
  { requiredKeys: ["nodes"] },
);

test("[P-19] what was parsed from JSON is read as its text is, and what is wrong with it is told in the same words", () => {
  const seen = { read: 0, refused: 0 };
  fc.assert(
    fc.property(fc.oneof(anyGraph, fc.jsonValue({ maxDepth: 2 })), (root) => {
      const limits = { maxNodes: 4, maxCharacters: 2_000 };
      const read = readGraphValue(root, "g.json", limits);
      expect(read).toEqual(readGraphFile(JSON.stringify(root), "g.json", limits));
      seen[read.ok ? "read" : "refused"]++;
    }),
    { seed: 1, numRuns: 1_000 },
  );
  expect(seen.read).toBeGreaterThan(20);
  expect(seen.refused).toBeGreaterThan(20);
});
