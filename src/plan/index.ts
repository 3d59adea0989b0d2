export type { OrderReason, Plan, Scheduled, Skip } from "./plan.ts";
export {
  type Activity,
  type ActivityState,
  type Finding,
  type HoldCode,
  type Project,
  RISKS,
  type Risk,
  type Unit,
} from "./project.ts";
