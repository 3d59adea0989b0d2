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
  for (let index = 0; index < nodes.length; index++) {
    const { id } = nodes[index] as NodeSpec;
    if (indexOf.has(id)) problems.push({ code: "duplicate-id", node: id });
    else indexOf.set(id, index);
  }
  let inOrder = true;
  for (let index = 0; index < nodes.length; index++) {
    const { id, needs } = nodes[index] as NodeSpec;
    for (let at = 0; at < needs.length; at++) {
      const need = needs[at] as string;
      const found = indexOf.get(need);
      if (need === id) problems.push({ code: "self-edge", node: id });
      else if (found === undefined) problems.push({ code: "unknown-need", node: id, need });
      else inOrder &&= found < index;
    }
  }
  // Where all stand before those that need them, as in most files, nothing runs in a circle.
  if (inOrder) return problems;
  for (const cycle of findCycles(nodes.map((node, index) => otherNeeds(node, index, indexOf)))) {
    problems.push({ code: "cycle", nodes: cycle.map((index) => (nodes[index] as NodeSpec).id) });
  }
  return problems;
}

function otherNeeds({ needs }: NodeSpec, index: number, indexOf: ReadonlyMap<string, number>): number[] {
  const found: number[] = [];
  for (const need of needs) {
    const at = indexOf.get(need);
    if (at !== undefined && at !== index) found.push(at);
  }
  return found;
}

/**
 * One cycle of every knot of cycles (strongly connected component), each beginning at its first node in the
 * order of submission. Within a knot every node has a need that is in it too, so following the first such need
 * must come back. A node that needs itself is no knot.
 */
export function findCycles(needs: readonly (readonly number[])[]): number[][] {
  if (needs.every((of, index) => of.every((need) => need < index))) return [];
  const knotOf = findKnots(needs);
  const members = new Uint32Array(needs.length);
  for (const knot of knotOf) (members[knot] as number)++;
  const named = new Set<number>();
  const cycles: number[][] = [];
  for (let start = 0; start < needs.length; start++) {
    const knot = knotOf[start] as number;
    if ((members[knot] as number) < 2 || named.has(knot)) continue;
    named.add(knot);
    const stepOf = new Map<number, number>();
    let at = start;
    while (!stepOf.has(at)) {
      stepOf.set(at, stepOf.size);
      const from = at;
      at = (needs[at] as number[]).find((need) => need !== from && knotOf[need] === knot) as number;
    }
    cycles.push(startingAtLeast([...stepOf.keys()].slice(stepOf.get(at))));
  }
  return cycles;
}

/**
 * The number of each node's strongly connected component, by Tarjan's algorithm. Its recursion is a stack of
 * our own, because a chain may be a million long.
 */
function findKnots(needs: readonly (readonly number[])[]): Int32Array {
  const size = needs.length;
  const knotOf = new Int32Array(size).fill(-1);
  const order = new Int32Array(size).fill(-1);
  const lowest = new Int32Array(size);
  const nextNeed = new Uint32Array(size);
  const open: number[] = [];
  let visited = 0;
  let knots = 0;
  for (let start = 0; start < size; start++) {
    const path = order[start] === -1 ? [start] : [];
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      if (order[node] === -1) {
        order[node] = visited;
        lowest[node] = visited++;
        open.push(node);
      }
      const need = (needs[node] as readonly number[])[(nextNeed[node] as number)++];
      if (need !== undefined) {
        if (order[need] === -1) path.push(need);
        else if (knotOf[need] === -1) lowest[node] = Math.min(lowest[node] as number, order[need] as number);
        continue;
      }
      path.pop();
      const before = path.at(-1);
      if (before !== undefined) lowest[before] = Math.min(lowest[before] as number, lowest[node] as number);
      if (lowest[node] !== order[node]) continue;
      for (let member = open.pop(); member !== undefined; member = open.pop()) {
        knotOf[member] = knots;
        if (member === node) break;
      }
      knots++;
    }
  }
  return knotOf;
}

function startingAtLeast(cycle: readonly number[]): number[] {
  const least = cycle.indexOf(cycle.reduce((a, b) => Math.min(a, b)));
  return [...cycle.slice(least), ...cycle.slice(0, least)];
}
