import { type Shape, topologicalOrder } from "./edges.ts";

/**
 * For each node its place in the order in which one processor would run them all and hold little data: it finishes what
 * it began before it begins something else, and goes on with what uses the result that it has just made.
 *
 * Each connected part is walked from one of its ends, so that a long one can be cut between two workers in one place.
 */
export function placesOf(graph: Shape): Float64Array {
  const walk = new Walk(graph);
  for (let node = 0; node < graph.size; node++) {
    if (!walk.isPlaced(node)) walk.placePartOf(node);
  }
  return walk.places;
}

class Walk {
  readonly places: Float64Array;
  readonly #graph: Shape;
  readonly #heights: Uint32Array;
  readonly #distance: Int32Array;
  #placed = 0;
  /** Dependents of what was placed: the last one placed is at hand. */
  readonly #next: number[] = [];

  constructor(graph: Shape) {
    this.#graph = graph;
    this.places = new Float64Array(graph.size).fill(-1);
    this.#heights = heightsOf(graph);
    this.#distance = new Int32Array(graph.size).fill(-1);
  }

  isPlaced(node: number): boolean {
    return (this.places[node] as number) >= 0;
  }

  placePartOf(node: number): void {
    this.#next.push(this.#farthestFrom(node));
    for (let target = this.#next.pop(); target !== undefined; target = this.#next.pop())
      this.#placeWithNeeds(target);
  }

  /** The node behind all that it needs and that has no place yet: what takes the longest way first. */
  #placeWithNeeds(target: number): void {
    const path = [target];
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const need = this.isPlaced(node) ? -1 : this.#firstNeed(node);
      if (need !== -1) path.push(need);
      else {
        path.pop();
        if (!this.isPlaced(node)) this.#place(node);
      }
    }
  }

  #firstNeed(node: number): number {
    const { start, targets } = this.#graph.dependencies;
    let first = -1;
    for (let edge = start[node] as number; edge < (start[node + 1] as number); edge++) {
      const need = targets[edge] as number;
      if (this.isPlaced(need)) continue;
      if (first === -1 || (this.#heights[need] as number) > (this.#heights[first] as number)) first = need;
    }
    return first;
  }

  #place(node: number): void {
    this.places[node] = this.#placed++;
    const { start, targets } = this.#graph.dependents;
    for (let edge = (start[node + 1] as number) - 1; edge >= (start[node] as number); edge--) {
      const dependent = targets[edge] as number;
      if (!this.isPlaced(dependent)) this.#next.push(dependent);
    }
  }

  /** An end of the part that the node belongs to. */
  #farthestFrom(node: number): number {
    const { dependencies, dependents } = this.#graph;
    const reached = [node];
    this.#distance[node] = 0;
    for (let at = 0; at < reached.length; at++) {
      const from = reached[at] as number;
      for (const { start, targets } of [dependencies, dependents]) {
        for (let edge = start[from] as number; edge < (start[from + 1] as number); edge++) {
          const to = targets[edge] as number;
          if (this.#distance[to] !== -1) continue;
          this.#distance[to] = (this.#distance[from] as number) + 1;
          reached.push(to);
        }
      }
    }
    return reached.at(-1) as number;
  }
}

/** How many nodes the longest chain has that leads to a node. */
function heightsOf(graph: Shape): Uint32Array {
  const heights = new Uint32Array(graph.size);
  const { start, targets } = graph.dependents;
  for (const node of topologicalOrder(graph)) {
    for (let edge = start[node] as number; edge < (start[node + 1] as number); edge++) {
      const dependent = targets[edge] as number;
      heights[dependent] = Math.max(heights[dependent] as number, (heights[node] as number) + 1);
    }
  }
  return heights;
}
