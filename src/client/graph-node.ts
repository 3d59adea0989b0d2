declare const RESULT: unique symbol;

/** A node of a graph. As an argument of another one it stands for its result. */
export class GraphNode<Result = unknown> {
  readonly id: string;
  declare readonly [RESULT]: Result;

  constructor(id: string) {
    this.id = id;
  }

  toString(): string {
    return this.id;
  }
}

/** What nodes give when they are computed, in the same form: one, or a list of them. */
export type ResultOf<Nodes> = Nodes extends GraphNode<infer Result> ? Result : ResultsOf<Nodes>;

/** Of nodes that are named by their ids nothing is known. */
export type ResultsOf<Nodes> = {
  -readonly [At in keyof Nodes]: Nodes[At] extends GraphNode<infer Result> ? Result : unknown;
};

export type Wanted = GraphNode | readonly GraphNode[];

export function listOf(wanted: Wanted): readonly GraphNode[] {
  if (wanted instanceof GraphNode) return [wanted];
  if (Array.isArray(wanted) && wanted.every((one) => one instanceof GraphNode)) return wanted;
  throw new TypeError(
    "what is named must be a node as task(…) and value(…) return them, not its id, or a list of such nodes",
  );
}
