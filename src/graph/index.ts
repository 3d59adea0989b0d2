export { type CriticalPath, criticalPath } from "./critical-path.ts";
export { type Edges, Graph, topologicalOrder } from "./graph.ts";
export { findGraphProblems, type GraphLimits, type GraphProblem } from "./problems.ts";
export type { NodeSpec, Priority, TaskSpec } from "./spec.ts";
export { taskSpecOf, type WireGraph, type WireSpec, wireGraph } from "./wire.ts";
