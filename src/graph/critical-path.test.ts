import fc from "fast-check";
import { expect, test } from "vitest";
import { anyDag } from "../../tests/any-graph.ts";
import { aNode, HOUR_MS } from "../../tests/builders.ts";
import { compareText } from "../core/index.ts";
import { criticalPath, Graph, type NodeSpec, wireGraph } from "./index.ts";

const SIZES = { XS: 1, S: 2, M: 4, L: 8, XL: 16 };

test("[G-02] the example of the specification: #3 → #4, 12 hours", () => {
  const sized = (id: string, size: keyof typeof SIZES, ...needs: string[]) =>
    aNode(id, { estimateMs: SIZES[size] * HOUR_MS, needs });
  const graph = new Graph(
    wireGraph([
      sized("#1", "M"),
      sized("#2", "S", "#1"),
      sized("#3", "L"),
      sized("#4", "M", "#3"),
      sized("#5", "S", "#2"),
      sized("#6", "XS", "#2"),
      sized("#7", "S"),
    ]),
  );
  const path = criticalPath(graph, () => false);
  expect(path.nodes.map((node) => graph.idOf(node))).toEqual(["#3", "#4"]);
  expect(path.lengthMs).toBe(12 * HOUR_MS);
});

test("[G-02] finished nodes weigh nothing: the path is that of the remaining work", () => {
  const graph = new Graph(
    wireGraph([
      aNode("a", { estimateMs: 100 }),
      aNode("b", { estimateMs: 10, needs: ["a"] }),
      aNode("c", { estimateMs: 50 }),
    ]),
  );
  const pathWithout = (...finished: string[]) => {
    const { nodes, lengthMs } = criticalPath(graph, (node) => finished.includes(graph.idOf(node)));
    return [nodes.map((node) => graph.idOf(node)).join(" "), lengthMs];
  };
  expect(pathWithout()).toEqual(["a b", 110]);
  expect(pathWithout("a")).toEqual(["c", 50]);
  expect(pathWithout("a", "c")).toEqual(["b", 10]);
  expect(pathWithout("a", "b", "c")).toEqual(["", 0]);
});

test("[G-02] of equally long paths the one with the smaller ids is taken, whatever was submitted first", () => {
  const nodes = [
    aNode("z"),
    aNode("y", { needs: ["b"] }),
    aNode("x", { needs: ["b"] }),
    aNode("b"),
    aNode("a", { estimateMs: 2_000 }),
  ];
  for (const order of [nodes, nodes.toReversed()]) {
    const graph = new Graph(wireGraph(order));
    const idsOf = (finished: string) =>
      criticalPath(graph, (node) => graph.idOf(node) === finished).nodes.map((node) => graph.idOf(node));
    expect(idsOf("")).toEqual(["a"]);
    expect(idsOf("a")).toEqual(["b", "x"]);
  }
});

test("[G-02] the critical path is a path, and no path of the remaining work is longer", () => {
  const anyEstimate = fc.constantFrom(1, 2, 3, 4, 8).map((estimateMs) => ({ estimateMs }));
  fc.assert(
    fc.property(anyDag(8, anyEstimate), fc.array(fc.boolean()), (nodes, marks) => {
      const graph = new Graph(wireGraph(nodes));
      const finished = finishedOf(nodes, marks);
      const { nodes: path, lengthMs } = criticalPath(graph, (node) => finished.has(graph.idOf(node)));
      const ids = path.map((node) => graph.idOf(node));
      const paths = pathsOf(nodes.filter(({ id }) => !finished.has(id)));
      expect(lengthMs).toBe(Math.max(0, ...paths.map((one) => lengthOf(nodes, one))));
      if (lengthMs === 0) expect(ids).toEqual([]);
      else expect(ids).toEqual(firstById(paths.filter((one) => lengthOf(nodes, one) === lengthMs)));
    }),
    { seed: 1, numRuns: 1_000 },
  );
});

/** What may be finished: marked, and so is everything that it needs. */
function finishedOf(nodes: readonly NodeSpec[], marks: readonly boolean[]): Set<string> {
  const marked = new Set(nodes.filter((_, index) => marks[index]).map(({ id }) => id));
  const isFinished = (id: string): boolean =>
    marked.has(id) && (nodes.find((node) => node.id === id)?.needs ?? []).every(isFinished);
  return new Set([...marked].filter(isFinished));
}

/** Every path, by following every edge. */
function pathsOf(nodes: readonly NodeSpec[]): string[][] {
  const from = (id: string): string[][] => {
    const next = nodes.filter(({ needs }) => needs.includes(id)).flatMap((node) => from(node.id));
    return [[id], ...next.map((path) => [id, ...path])];
  };
  return nodes.flatMap(({ id }) => from(id));
}

function lengthOf(nodes: readonly NodeSpec[], path: readonly string[]): number {
  return path.reduce((sum, id) => sum + (nodes.find((node) => node.id === id)?.task.estimateMs ?? 0), 0);
}

function firstById(paths: readonly string[][]): string[] | undefined {
  return paths.toSorted((a, b) => {
    const at = a.findIndex((id, index) => id !== b[index]);
    return at === -1 ? 0 : compareText(a[at] ?? "", b[at] ?? "");
  })[0];
}
