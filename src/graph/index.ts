export { criticalPath } from "./critical-path.ts";
export { topologicalOrder } from "./edges.ts";
export { Graph } from "./graph.ts";
export { limitsOf, MAX_NAMES } from "./limits.ts";
export { findCycles, findGraphProblems, type GraphProblem } from "./problems.ts";
export { RISKS, type Risk } from "./risk.ts";
export type { NodeSpec, Priority, TaskSpec } from "./spec.ts";
export {
  DEFAULT_SPECULATION,
  type Spare,
  type Speculation,
  type SpeculationCandidate,
  type SpeculationCause,
  type SpeculationSettings,
  speculationOf,
  speculationTag,
} from "./speculation.ts";
export {
  BUDGET_PARTS,
  type BudgetOnWire,
  type BudgetPart,
  budgetOffWire,
  budgetOnWire,
  DEFAULT_BUDGET,
  partOffWire,
  partOnWire,
  type TaskBudget,
  taskBudget,
  waitsWhenExhausted,
} from "./task-budget.ts";
export {
  type Alternative,
  type EndedAlternative,
  type Score,
  type Vote,
  type VoteOutcome,
  vote,
} from "./vote.ts";
export { taskSpecOf, type WireGraph, type WireSpec, wireGraph, wireSpec } from "./wire.ts";
