import { invariant } from "../core/index.ts";
import type { TaskSpec } from "./spec.ts";
import { taskSpecOf, type WireGraph, type WireSpec } from "./wire.ts";

/**
 * A graph ready for scheduling: edges in both directions as flat arrays, so that completing a node costs
 * its out-degree and nothing else, and for every node how much work it holds up.
 */
export class Graph {
  readonly size: number;
  readonly specs: readonly TaskSpec[];
  readonly specOf: Uint32Array;
  readonly dependencies: Edges;
  readonly dependents: Edges;
  /**
   * b-level: the estimated milliseconds from the start of this node to the end of the longest chain that
   * hangs on it. Whatever hangs on an unfinished node is unfinished itself, so finishing nodes never
   * changes the b-level of those that remain.
   */
  readonly holdsUpMs: Float64Array;
  /**
   * What orders nodes that are equally urgent, the largest first: twice the longest chain behind a node, and its own time.
   * Between the two classical rules (with all of its own time, and with none) it makes the shorter schedules.
   */
  readonly weight: Float64Array;
  readonly #ids: readonly string[];
  readonly #requests: readonly string[];
  readonly #wireSpecs: readonly WireSpec[];
  #indexOf: Map<string, number> | undefined;

  constructor(wire: WireGraph) {
    this.size = wire.ids.length;
    this.#ids = wire.ids;
    this.#requests = wire.requests;
    this.#wireSpecs = wire.specs;
    this.specs = wire.specs.map(taskSpecOf);
    this.specOf = new Uint32Array(wire.spec);
    this.dependencies = edgesOf(wire.needs);
    this.dependents = reversed(this.dependencies);
    this.holdsUpMs = holdsUp(this);
    this.weight = this.holdsUpMs.map((levelMs, node) => 2 * levelMs - this.taskOf(node).estimateMs);
  }

  idOf(node: number): string {
    return this.#ids[node] as string;
  }

  taskOf(node: number): TaskSpec {
    return this.specs[this.specOf[node] as number] as TaskSpec;
  }

  requestHashOf(node: number): string {
    return this.#requests[node] ?? "";
  }

  indexOf(id: string): number | undefined {
    this.#indexOf ??= new Map(this.#ids.map((name, index) => [name, index]));
    return this.#indexOf.get(id);
  }

  /** The form in the ledger again; `done` is the caller's to say. */
  toWire(done: readonly number[]): WireGraph {
    const { start, targets } = this.dependencies;
    return {
      ids: this.#ids,
      spec: [...this.specOf],
      needs: this.#ids.map((_, node) => [...targets.subarray(start[node], start[node + 1])]),
      requests: this.#requests,
      done,
      specs: this.#wireSpecs,
    };
  }
}

/** The neighbours of node n are `targets[start[n]]` to `targets[start[n + 1] - 1]`. */
export interface Edges {
  readonly start: Uint32Array;
  readonly targets: Uint32Array;
}

function edgesOf(lists: readonly (readonly number[])[]): Edges {
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

function reversed({ start, targets }: Edges): Edges {
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
export function topologicalOrder(graph: Graph): Uint32Array {
  const { dependencies, dependents, size } = graph;
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

function holdsUp(graph: Graph): Float64Array {
  const levels = new Float64Array(graph.size);
  const order = topologicalOrder(graph);
  const { start, targets } = graph.dependents;
  for (let at = graph.size - 1; at >= 0; at--) {
    const node = order[at] as number;
    let longest = 0;
    for (let edge = start[node] as number; edge < (start[node + 1] as number); edge++) {
      const level = levels[targets[edge] as number] as number;
      if (level > longest) longest = level;
    }
    levels[node] = Math.min(graph.taskOf(node).estimateMs + longest, Number.MAX_SAFE_INTEGER);
  }
  return levels;
}
