import { expect, test } from "vitest";
import { taskSpecOf, wireGraph } from "../graph/index.ts";
import { readGraphFile } from "./index.ts";

function read(nodes: Record<string, unknown>) {
  return readGraphFile(JSON.stringify({ nodes }), "g.json");
}

test("[D-01] references in arguments are inputs and needs, at any depth, each once and in the order of mention", () => {
  const result = read({
    a: { task: "t" },
    b: { task: "t", args: [1] },
    c: {
      task: "t",
      needs: ["b"],
      args: [{ node: "b" }, { deep: [{ nodes: ["a", "b"] }] }],
      inputs: { x: { node: "a" } },
    },
  });
  const [, , node] = result.ok ? result.graph.nodes : [];
  expect(node?.spec).toMatchObject({ needs: ["b", "a"], inputs: ["b", "a"], keep: true });
  expect(node?.work).toMatchObject({
    payload: {
      args: [{ $input: 0 }, { deep: [[{ $input: 1 }, { $input: 0 }]] }],
      inputs: { x: { $input: 1 } },
    },
  });
});

test("[D-01] however many inputs a node has, each is one of them once", () => {
  const ids = Array.from({ length: 50 }, (_, at) => `node-${at}`);
  const named = [...ids, ...ids.toReversed()];
  const result = read({
    ...Object.fromEntries(ids.map((id) => [id, { task: "t" }])),
    many: { task: "t", args: named.map((node) => ({ node })) },
    few: { task: "t", needs: ["node-9", "node-8", "node-9"], args: [{ nodes: ["node-7", "node-8"] }] },
  });
  const [many, few] = result.ok ? result.graph.nodes.slice(-2) : [];
  expect(many?.spec.inputs).toEqual(ids);
  expect(many?.work).toMatchObject({
    payload: { args: named.map((id) => ({ $input: ids.indexOf(id) })) },
  });
  expect(few?.spec).toMatchObject({
    needs: ["node-9", "node-8", "node-7"],
    inputs: ["node-7", "node-8"],
  });
});

test("what looks like a reference and is none is written as a value", () => {
  const result = read({
    a: { task: "t", args: [{ value: { node: "x" } }, { node: "b", more: 1 }] },
    b: { task: "t" },
  });
  const [node] = result.ok ? result.graph.nodes : [];
  expect(node?.work).toMatchObject({ payload: { args: [{ node: "x" }, { node: "b", more: 1 }] } });
  expect(node?.spec.inputs).toEqual([]);
});

test("how a worker runs it goes with the call", () => {
  const result = read({ a: { task: "t", processor: "thread", io: true } });
  const [node] = result.ok ? result.graph.nodes : [];
  expect(node?.work).toMatchObject({
    payload: { args: [], inputs: {}, as: { processor: "thread", io: true } },
  });
  const [wire] = wireGraph(result.ok ? result.graph.nodes.map(({ spec }) => spec) : []).specs;
  expect(taskSpecOf(wire as never)).toMatchObject({ io: true });
});

test("[D-04] a meta node is for the executor beside the scheduler, and has a time limit", () => {
  const result = readGraphFile(
    JSON.stringify({
      defaults: { executor: "gpu" },
      nodes: {
        a: { task: "t", meta: true },
        b: { task: "t", meta: true, timeout: "1s", dynamic: true, args: [{ node: "a" }] },
        c: { task: "t", meta: false },
      },
    }),
    "g.json",
  );
  const [a, b, c] = result.ok ? result.graph.nodes : [];
  expect(a?.spec.task).toMatchObject({ executor: "meta", meta: true, timeoutMs: 10_000 });
  expect(a?.work).toMatchObject({ payload: { args: [], inputs: {}, as: { meta: true } } });
  expect(b?.spec.task).toMatchObject({ executor: "meta", meta: true, timeoutMs: 1000, mayAdd: 1000 });
  expect(c?.spec.task).toMatchObject({ executor: "gpu", meta: undefined });
  const [wire] = wireGraph(result.ok ? result.graph.nodes.map(({ spec }) => spec) : []).specs;
  expect(taskSpecOf(wire as never)).toMatchObject({ meta: true });
});

test.for<[node: object, message: string]>([
  [{ args: { node: "a" } }, "args must be a list such as [1, {node: fetch}]"],
  [{ inputs: [1] }, "inputs must be a map such as {x: {node: fetch}}"],
  [{ inputs: { x: 1, args: { node: "a" } } }, "an input cannot be called args"],
  [{ args: [{ node: 7.5 }] }, "node must be"],
  [{ args: [{ nodes: "a" }] }, "nodes must be a list of ids"],
  [{ args: [[{ value: [1, { node: "a" }, { nodes: ["a", ""] }] }]] }, "node must not be empty"],
  [{ args: [{ $input: 0 }] }, '"$input" is no name for an argument'],
  [{ args: [], payload: {} }, "payload does not go with args or inputs"],
  [{ args: [{ node: "nowhere" }] }, 'needs "nowhere", which is not in the file'],
  [{ processor: "gpu" }, "processor must be main or thread"],
  [{ io: "yes" }, "io must be true or false"],
  [{ meta: 1 }, "meta must be true or false"],
  [{ meta: true, executor: "gpu" }, "executor does not go with meta"],
  [{ meta: true, processor: "main" }, "processor does not go with meta"],
  [{ keep: 1 }, "keep must be true or false"],
  [{ cache: [] }, "cache must be true, false, or a version"],
  [{ dynamic: 0 }, "dynamic must be true, or how many nodes"],
])("%j is refused", ([node, message]) => {
  const result = read({ a: { task: "t" }, x: { task: "t", ...node } });
  expect(result.ok ? [] : result.problems.map((problem) => problem.message).join("\n")).toContain(message);
});

test("what is wrong with an argument is said where it stands", () => {
  const result = read({
    a: { task: "t", args: [1, { deep: [{ value: { x: { node: "" } } }, { nodes: ["b", ""] }] }] },
    b: { task: "t", args: [[], { y: { $input: 1, z: 1 } }], inputs: { x: { nodes: "a" }, $input: 1 } },
  });
  expect(result.ok ? [] : result.problems.map((problem) => problem.path)).toEqual([
    "nodes.a.args[1].deep[0].value.x.node",
    "nodes.a.args[1].deep[1].nodes[1]",
    'nodes.b.args[1].y["$input"]',
    "nodes.b.inputs.x.nodes",
    'nodes.b.inputs["$input"]',
  ]);
});

test.for<[node: object, path: string]>([
  [{ args: [{ node: "nowhere" }] }, "nodes.b.args"],
  [{ inputs: { x: { node: "nowhere" } }, needs: ["a"] }, "nodes.b.inputs"],
  [{ args: [{ node: "nowhere" }], needs: ["nowhere"] }, "nodes.b.needs[0]"],
])("a node that is not there is missed where %j names it", ([node, path]) => {
  const result = read({ a: { task: "t" }, b: { task: "t", ...node } });
  expect(result.ok ? [] : result.problems.map((problem) => problem.path)).toEqual([path]);
});

test.for(["1e999", "[{x: -.inf}]", "{value: .nan}"])(
  "a number that JSON has none of is refused: %s",
  (number) => {
    const result = readGraphFile(`nodes: {a: {task: t, args: [${number}]}}`, "g.yaml");
    expect(result.ok ? [] : result.problems.map(({ message }) => message)).toEqual([
      expect.stringContaining("a number among the arguments must be finite"),
    ]);
  },
);
