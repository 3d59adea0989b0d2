export { RISKS, type Risk } from "../graph/index.ts";
export { assemble, type Found } from "./assemble.ts";
export { Search } from "./improve.ts";
export { type Levels, levelsOf } from "./levels.ts";
export { type BoundCause, lowerBound } from "./lower-bound.ts";
export { Online } from "./online.ts";
export { ParallelScheduler } from "./parallel.ts";
export type { Plan, Scheduled, Skip } from "./plan.ts";
export { compile, type Problem } from "./problem.ts";
export type {
  Activity,
  ActivityState,
  Finding,
  HoldCode,
  Project,
  Unit,
} from "./project.ts";
export { wholeOrder } from "./ready-order.ts";
export { type Schedule, Schedules } from "./schedules.ts";
export {
  maySpeculate,
  type Speculated,
  type SpeculatedProject,
  speculate,
  withAlternatives,
} from "./speculated.ts";
export { raiseStarving } from "./starvation.ts";
