import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { readGraphFile } from "../protocol/index.ts";
import { type GraphNode, graph, OrreryClient } from "./index.ts";

const load = async (file: string): Promise<Buffer> => Buffer.from(file);
const parse = (text: Uint8Array, _options: { readonly separator?: string } = {}): number[] => [...text];
const sum = (lists: readonly (readonly number[])[], start: number): number =>
  lists.flat().reduce((all, one) => all + one, start);

/** What the worker gets, as the server reads it: arguments by node, with the ids of nodes in place of their results. */
function read(built: ReturnType<typeof graph>): Map<string, readonly unknown[]> {
  const text = JSON.stringify(built.toGraphFile());
  const result = readGraphFile(text, "g.json");
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return new Map(
    result.graph.nodes.map(({ spec, work }) => {
      const { args } = (work as { payload: { args: unknown[] } }).payload;
      return [spec.id, resolved(args, spec.inputs ?? []) as unknown[]];
    }),
  );
}

function resolved(value: unknown, inputs: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => resolved(item, inputs));
  if (typeof value !== "object" || value === null) return value;
  const { $input } = value as { readonly $input?: number };
  if ($input !== undefined) return `result of ${inputs[$input]}`;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, resolved(member, inputs)]));
}

test("[D-01] nodes are arguments wherever a value may be, and stand in the file by their ids", () => {
  const g = graph();
  const a = g.task(load, "a.csv");
  const b = g.with({ id: "b", retries: 2, cpu: 1, needs: a }).task(parse, a, { separator: ";" });
  const c = g.with({ memory: "1GiB" }).task(sum, [b, [1, 2], b], 0);
  expect(g.toGraphFile(c)).toEqual({
    defaults: { executor: "default", resources: { cpu: 0 } },
    nodes: {
      "load-1": { task: "load", args: ["a.csv"] },
      b: {
        task: "parse",
        args: [{ node: "load-1" }, { separator: ";" }],
        needs: ["load-1"],
        resources: { cpu: 1 },
        retries: 2,
      },
      "sum-1": {
        task: "sum",
        args: [[{ node: "b" }, [1, 2], { node: "b" }], 0],
        resources: { cpu: 0, memory: "1GiB" },
        keep: true,
      },
    },
  });
  expect(Object.keys(g.toGraphFile(b)["nodes"] as object)).toEqual(["load-1", "b"]);
  expect(g.waysTo([c])("load-1")).toEqual(["load-1", "b", "sum-1"]);
});

test("[D-01] what is no node, no graph and no options is refused in words", async () => {
  const g = graph();
  const node = g.task(load, "a");
  const client = new OrreryClient({ url: "http://127.0.0.1:9", key: "sk" });
  const noNode = "must be a node as task(…) and value(…) return them, not its id";
  for (const wanted of [node.id, undefined, [node.id], {}, null]) {
    await expect(client.compute(g, wanted as never)).rejects.toThrow(noNode);
    if (wanted !== undefined)
      expect(() => g.with({ needs: wanted as never }).task(load, "b")).toThrow(noNode);
  }
  for (const other of [undefined, {}, { nodes: {} }])
    await expect(client.compute(other as never, node)).rejects.toThrow("name a graph as graph() returned it");
  for (const options of [undefined, null, 5])
    expect(() => g.with(options as never)).toThrow("options of a node");
});

test("types follow from the functions", () => {
  const g = graph();
  const a = g.task(load, "a.csv");
  expectTypeOf(a).toEqualTypeOf<GraphNode<Buffer>>();
  const b = g.task(parse, a);
  expectTypeOf(g.task(sum, [b, [1, g.task("one") as GraphNode<number>]], 3)).toEqualTypeOf<
    GraphNode<number>
  >();
  expectTypeOf(g.task("parse", 1)).toEqualTypeOf<GraphNode<unknown>>();
  expectTypeOf(g.task<typeof parse>("parse", a)).toEqualTypeOf<GraphNode<number[]>>();
  expectTypeOf(g.value(new Map([[1, "x"]]))).toEqualTypeOf<GraphNode<Map<number, string>>>();
  // A node of a narrower type will do, one of another type will not.
  expectTypeOf<GraphNode<"x">>().toExtend<GraphNode<string>>();
  const either = (_: string | number): boolean => true;
  g.task(either, g.task(load.name) as GraphNode<string>);
  const all = (...texts: readonly string[]): string => texts.join();
  g.task(all, "a", g.task(load.name) as GraphNode<string>);
  // @ts-expect-error a list of numbers is no text
  g.task(all, "a", b);
  // @ts-expect-error a list of numbers is no text
  g.task(load, b);
  // @ts-expect-error neither is one that is given as it is
  g.task(load, 1);
  // @ts-expect-error the start is missing
  g.task(sum, [b]);
  const compute = (client: OrreryClient) => ({
    one: client.compute(g, a),
    two: client.compute(g, [a, b]),
    gathered: client.gather("run", ["a", b]),
    many: client.compute(
      g,
      [b].map((node) => node),
    ),
  });
  expectTypeOf<ReturnType<typeof compute>["one"]>().toEqualTypeOf<Promise<Buffer>>();
  expectTypeOf<ReturnType<typeof compute>["two"]>().toEqualTypeOf<Promise<[Buffer, number[]]>>();
  expectTypeOf<ReturnType<typeof compute>["gathered"]>().toEqualTypeOf<Promise<[unknown, number[]]>>();
  expectTypeOf<ReturnType<typeof compute>["many"]>().toEqualTypeOf<Promise<number[][]>>();
});

test("[D-01] whatever is nested in arguments comes out as it went in", () => {
  const g = graph();
  const node = g.with({ id: "n" }).task("make");
  const key = fc.oneof(
    fc.constantFrom("node", "nodes", "value", "args", "inputs"),
    fc
      .string({ unit: "grapheme" })
      .filter((text) => !["$input", "__proto__"].includes(text) && !text.includes("\0")),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constant(node),
      fc.oneof(fc.boolean(), fc.integer(), fc.constant(null), key),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.array(fc.tuple(key, tie("value")), { maxLength: 3 }).map((entries) => Object.fromEntries(entries)),
    ),
  }));
  fc.assert(
    fc.property(fc.array(value, { maxLength: 3 }), (args) => {
      const built = graph();
      const own = built.with({ id: "n" }).task("make");
      const given = args.map((item) => withNode(item, (found) => (found === node ? own : undefined)));
      const { id } = built.task("use", ...given);
      const expected = args.map((item) =>
        withNode(item, (found) => (found === node ? "result of n" : undefined)),
      );
      expect(read(built).get(id)).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});

/** A copy, with what is found put in its place. */
function withNode(value: unknown, replace: (value: unknown) => unknown): unknown {
  const found = replace(value);
  if (found !== undefined) return found;
  if (Array.isArray(value)) return value.map((item) => withNode(item, replace));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withNode(member, replace)]));
}

describe("what cannot be right is refused by its place:", () => {
  const g = graph();
  const a = g.with({ id: "a" }).task(load, "a");
  const other = graph().with({ id: "a" }).task(load, "a");
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  const bad: readonly (readonly [what: string, build: () => unknown, says: RegExp])[] = [
    [
      "a Buffer",
      () => g.task("f", 1, { x: [Buffer.from("a")] }),
      /^args\[1\]\.x\[0\] of f-1 is a Buffer.*graph\.value/,
    ],
    ["a Date", () => g.task("f", new Date(0)), /args\[0\] of f-\d+ is a Date/],
    ["a Map", () => g.task("f", new Map()), /is a Map/],
    ["NaN", () => g.task("f", { "a b": Number.NaN }), /args\[0\]\["a b"\] of f-\d+ is NaN/],
    ["undefined in front", () => g.task("f", undefined, 1), /args\[0\] of f-\d+ is undefined.*null/],
    ["a hole", () => g.task("f", new Array(1)), /args\[0\]\[0\] of f-\d+ is undefined/],
    ["a function", () => g.task("f", () => 1), /is a function/],
    ["a bigint", () => g.task("f", 1n), /is a bigint/],
    ["a NUL", () => g.task("f", "\0"), /has a NUL/],
    ["what stands for an input", () => g.task("f", { $input: 0 }), /has the key "\$input"/],
    ["a circle", () => g.task("f", cyclic), /nested more than 90 deep/],
    [
      "a node of another graph",
      () => g.task("f", [other]),
      /args\[0\]\[0\] of f-\d+ is the node "a" of another graph/,
    ],
    ["an id that is taken", () => g.with({ id: "a" }).task(load, "b"), /a node "a" already/],
    ["an id that is none", () => g.with({ id: "" }).task(load, "b"), /the id of a node must be a text/],
    [
      "an id that no object keeps",
      () => g.with({ id: "__proto__" }).task(load, "b"),
      /cannot be "__proto__"/,
    ],
    [
      "a function without a name",
      () =>
        g.task(
          (
            () => () =>
              1
          )(),
        ),
      /a function without a name/,
    ],
    ["a bound function", () => g.task(load.bind(undefined), "a"), /named "bound load"/],
    ["what is no function", () => g.task({ run: load } as never), /a task is a function, or the name/],
    ["an option that is none", () => g.with({ retry: 2 } as never), /no option "retry"; there are id, needs/],
    ["needs that are no nodes", () => g.with({ needs: ["a"] as never }).task(load, "b"), /must be a node/],
    ["a value that cannot be cloned", () => g.value({ f: () => 1 }), /can be cloned/],
    ["a value that is too large", () => g.value(Buffer.alloc(9 * 1024 * 1024)), /9437184 bytes.*8388608/],
    ["a wanted node of another graph", () => g.toGraphFile([a, other]), /of another graph/],
  ];
  test.each(bad)("%s", (_what, build, says) => expect(build).toThrow(says));
});

test("values that JSON cannot carry go as nodes, in pieces where they are large", () => {
  const g = graph();
  const small = g.value(new Map([["a", 1]]));
  const large = g.value(Buffer.alloc(2_000_000, "x"));
  g.task("use", small, large);
  const { nodes } = g.toGraphFile(large) as { nodes: Record<string, { args: unknown[] }> };
  expect(Object.keys(nodes)).toEqual(["value-2", "value-3", "value-4", "value-5"]);
  const pieces = Object.values(nodes).slice(0, 3);
  const bytes = Buffer.concat(pieces.map(({ args }) => Buffer.from(args[1] as string, "base64")));
  expect(bytes.equals(Buffer.alloc(2_000_000, "x"))).toBe(true);
  expect(nodes["value-5"]?.args).toEqual([
    "bytes",
    { node: "value-2" },
    { node: "value-3" },
    { node: "value-4" },
  ]);
  expect(read(g).get("value-1")).toEqual(["clone", expect.any(String)]);
});
