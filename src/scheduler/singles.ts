import { Numbered, violated } from "../core/index.ts";
import type { TaskSpec } from "../graph/index.ts";
import { NO_RUN } from "../placement/index.ts";
import type { Entry, PriorityClass, RequestState, Tier } from "../queue/index.ts";
import type { Group } from "./group.ts";
import { checkMove, type Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";

/** What an alternative is one of: the node, and its place among the alternatives. */
export interface AlternativeOf {
  readonly run: number;
  readonly node: number;
  readonly at: number;
}

/** A task that belongs to no run. It leaves the state when it has ended. */
export interface Single extends Entry {
  readonly number: number;
  readonly id: string;
  readonly agent: string;
  readonly zone: string;
  readonly spec: TaskSpec;
  readonly requestState: RequestState;
  readonly boostMicros: number;
  /** What of its agent's credits is kept for its boost. */
  readonly reservedMicros: number;
  /** In the ledger's time; -1 if the task has none. */
  deadline: number;
  readonly requestHash: string;
  readonly submittedAt: number;
  readonly seq: number;
  readyAt: number;
  readonly tier: Tier;
  readonly class: PriorityClass;
  readonly group: Group;
  /** Attempts before it came (again): those that it may have are counted from there. */
  readonly attemptsBefore: number;
  /** Undefined for what was submitted by itself. */
  readonly alternativeOf: AlternativeOf | undefined;
  status: Status;
  attempt: number;
  /** Attempts that ended before they began. */
  excused: number;
  worker: number;
  since: number;
  lastSeq: number;
  offered: boolean;
}

export class Singles implements Tasks {
  readonly number = NO_RUN;
  /** By number. */
  readonly all: Numbered<Single> = new Numbered();
  readonly #byId = new Map<string, Single>();
  /** Most of what is asked is asked of the same task as before. */
  #last: Single | undefined;
  /** How many of them are alternatives. */
  alternatives = 0;

  get(node: number): Single {
    if (this.#last?.number === node) return this.#last;
    const single = this.all.get(node);
    if (!single) violated(`task ${node} is in the state`);
    this.#last = single;
    return single;
  }

  byId(id: string): Single | undefined {
    return this.#byId.get(id);
  }

  add(single: Single): void {
    this.all.set(single.number, single);
    this.#byId.set(single.id, single);
    if (single.alternativeOf) this.alternatives++;
  }

  delete(single: Single): void {
    this.all.delete(single.number);
    this.#last = undefined;
    this.#byId.delete(single.id);
    if (single.alternativeOf) this.alternatives--;
  }

  has(node: number): boolean {
    return this.all.has(node);
  }

  taskOf(node: number): TaskSpec {
    return this.get(node).spec;
  }

  taskIdOf(node: number): string {
    return this.get(node).id;
  }

  agentOf(node: number): string {
    return this.get(node).agent;
  }

  zoneOf(node: number): string {
    return this.get(node).zone;
  }

  requestHashOf(node: number): string {
    return this.get(node).requestHash;
  }

  statusOf(node: number): Status {
    return this.get(node).status;
  }

  attemptOf(node: number): number {
    return this.get(node).attempt;
  }

  uncountedOf(node: number): number {
    const { attemptsBefore, excused } = this.get(node);
    return attemptsBefore + excused;
  }

  workerOf(node: number): number {
    return this.get(node).worker;
  }

  sinceOf(node: number): number {
    return this.get(node).since;
  }

  readyAtOf(node: number): number {
    return this.get(node).readyAt;
  }

  lastSeqOf(node: number): number {
    return this.get(node).lastSeq;
  }

  groupOf(node: number): Group {
    return this.get(node).group;
  }

  move(node: number, to: Status, seq: number, since: number): void {
    const single = this.get(node);
    checkMove(single.status, to);
    single.status = to;
    single.since = since;
    single.lastSeq = seq;
  }

  excuse(node: number): void {
    this.get(node).excused++;
  }

  assignTo(node: number, attempt: number, worker: number): void {
    const single = this.get(node);
    single.attempt = attempt;
    single.worker = worker;
  }

  offer(node: number): void {
    const single = this.get(node);
    single.offered = true;
    single.group.line.add(single);
  }

  withdraw(node: number): void {
    const single = this.get(node);
    if (!single.offered) return;
    single.offered = false;
    single.group.line.delete(single);
  }

  isOffered(node: number): boolean {
    return this.get(node).offered;
  }
}
