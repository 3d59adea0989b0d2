import fc from "fast-check";
import { expect, test } from "vitest";
import { anyDag, idAt } from "../../tests/any-graph.ts";
import { aNode } from "../../tests/builders.ts";
import { cpuTimed } from "../../tests/cpu-time.ts";
import { findGraphProblems, Graph, type NodeSpec, wireGraph } from "./index.ts";

const LIMITS = { maxNodes: 2_000_000 };

/** Graphs with any edges but those of a node to itself. */
const anyTangle = fc
  .array(fc.array(fc.nat(8), { maxLength: 3 }), { minLength: 1, maxLength: 9 })
  .map((lists) =>
    lists.map((list, index) => {
      const needs = list.map((need) => idAt(need % lists.length)).filter((need) => need !== idAt(index));
      return aNode(idAt(index), { needs });
    }),
  );

function problemsOf(needs: Readonly<Record<string, readonly string[]>>) {
  return findGraphProblems(
    Object.entries(needs).map(([id, of]) => aNode(id, { needs: of })),
    LIMITS,
  );
}

test("[P-19] a graph without problems has none", () => {
  fc.assert(
    fc.property(anyDag(12, fc.constant({})), (nodes) => {
      expect(findGraphProblems(nodes, LIMITS)).toEqual([]);
    }),
    { seed: 1, numRuns: 500 },
  );
});

test("[P-19] a graph without nodes is refused", () => {
  expect(findGraphProblems([], LIMITS)).toEqual([{ code: "empty" }]);
});

test("[P-19] more nodes than allowed are refused, exactly as many are not", () => {
  const nodes = ["a", "b", "c"].map((id) => aNode(id));
  expect(findGraphProblems(nodes, { maxNodes: 2 })).toEqual([{ code: "too-many-nodes", count: 3, limit: 2 }]);
  expect(findGraphProblems(nodes, { maxNodes: 3 })).toEqual([]);
});

test("[P-19] an id that is given again is named each time", () => {
  const nodes = ["a", "b", "a", "a"].map((id) => aNode(id));
  const duplicate = { code: "duplicate-id", node: "a" };
  expect(findGraphProblems(nodes, LIMITS)).toEqual([duplicate, duplicate]);
});

test("[P-19] an edge to an unknown node names both ends", () => {
  expect(problemsOf({ a: ["ghost"], b: ["a"] })).toEqual([
    { code: "unknown-need", node: "a", need: "ghost" },
  ]);
});

test("[P-19] a node that needs itself is named, and is no cycle besides", () => {
  expect(problemsOf({ a: ["a"], b: ["a"] })).toEqual([{ code: "self-edge", node: "a" }]);
});

test("[P-19] [G-03] a cycle is named whole: each node needs the next, and the last the first", () => {
  expect(problemsOf({ x: [], c: ["b"], a: ["x", "c"], b: ["x", "a"], y: ["a"] })).toEqual([
    { code: "cycle", nodes: ["c", "b", "a"] },
  ]);
});

test("[P-19] every problem of a graph is reported at once", () => {
  const nodes = [
    aNode("a", { needs: ["b", "ghost"] }),
    aNode("b", { needs: ["a", "b"] }),
    aNode("b"),
    aNode("p", { needs: ["q"] }),
    aNode("q", { needs: ["p"] }),
  ];
  expect(findGraphProblems(nodes, LIMITS)).toEqual([
    { code: "duplicate-id", node: "b" },
    { code: "unknown-need", node: "a", need: "ghost" },
    { code: "self-edge", node: "b" },
    { code: "cycle", nodes: ["a", "b"] },
    { code: "cycle", nodes: ["p", "q"] },
  ]);
});

test("[G-03] a knot of cycles is named although its first need leads into another", () => {
  const cycles = problemsOf({ a: ["c", "b"], b: ["a"], c: ["d"], d: ["c"] });
  expect(cycles).toEqual(
    expect.arrayContaining([
      { code: "cycle", nodes: ["a", "b"] },
      { code: "cycle", nodes: ["c", "d"] },
    ]),
  );
});

test("[G-03] every knot of cycles has one of its cycles named", () => {
  fc.assert(
    fc.property(anyTangle, (nodes) => {
      const named = new Set(cyclesOf(nodes).flat());
      for (const knot of knotsOf(nodes)) expect(knot.some((id) => named.has(id))).toBe(true);
    }),
    { seed: 1, numRuns: 1_000 },
  );
});

test("[G-03] what is called a cycle is one, and where there is one, one is named", () => {
  fc.assert(
    fc.property(anyTangle, (nodes) => {
      const cycles = cyclesOf(nodes);
      for (const cycle of cycles) expectCycle(nodes, cycle);
      expect(cycles.length > 0).toBe(knotsOf(nodes).length > 0);
    }),
    { seed: 1, numRuns: 1_000 },
  );
});

test("[P-19] a chain of a million nodes neither overflows the stack nor takes five seconds", () => {
  const chain = chainOf(1_000_000);
  const check = cpuTimed(() => findGraphProblems(chain, LIMITS));
  expect(check.result).toEqual([]);
  expect(check.cpuMs).toBeLessThan(5_000);
  const build = cpuTimed(() => new Graph(wireGraph(chain)));
  expect(build.result.holdsUpMs[0]).toBe(1_000_000 * 1_000);
  expect(build.cpuMs).toBeLessThan(5_000);
});

test("[P-19] a cycle of a hundred thousand nodes is named whole", () => {
  const [first, ...rest] = chainOf(100_000) as [NodeSpec, ...NodeSpec[]];
  const [problem, ...others] = findGraphProblems([{ ...first, needs: ["99999"] }, ...rest], LIMITS);
  expect(others).toEqual([]);
  expect(problem?.code === "cycle" && problem.nodes.length).toBe(100_000);
  expect(problem?.code === "cycle" && problem.nodes.slice(0, 3)).toEqual(["0", "99999", "99998"]);
});

function chainOf(length: number): NodeSpec[] {
  const { task } = aNode("");
  const plain = { task, requestHash: "", done: false };
  return Array.from({ length }, (_, at) => {
    return { id: String(at), needs: at === 0 ? [] : [String(at - 1)], ...plain };
  });
}

function cyclesOf(nodes: readonly NodeSpec[]): (readonly string[])[] {
  return findGraphProblems(nodes, LIMITS).flatMap((problem) => {
    expect(problem.code).toBe("cycle");
    return problem.code === "cycle" ? [problem.nodes] : [];
  });
}

function expectCycle(nodes: readonly NodeSpec[], cycle: readonly string[]): void {
  expect(new Set(cycle).size).toBe(cycle.length);
  for (const [at, id] of cycle.entries()) {
    const needs = nodes.find((node) => node.id === id)?.needs;
    expect(needs).toContain(cycle[(at + 1) % cycle.length]);
  }
  const indexes = cycle.map((id) => nodes.findIndex((node) => node.id === id));
  expect(indexes[0]).toBe(Math.min(...indexes));
}

/** Sets of nodes that reach each other, found by following every path. */
function knotsOf(nodes: readonly NodeSpec[]): string[][] {
  const reach = new Map(nodes.map(({ id }) => [id, reachableFrom(nodes, id)]));
  const knots = nodes.map(({ id }) =>
    [...(reach.get(id) ?? [])].filter((other) => reach.get(other)?.has(id)),
  );
  return knots.filter((knot) => knot.length > 0);
}

function reachableFrom(nodes: readonly NodeSpec[], from: string): Set<string> {
  const reached = new Set<string>();
  const visit = (id: string) => {
    for (const need of nodes.find((node) => node.id === id)?.needs ?? []) {
      if (reached.has(need)) continue;
      reached.add(need);
      visit(need);
    }
  };
  visit(from);
  return reached;
}
