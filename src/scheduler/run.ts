import { taskIdOf } from "../core/index.ts";
import { Graph, type Priority, type TaskSpec } from "../graph/index.ts";
import type { RunOutcome, RunSubmitted } from "../ledger/index.ts";
import type { Group } from "./group.ts";
import { Lane } from "./group.ts";
import { checkMove, isEnded, STATUS_NAMES, Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";

/** A submitted graph and where each of its nodes stands, in arrays by node. */
export class Run implements Tasks {
  readonly number: number;
  readonly id: string;
  readonly name: string;
  readonly agent: string;
  readonly zone: string;
  readonly onFailure: RunSubmitted["onFailure"];
  readonly graph: Graph;
  readonly submittedAt: number;
  readonly submittedSeq: number;

  readonly status: Uint8Array;
  readonly attempt: Uint32Array;
  /** How many of the nodes that it needs have not completed. */
  readonly pending: Uint32Array;
  /** The number of the worker of the last attempt; -1 before the first. */
  readonly worker: Int32Array;
  /** When the status began; for a delayed task, when it is due. */
  readonly since: Float64Array;
  /** When it became ready. A retry keeps its place. */
  readonly readyAt: Float64Array;
  /** The last event about the node, or the one that made it ready: the cause of the next. */
  readonly lastSeq: Float64Array;
  readonly resultBytes: Float64Array;
  /** For some nodes, how many of their attempts ended before they began. */
  readonly excused: Map<number, number> = new Map();
  /** How many nodes have each status. */
  readonly counts: Uint32Array = new Uint32Array(STATUS_NAMES.length);
  /** Nodes completed in earlier runs. */
  readonly carried: readonly number[];
  lastEventSeq: number;
  cancelRequested = false;
  outcome: RunOutcome | undefined;
  endedAt = -1;

  /** Nodes by group, and within a group in the order in which they go; `position` is its inverse. */
  readonly order: Uint32Array;
  readonly position: Uint32Array;
  #lanes: readonly Lane[] = [];

  constructor(
    number: number,
    event: RunSubmitted,
    seq: number,
    now: number,
    groupOf: (run: Run, spec: number) => Group,
  ) {
    this.number = number;
    this.id = event.runId;
    this.name = event.name;
    this.agent = event.agent;
    this.zone = event.zone;
    this.onFailure = event.onFailure;
    this.graph = new Graph(event.graph);
    this.submittedAt = now;
    this.submittedSeq = seq;
    this.lastEventSeq = seq;
    this.carried = event.graph.done;
    const { size } = this.graph;
    this.status = new Uint8Array(size);
    this.attempt = new Uint32Array(size);
    this.pending = new Uint32Array(size);
    this.worker = new Int32Array(size).fill(-1);
    this.since = new Float64Array(size).fill(now);
    this.readyAt = new Float64Array(size).fill(now);
    this.lastSeq = new Float64Array(size).fill(seq);
    this.resultBytes = new Float64Array(size);
    this.order = new Uint32Array(size);
    this.position = new Uint32Array(size);
    this.#arrange(this.graph.specs.map((_, spec) => groupOf(this, spec)));
    this.#begin();
  }

  get unfinished(): number {
    const { completed, failed, cancelled, skipped } = Status;
    const ended = this.count(completed) + this.count(failed) + this.count(cancelled) + this.count(skipped);
    return this.graph.size - ended;
  }

  /** Whether a number from outside names a node. */
  has(node: number): boolean {
    return Number.isInteger(node) && node >= 0 && node < this.graph.size;
  }

  count(status: Status): number {
    return this.counts[status] as number;
  }

  statusOf(node: number): Status {
    return this.status[node] as Status;
  }

  laneOf(node: number): Lane {
    return this.#lanes[this.graph.specOf[node] as number] as Lane;
  }

  lanes(): Iterable<Lane> {
    return new Set(this.#lanes);
  }

  taskOf(node: number): TaskSpec {
    return this.graph.taskOf(node);
  }

  taskIdOf(node: number): string {
    return taskIdOf(this.id, this.graph.idOf(node));
  }

  agentOf(): string {
    return this.agent;
  }

  zoneOf(): string {
    return this.zone;
  }

  requestHashOf(node: number): string {
    return this.graph.requestHashOf(node);
  }

  attemptOf(node: number): number {
    return this.attempt[node] as number;
  }

  uncountedOf(node: number): number {
    return this.excused.get(node) ?? 0;
  }

  workerOf(node: number): number {
    return this.worker[node] as number;
  }

  sinceOf(node: number): number {
    return this.since[node] as number;
  }

  readyAtOf(node: number): number {
    return this.readyAt[node] as number;
  }

  lastSeqOf(node: number): number {
    return this.lastSeq[node] as number;
  }

  groupOf(node: number): Group {
    return this.laneOf(node).group;
  }

  excuse(node: number): void {
    this.excused.set(node, this.uncountedOf(node) + 1);
  }

  assignTo(node: number, attempt: number, worker: number): void {
    this.attempt[node] = attempt;
    this.worker[node] = worker;
  }

  offer(node: number): void {
    this.laneOf(node).add(node);
  }

  withdraw(node: number): void {
    const lane = this.laneOf(node);
    if (lane.has(node)) lane.remove(node);
  }

  isOffered(node: number): boolean {
    return this.laneOf(node).has(node);
  }

  move(node: number, to: Status, seq: number, since: number): void {
    const from = this.statusOf(node);
    checkMove(from, to);
    this.status[node] = to;
    (this.counts[from] as number)--;
    (this.counts[to] as number)++;
    this.since[node] = since;
    this.lastSeq[node] = seq;
  }

  /** Everything that hangs on a node and has not ended, ascending. */
  openDependents(node: number): number[] {
    const { start, targets } = this.graph.dependents;
    const found = new Set<number>();
    const next = [node];
    for (let at = next.pop(); at !== undefined; at = next.pop()) {
      for (const dependent of targets.subarray(start[at], start[at + 1])) {
        if (found.has(dependent) || isEnded(this.statusOf(dependent))) continue;
        found.add(dependent);
        next.push(dependent);
      }
    }
    return [...found].sort((a, b) => a - b);
  }

  #begin(): void {
    const { graph, status, pending } = this;
    for (const node of this.carried) status[node] = Status.completed;
    const { start, targets } = graph.dependencies;
    const held = graph.specs.map((task) => task.held);
    for (let node = 0; node < graph.size; node++) {
      let open = 0;
      for (let edge = start[node] as number; edge < (start[node + 1] as number); edge++) {
        if (status[targets[edge] as number] !== Status.completed) open++;
      }
      pending[node] = open;
      if (held[graph.specOf[node] as number] && status[node] !== Status.completed) status[node] = Status.held;
      (this.counts[status[node] as number] as number)++;
    }
  }

  /** Sorts once, so that the order within the run is a comparison of positions ever after. */
  #arrange(groups: readonly Group[]): void {
    const indexOf = new LaneIndex();
    const groupIndex = Uint32Array.from(groups, (group, spec) =>
      indexOf.indexOf(group, (this.graph.specs[spec] as TaskSpec).priority),
    );
    const { order, position, graph } = this;
    const { specOf, holdsUpMs } = graph;
    const compare = (a: number, b: number) =>
      (groupIndex[specOf[a] as number] as number) - (groupIndex[specOf[b] as number] as number) ||
      (holdsUpMs[b] as number) - (holdsUpMs[a] as number) ||
      a - b;
    let sorted = true;
    for (let node = 0; node < order.length; node++) {
      order[node] = node;
      sorted &&= node === 0 || compare(node - 1, node) < 0;
    }
    if (!sorted) order.sort(compare);
    const starts = new Uint32Array(indexOf.size);
    const sizes = new Uint32Array(indexOf.size);
    for (let at = order.length - 1; at >= 0; at--) {
      const node = order[at] as number;
      const group = groupIndex[specOf[node] as number] as number;
      position[node] = at;
      starts[group] = at;
      (sizes[group] as number)++;
    }
    const lanes = indexOf.all.map(
      ({ group, priority }, at) => new Lane(this, group, priority, starts[at] as number, sizes[at] as number),
    );
    this.#lanes = Array.from(groupIndex, (index) => lanes[index] as Lane);
  }
}

/** Numbers the different groups and priorities of a run's tasks, in the order in which they come. */
class LaneIndex {
  readonly all: { readonly group: Group; readonly priority: Priority }[] = [];
  readonly #numbers = new Map<Group, Map<Priority, number>>();

  get size(): number {
    return this.all.length;
  }

  indexOf(group: Group, priority: Priority): number {
    const ofGroup = this.#numbers.get(group) ?? new Map<Priority, number>();
    this.#numbers.set(group, ofGroup);
    let number = ofGroup.get(priority);
    if (number === undefined) {
      number = this.all.push({ group, priority }) - 1;
      ofGroup.set(priority, number);
    }
    return number;
  }
}
