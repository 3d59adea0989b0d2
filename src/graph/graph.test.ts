import fc from "fast-check";
import { expect, test } from "vitest";
import { anyDag } from "../../tests/any-graph.ts";
import { aNode } from "../../tests/builders.ts";
import { InvariantError } from "../core/index.ts";
import { Graph, type NodeSpec, taskSpecOf, topologicalOrder, wireGraph } from "./index.ts";

const anyOptions = fc.record({
  estimateMs: fc.nat(20),
  type: fc.constantFrom("build", "test"),
  cpuMillicores: fc.nat(3),
  capabilities: fc.constantFrom([], ["gpu"]),
  priority: fc.constantFrom(0 as const, 4 as const),
  held: fc.boolean(),
  done: fc.boolean(),
  requestHash: fc.constantFrom("", "f00d"),
});
const anyNodes = anyDag(10, anyOptions);
const SEED = { seed: 1, numRuns: 250 };

test("[D-01] a graph knows for every node what it needs and what needs it", () => {
  fc.assert(
    fc.property(anyNodes, (nodes) => {
      const graph = new Graph(wireGraph(nodes));
      const neighbours = (edges: Graph["dependents"], node: number) =>
        Array.from(edges.targets.subarray(edges.start[node], edges.start[node + 1]), (at) => graph.idOf(at));
      for (const [index, node] of nodes.entries()) {
        const dependents = nodes.filter(({ needs }) => needs.includes(node.id)).map(({ id }) => id);
        expect(neighbours(graph.dependencies, index).sort()).toEqual([...new Set(node.needs)].sort());
        expect(neighbours(graph.dependents, index).sort()).toEqual(dependents.sort());
      }
    }),
    SEED,
  );
});

test("nothing of a node is lost on the way into the ledger", () => {
  fc.assert(
    fc.property(anyNodes, (nodes) => {
      const wire = wireGraph(nodes);
      const graph = new Graph(JSON.parse(JSON.stringify(wire)));
      for (const [index, { id, task, requestHash, done }] of nodes.entries()) {
        expect(graph.idOf(index)).toBe(id);
        expect(graph.indexOf(id)).toBe(index);
        expect(graph.taskOf(index)).toEqual(task);
        expect(graph.requestHashOf(index)).toBe(requestHash);
        expect(wire.done.includes(index)).toBe(done);
      }
      expect(graph.toWire(wire.done)).toEqual(wire);
    }),
    SEED,
  );
});

test("equal task specifications are stored once, also when they are different objects", () => {
  const wire = wireGraph([aNode("a"), aNode("b"), aNode("c", { estimateMs: 7 }), aNode("d")]);
  expect(wire.specs.length).toBe(2);
  expect(wire.spec).toEqual([0, 0, 1, 0]);
  expect(wire.specs.map((spec) => taskSpecOf(spec).estimateMs)).toEqual([1_000, 7]);
});

test("[D-01] the topological order has every node once, after all that it needs", () => {
  fc.assert(
    fc.property(anyNodes, (nodes) => {
      const order = [...topologicalOrder(new Graph(wireGraph(nodes)))].map(
        (index) => nodes[index] as NodeSpec,
      );
      const seen = new Set<string>();
      for (const { id, needs } of order) {
        expect(needs.every((need) => seen.has(need))).toBe(true);
        seen.add(id);
      }
      expect(seen.size).toBe(nodes.length);
    }),
    SEED,
  );
});

test("[G-02] what a node holds up is its own estimate and the longest chain behind it", () => {
  fc.assert(
    fc.property(anyNodes, (nodes) => {
      const graph = new Graph(wireGraph(nodes));
      const holdsUp = ({ id, task }: NodeSpec): number =>
        task.estimateMs + Math.max(0, ...nodes.filter(({ needs }) => needs.includes(id)).map(holdsUp));
      expect([...graph.holdsUpMs]).toEqual(nodes.map(holdsUp));
    }),
    SEED,
  );
});

test("a graph with a cycle cannot be made by mistake", () => {
  const nodes = [aNode("a", { needs: ["b"] }), aNode("b", { needs: ["a"] })];
  expect(() => new Graph(wireGraph(nodes))).toThrow(InvariantError);
  expect(() => wireGraph([aNode("a", { needs: ["ghost"] })])).toThrow(InvariantError);
});
