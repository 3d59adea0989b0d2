export { RISKS, type Risk } from "../graph/index.ts";
export type { OrderReason, Plan, Scheduled, Skip } from "./plan.ts";
export type {
  Activity,
  ActivityState,
  Finding,
  HoldCode,
  Project,
  Unit,
} from "./project.ts";
