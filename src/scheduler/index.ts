export type { Account, Excess } from "./accounts.ts";
export type { RoomBarrier } from "./admission.ts";
export { lineBefore } from "./ahead.ts";
export { apply } from "./apply.ts";
export { type Backlog, backlog, type WaitCode } from "./backlog.ts";
export { type AgentCensus, agentCensus, agentsOf, type Census, census } from "./census.ts";
export type { Change, Lack, OneChange } from "./changes.ts";
export { chargeOf } from "./charges.ts";
export { isHolding, type LettingGo } from "./chunk-owners.ts";
export { DEFAULT_CONFIG, DEFAULT_STARVE_NODE_MS } from "./default-config.ts";
export { isWaiting, nextWakeAt } from "./dispatch.ts";
export { excessOf } from "./excess.ts";
export {
  type InputPlace,
  isServing,
  isUnsatisfiable,
  roomFor,
  type WaitReason,
  whereInputsAre,
  whyHere,
  whyNotYet,
} from "./explain.ts";
export {
  asEstimated,
  type Endings,
  type Happening,
  Play,
  type PlayedAttempt,
} from "./fork.ts";
export { type Group, placeKey, zonedKey } from "./group.ts";
export { runningByName } from "./limits-in-use.ts";
export { linkRefusal, nodeAbove } from "./links.ts";
export {
  type Moved,
  movedTasks,
  type Outcome,
  outcomeOf,
  type PlayedTask,
  type Score,
  scoreOf,
} from "./outcome.ts";
export { type ReadyWork, readyWork } from "./ready-work.ts";
export { type EventRecord, renderRecord } from "./record.ts";
export { eventsOf, type Recorded, Redecider, replayBlock } from "./replay.ts";
export { restore } from "./restore.ts";
export { type Run, submittedTaskId } from "./run.ts";
export { type DataBytes, Result } from "./run-data.ts";
export { type Snapshot, snapshotHash, snapshotTexts, stateHash, takeSnapshot } from "./snapshot.ts";
export { type Prospect, prospectOf, type Sooner } from "./sooner.ts";
export { type Speculated, UNASSESSED_PERMILLE } from "./speculated.ts";
export { stageAfter, tierAt } from "./standing.ts";
export { State } from "./state.ts";
export { isEnded, isPlaced, STATUS_NAMES, Status, type StatusName } from "./status.ts";
export { type Reply, type Stimulus, step } from "./step.ts";
export type { Tasks } from "./tasks.ts";
export { runBytes, specBytes, TASK_BYTES } from "./weights.ts";
export {
  type Alteration,
  alteredCourse,
  type Course,
  comesFromOutside,
  unknownWorkers,
} from "./what-if.ts";
