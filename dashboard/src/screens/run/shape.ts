import type { RunGraphAnswer } from "../../../../src/protocol/api-schemas.ts";
import { Lists } from "./lists.ts";

/** What does not change about a run, by node. */
export interface RunShape extends Pick<RunGraphAnswer, "kinds" | "handed" | "parent"> {
  readonly size: number;
  /** Indexes of nodes in pairs: what is needed, and who needs it. */
  readonly edges: Uint32Array;
  readonly ids: readonly string[];
  readonly kind: readonly number[];
  /** By node, what it needs, and what needs it. */
  readonly needs: Lists;
  readonly dependents: Lists;
  /** By node, the edges that lead to it, and those that lead away. */
  readonly edgesTo: Lists;
  readonly edgesFrom: Lists;
}

export function shapeFrom({ nodes, kinds, kind, edges, handed, parent }: RunGraphAnswer): RunShape {
  const count = edges.length / 2;
  const from = new Uint32Array(count);
  const to = new Uint32Array(count);
  const numbers = new Uint32Array(count);
  for (let edge = 0; edge < count; edge++) {
    from[edge] = edges[2 * edge] as number;
    to[edge] = edges[2 * edge + 1] as number;
    numbers[edge] = edge;
  }
  const size = nodes.length;
  return {
    size,
    ids: nodes,
    kinds,
    kind,
    edges: Uint32Array.from(edges),
    handed,
    parent,
    needs: new Lists(size, to, from),
    dependents: new Lists(size, from, to),
    edgesTo: new Lists(size, to, numbers),
    edgesFrom: new Lists(size, from, numbers),
  };
}

export function typeOf({ kinds, kind }: RunShape, node: number): string {
  return kinds[kind[node] ?? -1]?.task_type ?? "";
}

export function estimateMsOf({ kinds, kind }: RunShape, node: number): number {
  return (kinds[kind[node] ?? -1]?.estimate ?? 0) * 1000;
}
