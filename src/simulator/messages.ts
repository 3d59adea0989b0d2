import type { TaskSpec } from "../graph/index.ts";
import type { Report } from "../ledger/index.ts";
import type { WorkerSpec } from "../placement/index.ts";
import type { Addition } from "./random-growth.ts";

/** An attempt by its numbers in the ledger. */
export interface AttemptName {
  readonly run: number;
  readonly node: number;
  readonly attempt: number;
}

export function nameOf({ run, node, attempt }: AttemptName): string {
  return `${run}/${node}#${attempt}`;
}

/** A result that an attempt is to get, and where it is: neither stored nor anywhere means that its worker is making it. */
export interface GivenInput {
  readonly chunk: AttemptName;
  readonly isStored: boolean;
  /** The ids of the workers that have it. */
  readonly at: readonly string[];
}

/** A copy of a result that was not where it should be. */
export interface MissingCopy {
  readonly chunk: AttemptName;
  readonly worker: string;
}

/** What comes with a report. */
export interface Enclosed {
  /** The copies of inputs that the attempt was lost for want of. */
  readonly missing?: readonly MissingCopy[];
  /** What the attempt ends by adding to its run, in place of a result. */
  readonly addition?: Addition | undefined;
}

/** Every message carries the incarnation that it comes from or is meant for: a process knows nothing of the one before it. */
export interface Heartbeat {
  readonly id: string;
  readonly incarnation: number;
  readonly sentAtMs: number;
  readonly loadPermille: number;
  readonly saysOverloaded: boolean;
  readonly attempts: readonly (AttemptName & { readonly startedAt: number })[];
}

/** What a worker can say to the server. */
export interface ServerDoor {
  register(spec: WorkerSpec, incarnation: number): void;
  heartbeat(beat: Heartbeat): void;
  report(id: string, incarnation: number, report: Report, enclosed?: Enclosed): void;
  goodbye(id: string, incarnation: number): void;
}

/** What the server can say to a worker. */
export interface WorkerDoor {
  registered(incarnation: number): void;
  /** The server has given the worker up: it has to register anew. */
  expired(incarnation: number): void;
  /** With its inputs, where nodes of its run hand data to each other. */
  assign(
    incarnation: number,
    name: AttemptName,
    task: TaskSpec,
    inputs: readonly GivenInput[] | undefined,
  ): void;
  free(incarnation: number, chunks: readonly AttemptName[]): void;
  cancel(incarnation: number, name: AttemptName): void;
  /** Asks for what has not begun. */
  recall(incarnation: number, name: AttemptName): void;
  acknowledge(incarnation: number, report: Report): void;
  drain(incarnation: number): void;
}
