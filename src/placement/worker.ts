import { compareText, hash32, PassingMap, violated } from "../core/index.ts";
import { type Pace, paceAfter } from "./pace.ts";

/** What a worker says of itself when it registers. */
export interface WorkerSpec {
  /** Unique within its home zone. */
  readonly id: string;
  readonly endpoint: string;
  /** The id of the API key that it came with. Undefined in older ledgers. */
  readonly key?: string;
  /** Its home; it runs tasks of that zone and of those in `zones`. */
  readonly zone: string;
  readonly zones: readonly string[];
  readonly executors: readonly string[];
  readonly capabilities: readonly string[];
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  /** How many tasks it runs at once. */
  readonly slots: number;
  /** How many tasks it runs beside these that say that they mostly wait; left out: none, they take slots too. */
  readonly ioSlots?: number;
  /** It gives back what it has not begun when it is asked to; left out: nobody asks it. */
  readonly givesBack?: true;
}

export type WorkerStatus = "Idle" | "Busy" | "Overloaded" | "Draining" | "Unreachable";

const NEXT: Record<WorkerStatus, readonly WorkerStatus[]> = {
  Idle: ["Busy", "Overloaded", "Draining", "Unreachable"],
  Busy: ["Idle", "Overloaded", "Draining", "Unreachable"],
  Overloaded: ["Idle", "Busy", "Draining", "Unreachable"],
  // A draining worker never takes work again: to come back it registers anew.
  Draining: ["Idle", "Unreachable"],
  Unreachable: ["Idle"],
};

/** Stands for the run of a task that belongs to none; its node is then its own number. */
export const NO_RUN = -1;

/**
 * A task by the number of its run and its node's index: both in one number, to be a cheap key. Negative for tasks of
 * no run, of which there can be more than any run has nodes; never -1, which means none.
 */
export type TaskKey = number;

/** More than the nodes that any run may have, and it leaves room for four thousand million runs. */
const NODES_PER_RUN = 2 ** 21;

export function taskKey(run: number, node: number): TaskKey {
  return run === NO_RUN ? -2 - node : run * NODES_PER_RUN + node;
}

export function runOfKey(key: TaskKey): number {
  return key < 0 ? NO_RUN : Math.floor(key / NODES_PER_RUN);
}

export function nodeOfKey(key: TaskKey): number {
  return key < 0 ? -2 - key : key % NODES_PER_RUN;
}

/** What a worker was given and has not ended: running, or queued there. */
export interface Held {
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  /** When it should end, by its estimate. */
  readonly expectedEndMs: number;
  /** Of a run with data: when it was given or took its place, and how long the likes of it took, in microseconds. */
  readonly since?: number | undefined;
  readonly micros?: number | undefined;
  /** It takes no slot. */
  readonly io?: true | undefined;
}

/** A worker as the scheduler sees it. Changed only by `Fleet`, which keeps its indexes in step. */
export class Worker {
  /** Its number in the ledger, in the order of first registration. */
  readonly number: number;
  readonly id: string;
  /** Of its id, for the random strategy. */
  readonly idHash: number;
  spec: WorkerSpec;
  /** The event of its last registration: what it completed before that, it no longer has. */
  registeredSeq = 0;
  status: WorkerStatus = "Idle";
  /** The event by which it was lost last. */
  lostSeq = 0;
  /** It said good-bye, and is missed by nobody. */
  hasLeft = false;
  /** It was lost so long ago that nothing looks at it any more; only its name is kept, for what it once ran. */
  isForgotten = false;
  freeCpu: number;
  freeMemory: number;
  loadPermille = 0;
  saysOverloaded = false;
  /** What it was given and has not ended, in the order in which it was given. */
  readonly held: PassingMap<TaskKey, Held> = new PassingMap();
  /** Of these, those that take no slot. */
  io = 0;
  /** What it was given ahead of inputs that it is still making, in the order in which it was given. */
  readonly ahead: Set<TaskKey> = new Set();
  /** Task types that it has completed. */
  readonly executed: Set<string> = new Set();
  /** Undefined: it does not give back, so nobody has to know. */
  pace: Pace | undefined;
  /** When it last finished a task of a run with data; 0: never. */
  finishedAt = 0;
  /** The task that it is kept free for. */
  reservedFor: TaskKey | undefined;

  constructor(number: number, spec: WorkerSpec) {
    this.number = number;
    this.id = spec.id;
    this.idHash = hash32(spec.id);
    this.spec = spec;
    this.freeCpu = spec.cpuMillicores;
    this.freeMemory = spec.memoryBytes;
  }

  /** Leaves nothing but the id, which decisions on what it once ran still name. */
  forget(): void {
    this.isForgotten = true;
    this.status = "Unreachable";
    this.spec = forgottenSpec(this.id);
    this.executed.clear();
  }

  get queueDepth(): number {
    return this.held.size;
  }

  /** How many of what it holds take a slot, or wait for one. */
  get inSlots(): number {
    return this.held.size - this.io;
  }

  /** Before it is given something that takes a slot. */
  noteGiven(now: number): void {
    if (this.spec.givesBack && this.inSlots === 0) this.pace = { since: now, ended: 0, movedAt: now };
  }

  /** Something that took a slot, and that it had begun, has ended. */
  noteEnded(now: number): void {
    if (this.pace) this.pace = paceAfter(this.pace, now);
  }

  moveTo(status: WorkerStatus): void {
    if (status === this.status) return;
    if (!NEXT[this.status].includes(status))
      violated(`a worker that is ${this.status} cannot become ${status}`);
    this.status = status;
  }
}

const NONE: readonly string[] = [];

/** The form of a worker of which only the id is left. */
export function forgottenSpec(id: string): WorkerSpec {
  const nothing = {
    zones: NONE,
    executors: NONE,
    capabilities: NONE,
    cpuMillicores: 0,
    memoryBytes: 0,
    slots: 0,
  };
  return { id, endpoint: "", zone: "", ...nothing };
}

/** Names a worker among those of all zones. */
export function workerKey(zone: string, id: string): string {
  return JSON.stringify([zone, id]);
}

/** Sorts by id, then home zone. */
export function byName(a: Worker, b: Worker): number {
  return compareText(a.id, b.id) || compareText(a.spec.zone, b.spec.zone);
}
