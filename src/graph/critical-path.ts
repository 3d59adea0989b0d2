import { compareText } from "../core/index.ts";
import { topologicalOrder } from "./edges.ts";
import type { Graph } from "./graph.ts";

export interface CriticalPath {
  readonly nodes: readonly number[];
  readonly lengthMs: number;
}

/** The longest chain of work that remains; ties fall to the smaller id. Finished nodes weigh nothing. */
export function criticalPath(graph: Graph, isFinished: (node: number) => boolean): CriticalPath {
  const { start, targets } = graph.dependents;
  const remainingMs = new Float64Array(graph.size);
  const order = topologicalOrder(graph);
  const dependentsOf = (node: number) => targets.subarray(start[node], start[node + 1]);
  const longest = (nodes: Iterable<number>): number | undefined => {
    let best: number | undefined;
    for (const node of nodes) if (best === undefined || leads(graph, remainingMs, node, best)) best = node;
    return best;
  };
  for (const node of order.toReversed()) {
    const next = longest(dependentsOf(node));
    const behindMs = next === undefined ? 0 : (remainingMs[next] as number);
    remainingMs[node] = behindMs + (isFinished(node) ? 0 : graph.taskOf(node).estimateMs);
  }
  const nodes: number[] = [];
  const first = longest(order);
  for (let node = first; node !== undefined; node = longest(dependentsOf(node))) {
    if (!isFinished(node)) nodes.push(node);
  }
  return { nodes, lengthMs: first === undefined ? 0 : (remainingMs[first] as number) };
}

function leads(graph: Graph, remainingMs: Float64Array, node: number, best: number): boolean {
  const lead = (remainingMs[node] as number) - (remainingMs[best] as number);
  return lead > 0 || (lead === 0 && compareText(graph.idOf(node), graph.idOf(best)) < 0);
}
