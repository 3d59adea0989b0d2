export {
  bringMicros,
  busyMicros,
  chooseNear,
  DEFAULT_RATES,
  type Inputs,
  moveMicros,
  nearestOf,
} from "./affinity.ts";
export { shouldAccept, shouldThrottle } from "./backpressure.ts";
export { Candidates } from "./candidates.ts";
export { type Choice, choose, onlyChoice, type Subject } from "./choose.ts";
export { type PlacementConfig, STRATEGIES, type Strategy } from "./config.ts";
export { couldEverRun, Demand, type Needs, servesZone, takesNoSlot } from "./demand.ts";
export { Fleet } from "./fleet.ts";
export { type Pace, paceMicros } from "./pace.ts";
export { REJECTIONS, type Reason, type Rejection } from "./reason.ts";
export { Registrations, registrationBytes } from "./registrations.ts";
export { firstOpening, type Opening } from "./reservation.ts";
export { type CandidateRow, candidateTable, rejectionOf } from "./table.ts";
export {
  forgottenSpec,
  type Held,
  NO_RUN,
  nodeOfKey,
  runOfKey,
  type TaskKey,
  taskKey,
  Worker,
  type WorkerSpec,
  type WorkerStatus,
  workerKey,
} from "./worker.ts";
