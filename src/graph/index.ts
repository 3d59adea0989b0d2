export { criticalPath } from "./critical-path.ts";
export { Graph, topologicalOrder } from "./graph.ts";
export { findGraphProblems, type GraphProblem } from "./problems.ts";
export type { NodeSpec, Priority, TaskSpec } from "./spec.ts";
export { taskSpecOf, type WireGraph, type WireSpec, wireGraph, wireSpec } from "./wire.ts";
