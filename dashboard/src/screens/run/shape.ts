import type { RunGraphAnswer } from "../../../../src/protocol/api-schemas.ts";

/** What does not change about a run, by node. */
export interface RunShape extends Pick<RunGraphAnswer, "kinds" | "edges" | "handed" | "parent"> {
  readonly size: number;
  readonly ids: readonly string[];
  readonly kind: readonly number[];
  /** By node, what it needs, and what needs it. */
  readonly needs: readonly (readonly number[])[];
  readonly dependents: readonly (readonly number[])[];
  /** By node, the edges that lead to it or away. */
  readonly edgesOf: readonly (readonly number[])[];
}

export function shapeFrom({ nodes, kinds, kind, edges, handed, parent }: RunGraphAnswer): RunShape {
  const needs: number[][] = nodes.map(() => []);
  const dependents: number[][] = nodes.map(() => []);
  const edgesOf: number[][] = nodes.map(() => []);
  for (let at = 0; at < edges.length; at += 2) {
    const [from, to] = [edges[at] as number, edges[at + 1] as number];
    needs[to]?.push(from);
    dependents[from]?.push(to);
    edgesOf[from]?.push(at / 2);
    edgesOf[to]?.push(at / 2);
  }
  return { size: nodes.length, ids: nodes, kinds, kind, edges, handed, parent, needs, dependents, edgesOf };
}

export function typeOf({ kinds, kind }: RunShape, node: number): string {
  return kinds[kind[node] ?? -1]?.task_type ?? "";
}

export function estimateMsOf({ kinds, kind }: RunShape, node: number): number {
  return (kinds[kind[node] ?? -1]?.estimate ?? 0) * 1000;
}
