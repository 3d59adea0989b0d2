import type { Rejection } from "../placement/index.ts";
import type { Heartbeat } from "../protocol/index.ts";
import type { AttemptOutcome } from "./ended-attempts.ts";

export interface WorkerView {
  readonly id: string;
  readonly zone: string;
  readonly zones: readonly string[];
  readonly executors: readonly string[];
  /** Task types that it can run. */
  readonly types: readonly string[];
  readonly capabilities: readonly string[];
  readonly status: string;
  readonly slots: number;
  readonly held: number;
  /** Beside its slots, for what mostly waits. */
  readonly ioSlots: number;
  readonly ioHeld: number;
  readonly cpuMillicores: number;
  readonly freeCpuMillicores: number;
  readonly memoryBytes: number;
  readonly freeMemoryBytes: number;
  /** As its last heartbeat has it; of a worker of another zone nothing is said. */
  readonly chunks: Heartbeat["memory"];
  /** What it has of what the caller may see, in the order in which it was given. */
  readonly running: readonly {
    readonly id: string;
    readonly type: string;
    readonly node: string | undefined;
    readonly attempt: number;
    /** When it began or, where nobody knows that yet, was given. */
    readonly since: number;
    readonly hasStarted: boolean;
  }[];
  /** Of what is ready and meant for it, how much it cannot take now, by the first reason. */
  readonly rejects: Readonly<Partial<Record<Rejection, number>>>;
}

export interface AttemptsView {
  readonly now: number;
  /** Nothing that ended later is missing. */
  readonly from: number;
  readonly attempts: readonly AttemptView[];
}

export interface AttemptView {
  readonly worker: string;
  /** Its slot; -1: it waits for one, or never got one. */
  readonly lane: number;
  readonly assignedAt: number;
  /** -1: not that anybody knows. */
  readonly startedAt: number;
  /** -1: not yet. */
  readonly endedAt: number;
  /** Undefined: it is another's, of whom the caller is told no more. */
  readonly task:
    | {
        readonly id: string;
        readonly node: string | undefined;
        readonly attempt: number;
        readonly type: string;
        readonly outcome: AttemptOutcome | undefined;
      }
    | undefined;
  /** What was brought for it. */
  readonly transfers: readonly { readonly from: string; readonly at: number; readonly tookMs: number }[];
}

/** What waits and runs in a zone, by executor. Whoever is no admin is told of their own. */
export interface QueuesView {
  readonly zone: string;
  readonly isPaused: boolean;
  /** Of an agent that has no limit of its own; null: any number. */
  readonly maxConcurrent: number | null;
  /** Whether that was set for the zone, rather than for all. */
  readonly hasOwnMax: boolean;
  readonly queues: readonly QueueView[];
}

export interface QueueView {
  readonly executor: string;
  readonly isPaused: boolean;
  /** Could start if there were room. */
  readonly ready: number;
  readonly running: number;
  readonly oldestWaitMs: number;
  /** That serve it here. */
  readonly workers: number;
}
