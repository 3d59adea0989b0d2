import type { TaskSpec } from "../graph/index.ts";
import type { LedgerEvent } from "../ledger/index.ts";
import type { TaskKey } from "../placement/index.ts";
import type { AuditRow, KeyedTask, SubmittedTask } from "../store/index.ts";

/** What a stimulus brings along that no decision needs, and no ledger keeps. */
export type Attachment =
  | {
      readonly type: "task";
      /** JSON texts. */
      readonly payload: string;
      readonly settings: string;
      readonly key: KeyedTask | undefined;
      /** What became of it, filled in by the turn that takes it. */
      submitted: SubmittedTask | undefined;
    }
  | { readonly type: "run"; readonly payloads: readonly string[]; readonly settings: readonly string[] }
  | { readonly type: "result"; readonly result: string }
  | { readonly type: "audit"; readonly row: AuditRow }
  /** To put back a task that ended as of that event. If it is another by now, it was put back already. */
  | { readonly type: "requeue"; readonly taskId: string; readonly seq: number };

/** An event with what was known of its task before it; a task of no run is forgotten when it ends. */
export interface Fact {
  readonly seq: number;
  readonly now: number;
  readonly event: LedgerEvent;
  readonly about: About | undefined;
}

export interface About {
  readonly zone: string;
  readonly agent: string;
  readonly runId: string | undefined;
  /** Undefined where an event is about a whole run. */
  readonly task: AboutTask | undefined;
  /** The task whose attempt ended by submitting the run. */
  readonly expanded?: string | undefined;
  /** Attempts that their workers are to forget. */
  readonly withdrawn?: readonly { readonly id: string; readonly attempt: number }[];
  /** Results on workers that are freed, and who has them by number. */
  readonly freed?: readonly AboutChunk[];
  /** The result on a worker that could not be got from there, by the id that it knows it by. */
  readonly lost?: string;
}

/** The result of one attempt, by the id that workers know it by, and who has it. */
export interface AboutChunk {
  readonly id: string;
  readonly workers: readonly number[];
}

/** What a task gets from others of its run. */
export interface TaskInputs {
  /** The run that it belongs to, or the one that this was submitted for. */
  readonly rootId: string;
  readonly chunks: readonly AboutInput[];
}

/** A result that a task gets. */
export interface AboutInput extends AboutChunk {
  /** Where the result is kept: by a node of the same run, or of one above it. */
  readonly run: number;
  readonly node: number;
  readonly taskId: string;
  /** By which the node that gets it knows it. */
  readonly nodeId: string;
  /** It is with its task; otherwise it is on the workers, or is being made. */
  readonly isStored: boolean;
  readonly bytes: number;
  /** The run whose token gives it out, where that is none of the task's own. */
  readonly rootId: string | undefined;
}

export interface AboutTask {
  readonly id: string;
  /** Where it is part of a run. */
  readonly node: string | undefined;
  readonly spec: TaskSpec;
  /** Where it is given to a worker, of a run whose nodes hand data to each other: what it gets. */
  readonly inputs?: TaskInputs;
  /** Where it is one of several ways to do what another task asks for. */
  readonly alternative?: AboutAlternative | undefined;
}

export interface AboutAlternative {
  /** `speculate:primary`, `speculate:alt1` and so on. */
  readonly tag: string;
  /** The id of the other task, and what the scheduler knows it by. */
  readonly of: string;
  readonly key: TaskKey;
}
