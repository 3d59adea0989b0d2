import { invariant } from "../core/index.ts";

/** The neighbours of node n are `targets[start[n]]` to `targets[start[n + 1] - 1]`. */
export interface Edges {
  readonly start: Uint32Array;
  readonly targets: Uint32Array;
}

/** What waits for what, and nothing else about a graph. */
export interface Shape {
  readonly size: number;
  readonly dependencies: Edges;
  readonly dependents: Edges;
}

export function edgesOf(lists: readonly (readonly number[])[]): Edges {
  const start = new Uint32Array(lists.length + 1);
  for (let node = 0; node < lists.length; node++) {
    start[node + 1] = (start[node] as number) + (lists[node] as readonly number[]).length;
  }
  const targets = new Uint32Array(start[lists.length] as number);
  let filled = 0;
  for (let node = 0; node < lists.length; node++) {
    const list = lists[node] as readonly number[];
    for (let at = 0; at < list.length; at++) targets[filled++] = list[at] as number;
  }
  return { start, targets };
}

export function reversed({ start, targets }: Edges): Edges {
  const size = start.length - 1;
  const back = new Uint32Array(size + 1);
  for (let edge = 0; edge < targets.length; edge++) (back[(targets[edge] as number) + 1] as number)++;
  for (let node = 0; node < size; node++) (back[node + 1] as number) += back[node] as number;
  const sources = new Uint32Array(targets.length);
  const next = back.slice(0, size);
  for (let node = 0; node < size; node++) {
    for (let edge = start[node] as number; edge < (start[node + 1] as number); edge++) {
      const target = targets[edge] as number;
      sources[next[target] as number] = node;
      (next[target] as number)++;
    }
  }
  return { start: back, targets: sources };
}

/** Every node after all that it needs. */
export function topologicalOrder({ dependencies, dependents, size }: Shape): Uint32Array {
  const pending = new Uint32Array(size);
  const order = new Uint32Array(size);
  let filled = 0;
  for (let node = 0; node < size; node++) {
    pending[node] = (dependencies.start[node + 1] as number) - (dependencies.start[node] as number);
    if (pending[node] === 0) order[filled++] = node;
  }
  for (let at = 0; at < filled; at++) {
    const node = order[at] as number;
    for (let edge = dependents.start[node] as number; edge < (dependents.start[node + 1] as number); edge++) {
      const dependent = dependents.targets[edge] as number;
      if (--(pending[dependent] as number) === 0) order[filled++] = dependent;
    }
  }
  invariant(filled === size, "a graph that is scheduled has no cycle");
  return order;
}
