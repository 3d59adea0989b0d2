import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson, sha256Hex } from "../core/index.ts";
import { type FileNode, readGraphFile } from "./index.ts";

function read(nodes: object): readonly FileNode[] {
  const result = readGraphFile(JSON.stringify({ nodes }), "g.json");
  if (!result.ok) throw new Error(result.problems[0]?.message);
  return result.graph.nodes;
}

const hashesOf = (nodes: object) => read(nodes).map(({ spec }) => spec.requestHash);

test("nodes that ask for the same have one hash, and those that ask for anything else another", () => {
  const [ab, ba, again, other, more] = hashesOf({
    ab: { task: "t", payload: { a: 1, b: { c: 2, d: 3 } } },
    ba: { task: "t", payload: { b: { d: 3, c: 2 }, a: 1 } },
    again: { task: "t", payload: { a: 1, b: { c: 2, d: 3 } }, retries: 2 },
    other: { task: "u", payload: { a: 1, b: { c: 2, d: 3 } } },
    more: { task: "t", payload: { a: 1, b: { c: 2, d: 4 } } },
  });
  expect(ba).toBe(ab);
  expect(again).toBe(ab);
  expect(new Set([ab, other, more]).size).toBe(3);
});

test("a task that is given what a command is given is no command", () => {
  const [command, task] = hashesOf({ a: { run: "x" }, b: { task: "t", payload: { command: "x" } } });
  expect(task).not.toBe(command);
});

test("members of a payload stay in the order in which they were given", () => {
  const nodes = read({
    a: { task: "t", payload: { b: 1, a: 2 } },
    b: { task: "t", payload: { a: 2, b: 1 } },
    c: { task: "t", args: [{ node: "a" }, 7] },
    d: { run: "x", env: { B: "1", A: "2" }, cwd: "sub" },
    e: { run: "x" },
  });
  expect(nodes.map(({ payload }) => payload)).toEqual([
    '{"b":1,"a":2}',
    '{"a":2,"b":1}',
    '{"args":[{"$input":0},7],"inputs":{}}',
    '{"command":"x","cwd":"sub","env":{"B":"1","A":"2"}}',
    '{"command":"x"}',
  ]);
});

const anyPayload = fc.jsonValue({ maxDepth: 2 }).filter((value) => JSON.stringify(value).isWellFormed());
const anyWork = fc.oneof(
  fc.record({ task: fc.constantFrom("t", "u"), payload: anyPayload }),
  fc.record({ run: fc.constantFrom("x", "y"), env: fc.constantFrom({}, { B: "1", A: "2" }) }),
);

test("the hash is that of the canonical request, whatever was asked for before", () => {
  fc.assert(
    fc.property(fc.array(anyWork, { minLength: 1 }), (works) => {
      const result = readGraphFile(JSON.stringify({ nodes: { ...works } }), "g.json");
      for (const { spec, work, payload } of result.ok ? result.graph.nodes : []) {
        expect(spec.requestHash).toBe(sha256Hex(canonicalJson(work)));
        if (work.kind === "task") expect(payload).toBe(JSON.stringify(work.payload));
      }
    }),
    { seed: 1, numRuns: 300 },
  );
});

test("more requests than are remembered keep their hashes", () => {
  const payloads = Array.from({ length: 2_500 }, (_, at) => at % 1_250);
  const nodes = read(payloads.map((payload, at) => ({ id: String(at), task: "t", payload })));
  expect(nodes.map(({ payload }) => payload)).toEqual(payloads.map(String));
  expect(nodes.map(({ spec }) => spec.requestHash)).toEqual(
    payloads.map((payload) => sha256Hex(canonicalJson({ kind: "task", payload, type: "t" }))),
  );
});

test("what many nodes ask for counts for each of them", () => {
  const nodes = Array.from({ length: 100 }, (_, at) => ({
    id: String(at),
    task: "t",
    payload: "x".repeat(100),
  }));
  const isRead = (maxCharacters: number) =>
    readGraphFile(JSON.stringify({ nodes }), "g.json", { maxCharacters }).ok;
  expect(isRead(30_000)).toBe(true);
  expect(isRead(10_000)).toBe(false);
});
