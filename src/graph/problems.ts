import type { NodeSpec } from "./spec.ts";

/** Why a graph is refused. Cycles are listed so that each node needs the next, and the last the first. */
export type GraphProblem =
  | { readonly code: "empty" }
  | { readonly code: "too-many-nodes"; readonly count: number; readonly limit: number }
  | { readonly code: "duplicate-id"; readonly node: string }
  | { readonly code: "unknown-need"; readonly node: string; readonly need: string }
  | { readonly code: "self-edge"; readonly node: string }
  | { readonly code: "cycle"; readonly nodes: readonly string[] };

export interface GraphLimits {
  readonly maxNodes: number;
}

export function findGraphProblems(nodes: readonly NodeSpec[], limits: GraphLimits): GraphProblem[] {
  if (nodes.length === 0) return [{ code: "empty" }];
  if (nodes.length > limits.maxNodes) {
    return [{ code: "too-many-nodes", count: nodes.length, limit: limits.maxNodes }];
  }
  const problems: GraphProblem[] = [];
  const indexOf = new Map<string, number>();
  for (const [index, node] of nodes.entries()) {
    if (indexOf.has(node.id)) problems.push({ code: "duplicate-id", node: node.id });
    else indexOf.set(node.id, index);
  }
  for (const node of nodes) {
    for (const need of node.needs) {
      if (need === node.id) problems.push({ code: "self-edge", node: node.id });
      else if (!indexOf.has(need)) problems.push({ code: "unknown-need", node: node.id, need });
    }
  }
  for (const cycle of findCycles(nodes, indexOf)) {
    problems.push({ code: "cycle", nodes: cycle.map((index) => (nodes[index] as NodeSpec).id) });
  }
  return problems;
}

/**
 * One cycle of every knot of cycles, each beginning at its first node in the order of submission.
 *
 * What is left after taking away, again and again, the nodes that need nothing is exactly what a cycle
 * holds up. There every node has a need that is left too, so following the first one must come back to
 * the walk (a cycle) or reach an earlier walk (which named its cycle). No recursion: a chain may be a
 * million long.
 */
function findCycles(nodes: readonly NodeSpec[], indexOf: ReadonlyMap<string, number>): number[][] {
  const needs = nodes.map((node, index) => {
    const known = new Set<number>();
    for (const need of node.needs) known.add(indexOf.get(need) ?? index);
    known.delete(index);
    return [...known];
  });
  const left = leftAfterPeeling(needs);
  const walkOf = new Int32Array(nodes.length).fill(-1);
  const cycles: number[][] = [];
  for (let start = 0; start < nodes.length; start++) {
    const walk: number[] = [];
    let at = start;
    while (left[at] && walkOf[at] === -1) {
      walkOf[at] = start;
      walk.push(at);
      at = (needs[at] as number[]).find((need) => left[need]) as number;
    }
    if (walk.length > 0 && walkOf[at] === start) cycles.push(startingAtLeast(walk.slice(walk.indexOf(at))));
  }
  return cycles;
}

/** Marks the nodes that are in a cycle or need one that is. */
function leftAfterPeeling(needs: readonly (readonly number[])[]): Uint8Array {
  const dependents: number[][] = needs.map(() => []);
  const pending = new Uint32Array(needs.length);
  for (const [index, of] of needs.entries()) {
    pending[index] = of.length;
    for (const need of of) (dependents[need] as number[]).push(index);
  }
  const left = new Uint8Array(needs.length).fill(1);
  const free = [...needs.keys()].filter((index) => pending[index] === 0);
  for (let index = free.pop(); index !== undefined; index = free.pop()) {
    left[index] = 0;
    for (const dependent of dependents[index] as number[]) {
      if (--(pending[dependent] as number) === 0) free.push(dependent);
    }
  }
  return left;
}

function startingAtLeast(cycle: readonly number[]): number[] {
  const least = cycle.indexOf(cycle.reduce((a, b) => Math.min(a, b)));
  return [...cycle.slice(least), ...cycle.slice(0, least)];
}
