export { RISKS, type Risk } from "../graph/index.ts";
export { lowerBound } from "./lower-bound.ts";
export { ParallelScheduler } from "./parallel.ts";
export type { OrderReason, Plan, Scheduled, Skip } from "./plan.ts";
export { type Compiled, compile, type Problem } from "./problem.ts";
export type {
  Activity,
  ActivityState,
  Finding,
  HoldCode,
  Project,
  Unit,
} from "./project.ts";
export { type Schedule, Schedules } from "./schedules.ts";
