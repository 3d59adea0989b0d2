import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type GraphShape,
  type Layout,
  layOut,
  NODE_HEIGHT,
  NODE_WIDTH,
  nodeAt,
  nodesIn,
} from "../../dashboard/src/screens/run/layout.ts";

/** Edges lead from a lower to a higher number of a shuffled order, so numbers say nothing about what comes first. */
const anyShape: fc.Arbitrary<GraphShape> = fc.integer({ min: 1, max: 60 }).chain((size) =>
  fc
    .record({
      order: fc.shuffledSubarray(
        Array.from({ length: size }, (_, node) => node),
        { minLength: size, maxLength: size },
      ),
      pairs: fc.uniqueArray(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)), {
        maxLength: 3 * size,
        selector: ([a, b]) => `${Math.min(a, b)} ${Math.max(a, b)}`,
      }),
    })
    .map(({ order, pairs }) => ({
      size,
      edges: pairs
        .filter(([a, b]) => a !== b)
        .flatMap(([a, b]) => [order[Math.min(a, b)] as number, order[Math.max(a, b)] as number]),
    })),
);

/** Layers of one width, each node with two needs in the layer before it. */
function layered(layers: number, width: number): GraphShape {
  const edges: number[] = [];
  for (let node = width; node < layers * width; node++) {
    const above = Math.floor(node / width) * width - width;
    edges.push(above + ((node * 7) % width), node, above + ((node * 13 + 5) % width), node);
  }
  return { size: layers * width, edges };
}

function overlaps({ x, y }: Layout): [number, number][] {
  const found: [number, number][] = [];
  for (let a = 0; a < x.length; a++)
    for (let b = 0; b < a; b++)
      if (
        Math.abs((x[a] as number) - (x[b] as number)) < NODE_WIDTH &&
        Math.abs((y[a] as number) - (y[b] as number)) < NODE_HEIGHT
      )
        found.push([a, b]);
  return found;
}

test("every edge leads to the right, also where it passes others, and no two nodes overlap", () => {
  fc.assert(
    fc.property(anyShape, (shape) => {
      const layout = layOut(shape);
      for (let edge = 0; 2 * edge < shape.edges.length; edge++) {
        const [from, to] = [shape.edges[2 * edge] as number, shape.edges[2 * edge + 1] as number];
        const bends = (layout.bends.get(edge) ?? []).filter((_, at) => at % 2 === 0);
        const way = [layout.x[from] as number, ...bends, layout.x[to] as number];
        for (let at = 1; at < way.length; at++)
          expect(way[at]).toBeGreaterThanOrEqual((way[at - 1] as number) + NODE_WIDTH);
      }
      expect(overlaps(layout)).toEqual([]);
    }),
  );
});

test("it is the same each time, and all of it lies within its size", () => {
  fc.assert(
    fc.property(anyShape, (shape) => {
      const layout = layOut(shape);
      expect(layOut(shape)).toEqual(layout);
      for (let node = 0; node < shape.size; node++) {
        expect(layout.x[node]).toBeGreaterThanOrEqual(0);
        expect(layout.y[node]).toBeGreaterThanOrEqual(-1e-6);
        expect((layout.x[node] as number) + NODE_WIDTH).toBeLessThanOrEqual(layout.width + 1e-6);
        expect((layout.y[node] as number) + NODE_HEIGHT).toBeLessThanOrEqual(layout.height + 1e-6);
      }
    }),
  );
});

test("what is pointed at and what can be seen is found as by looking at every node", () => {
  fc.assert(
    fc.property(anyShape, fc.nat(1000), fc.nat(1000), fc.nat(400), (shape, x, y, side) => {
      const layout = layOut(shape);
      const isIn = (node: number, left: number, top: number, right: number, bottom: number) =>
        (layout.x[node] as number) <= right &&
        (layout.x[node] as number) + NODE_WIDTH >= left &&
        (layout.y[node] as number) <= bottom &&
        (layout.y[node] as number) + NODE_HEIGHT >= top;
      const all = Array.from({ length: shape.size }, (_, node) => node);
      expect(nodeAt(layout, x, y)).toBe(all.find((node) => isIn(node, x, y, x, y)));
      const box = { left: x, top: y, right: x + side, bottom: y + side };
      expect(nodesIn(layout, box).sort((a, b) => a - b)).toEqual(
        all.filter((node) => isIn(node, box.left, box.top, box.right, box.bottom)),
      );
    }),
  );
});

test("wide layers are folded, so that no picture is a single column of thousands", () => {
  const { width, height } = layOut({ size: 5000, edges: [] });
  expect(width / height).toBeGreaterThan(0.5);
  expect(width / height).toBeLessThan(8);
});

test("twenty thousand nodes take about ten times as long as two thousand", () => {
  const cpuOf = (shape: GraphShape) => {
    const times = Array.from({ length: 5 }, () => {
      const before = process.cpuUsage();
      layOut(shape);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    });
    return Math.min(...times);
  };
  layOut(layered(20, 100));
  expect(cpuOf(layered(40, 500)) / cpuOf(layered(20, 100))).toBeLessThan(40);
});
