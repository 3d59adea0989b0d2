import type { TaskSpec } from "../graph/index.ts";
import type { Group } from "./group.ts";
import type { Status } from "./status.ts";

/**
 * Tasks by their node: those of a run, or those that belong to none (`Singles`). What happens to a task is the
 * same for both.
 */
export interface Tasks {
  /** The run's, or NO_RUN. */
  readonly number: number;
  /** Whether a number from outside names a task that is here. */
  has(node: number): boolean;
  taskOf(node: number): TaskSpec;
  /** Its public id. */
  taskIdOf(node: number): string;
  agentOf(node: number): string;
  zoneOf(node: number): string;
  requestHashOf(node: number): string;
  statusOf(node: number): Status;
  attemptOf(node: number): number;
  /** Attempts that do not count towards those that it may have. */
  uncountedOf(node: number): number;
  /** The number of the worker of the last attempt; -1 before the first. */
  workerOf(node: number): number;
  /** When the status began; for a delayed task, when it is due. */
  sinceOf(node: number): number;
  /** The wait counts from here: since when nothing but the scheduler has kept it from running. */
  readyAtOf(node: number): number;
  /** The last event about it, or the one that made it ready: the cause of the next. */
  lastSeqOf(node: number): number;
  groupOf(node: number): Group;

  move(node: number, to: Status, seq: number, since: number): void;
  /** Its attempt ended before it began, through no fault of its own. */
  excuse(node: number): void;
  assignTo(node: number, attempt: number, worker: number): void;
  /** Puts it among those that its group may give out. */
  offer(node: number): void;
  withdraw(node: number): void;
  isOffered(node: number): boolean;
}
