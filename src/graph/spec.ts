import type { Risk } from "./risk.ts";
import type { TaskBudget } from "./task-budget.ts";

/** Urgency of a task, 0 (critical) to 4 (best effort). */
export type Priority = 0 | 1 | 2 | 3 | 4;

/**
 * What a task asks of the scheduler, in the units that decisions are made in. Nodes of a large graph
 * share few distinct ones, so a run stores each once.
 */
export interface TaskSpec {
  /** What the worker shall do: `command`, or the name of a task type that it knows. */
  readonly type: string;
  /** The name of who should run it; workers say which executors they serve. */
  readonly executor: string;
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  readonly estimateMs: number;
  readonly priority: Priority;
  /** Sorted by code unit, without duplicates. */
  readonly capabilities: readonly string[];
  readonly maxAttempts: number;
  /** Wait before the second attempt; it doubles with each further one. */
  readonly backoffMs: number;
  /** 0: no limit. */
  readonly timeoutMs: number;
  /** Waits for a person and is never ready by itself. */
  readonly held: boolean;
  /** Names of limits that it counts towards. Sorted by code unit, without duplicates. */
  readonly limits: readonly string[];
  /** How much it counts towards each of its limits, from 1 on; empty: one each. */
  readonly amounts: readonly number[];
  readonly risk: Risk;
  /** It asks to be tried in several ways at once. */
  readonly speculate: boolean;
  /** What it may consume on its worker; empty: as much as it likes. */
  readonly budget: TaskBudget;
  /** The version under which its result may be used again for the same arguments and inputs; undefined: never. */
  readonly cache?: string | undefined;
  /** How many nodes it may add to its run by an attempt of it; undefined: none. */
  readonly mayAdd?: number | undefined;
  /** It gets handles of its inputs, and nothing is moved for it. */
  readonly meta?: boolean | undefined;
  /** It mostly waits, and takes no slot of a worker that has room for such. */
  readonly io?: boolean | undefined;
}

export interface NodeSpec {
  readonly id: string;
  /** Ids of the nodes that must have completed before this one starts. */
  readonly needs: readonly string[];
  /** Of these, those whose results it gets, in the order in which it gets them; left out: it is not called with any. */
  readonly inputs?: readonly string[];
  /** Its result is kept until the run is released. */
  readonly keep?: boolean;
  readonly task: TaskSpec;
  /** SHA-256 of what the worker is asked to do, or "" where nothing is kept. */
  readonly requestHash: string;
  /** Completed before this run began, and not run again. */
  readonly done: boolean;
}
