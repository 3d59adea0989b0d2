import { numbersIn } from "../core/index.ts";
import { placesOf } from "./data-order.ts";
import { type Edges, edgesOf, reversed, topologicalOrder } from "./edges.ts";
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
   * Between the two classical rules (with all of its own time, and with none) it makes the shorter schedules. Where nodes
   * hand data to each other, the order that holds little of it at once instead, and what makes new data last.
   */
  readonly weight: Float64Array;
  /** For each node how many of its dependencies, from the first on, are inputs; undefined: no node has any. */
  readonly inputs: Uint32Array | undefined;
  /** Nodes whose results are kept, where there are inputs. */
  readonly kept: readonly number[];
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
    this.inputs = wire.inputs && new Uint32Array(wire.inputs);
    this.kept = wire.keep ?? [];
    this.weight = this.inputs
      ? placesOf(this).map((place, node) => this.size * (this.inputs?.[node] === 0 ? 1 : 2) - place)
      : this.holdsUpMs.map((levelMs, node) => 2 * levelMs - this.taskOf(node).estimateMs);
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
      spec: numbersIn(this.specOf),
      needs: this.#ids.map((_, node) => numbersIn(targets, start[node], start[node + 1])),
      requests: this.#requests,
      done,
      specs: this.#wireSpecs,
      ...(this.inputs && { inputs: numbersIn(this.inputs), keep: this.kept }),
    };
  }

  /** The nodes whose results a node gets. */
  inputsOf(node: number): readonly number[] {
    const { start, targets } = this.dependencies;
    const from = start[node] as number;
    // A view of the array would take five times as long to make.
    return numbersIn(targets, from, from + (this.inputs?.[node] ?? 0));
  }
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
