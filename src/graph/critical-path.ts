import { compareText } from "../core/index.ts";
import type { Graph } from "./graph.ts";

export interface CriticalPath {
  readonly nodes: readonly number[];
  readonly lengthMs: number;
}

/** The longest chain of work that remains; ties fall to the smaller id. Finished nodes weigh nothing. */
export function criticalPath(graph: Graph, isFinished: (node: number) => boolean): CriticalPath {
  const remaining = (node: number) => !isFinished(node);
  let node = longest(graph, range(graph.size), remaining);
  const lengthMs = node === undefined ? 0 : (graph.holdsUpMs[node] as number);
  const nodes: number[] = [];
  while (node !== undefined) {
    nodes.push(node);
    const { start, targets } = graph.dependents;
    node = longest(graph, targets.subarray(start[node], start[node + 1]), remaining);
  }
  return { nodes, lengthMs };
}

function longest(
  graph: Graph,
  nodes: Iterable<number>,
  counts: (node: number) => boolean,
): number | undefined {
  let best: number | undefined;
  for (const node of nodes) {
    if (!counts(node)) continue;
    const lead =
      best === undefined ? 1 : (graph.holdsUpMs[node] as number) - (graph.holdsUpMs[best] as number);
    if (lead > 0 || (lead === 0 && compareText(graph.idOf(node), graph.idOf(best as number)) < 0))
      best = node;
  }
  return best;
}

function* range(size: number): Generator<number> {
  for (let index = 0; index < size; index++) yield index;
}
