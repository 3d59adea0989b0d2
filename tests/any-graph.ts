import fc from "fast-check";
import type { NodeSpec } from "../src/graph/index.ts";
import { aNode, type NodeOptions } from "./builders.ts";

/** Ids whose order by code unit is not their order of submission, nor the one of any locale. */
const IDS = ["b", "a", "Z", "10", "2", "ä", "\u{1f600}", "\uffee", "é", "e\u0301", "\ud800", "", "n n"];

export function idAt(index: number): string {
  return IDS[index] ?? `n${index}`;
}

/**
 * Graphs without problems: each node draws a rank and needs only nodes of lower rank, so that the order of
 * submission is not a topological one.
 */
export function anyDag(maxNodes: number, anyOptions: fc.Arbitrary<NodeOptions>): fc.Arbitrary<NodeSpec[]> {
  const anyShape = fc.record({
    options: anyOptions,
    rank: fc.nat(1_000),
    picks: fc.array(fc.nat(1_000), { maxLength: 3 }),
  });
  return fc.array(anyShape, { minLength: 1, maxLength: maxNodes }).map((shapes) => {
    const order = shapes
      .map((_, index) => index)
      .sort((a, b) => (shapes[a]?.rank ?? 0) - (shapes[b]?.rank ?? 0) || a - b);
    return shapes.map(({ options, picks }, index) => {
      const before = order.slice(0, order.indexOf(index));
      const needs = before.length === 0 ? [] : picks.map((pick) => idAt(before[pick % before.length] ?? 0));
      return aNode(idAt(index), { ...options, needs });
    });
  });
}
