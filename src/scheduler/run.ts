import { IndexHeap, taskIdOf } from "../core/index.ts";
import { Graph, type Priority, type TaskSpec } from "../graph/index.ts";
import type { RunOutcome, RunParent, RunSubmitted } from "../ledger/index.ts";
import { classify, type Entry, type PriorityClass } from "../queue/index.ts";
import type { Account } from "./accounts.ts";
import type { Group } from "./group.ts";
import { Lane } from "./lane.ts";
import { type DataWatch, RunData } from "./run-data.ts";
import type { Speculated } from "./speculated.ts";
import { type Precedence, type Stage, standingOf, tierAt, whatPartsStandings } from "./standing.ts";
import { checkMove, hasBegun, isEnded, STATUS_NAMES, Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";
import { runBytes } from "./weights.ts";

/** Derived by hashes, and asked for several times of each node: also before there is a run. */
const TASK_IDS = new WeakMap<RunSubmitted, string[]>();

function taskIdsOf(event: RunSubmitted): string[] {
  let ids = TASK_IDS.get(event);
  if (!ids) {
    ids = [];
    TASK_IDS.set(event, ids);
  }
  return ids;
}

/** The id of the task of a node of a run that is being submitted. */
export function submittedTaskId(event: RunSubmitted, node: number): string {
  const ids = taskIdsOf(event);
  const id = ids[node] ?? taskIdOf(event.runId, event.graph.ids[node] as string);
  ids[node] = id;
  return id;
}

/** A submitted graph and where each of its nodes stands, in arrays by node. */
export class Run implements Tasks {
  readonly number: number;
  readonly id: string;
  readonly name: string;
  readonly agent: string;
  readonly zone: string;
  readonly onFailure: RunSubmitted["onFailure"];
  readonly graph: Graph;
  /** The node whose attempt submitted it, and which of its own nodes that gets the result of. */
  readonly parent: RunParent | undefined;
  /** For nodes that stand for others, these. */
  readonly links: ReadonlyMap<number, { readonly run: number; readonly node: number }>;
  /** The id of the run that nobody's attempt submitted: this one's, or that of the first before it. */
  readonly rootId: string;
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
  /** What became of the nodes that are tried, or were tried, in several alternatives. */
  readonly speculations: Map<number, Speculated> = new Map();
  /** Where results are, if nodes hand them to each other. */
  readonly data: RunData | undefined;
  /** How many nodes have each status. */
  readonly counts: Uint32Array = new Uint32Array(STATUS_NAMES.length);
  /** Nodes completed in earlier runs. */
  readonly carried: readonly number[];
  /** Its agent's. */
  readonly account: Account;
  /** Estimated heap, without its groups. */
  readonly bytes: number;
  lastEventSeq: number;
  cancelRequested = false;
  outcome: RunOutcome | undefined;
  endedAt = -1;

  /** The most urgent priority of its nodes: among other runs it stands as a whole. */
  readonly tier: Priority;
  /** Where a ready node stands, see `standingOf`; the stage that its wait has reached. */
  readonly standing: Uint8Array;
  readonly stage: Uint8Array;
  /** Where a ready node is in the heaps of its lane; -1 for others. */
  readonly places: Int32Array;
  readonly ages: Int32Array;
  /** By specification, and each once: many specifications share few. */
  readonly #lanes: readonly Lane[];
  readonly #distinctLanes: ReadonlySet<Lane>;
  readonly #watch: Watch;
  /** What has not ended and waits for no other node. The longest chain that remains begins with one of these. */
  readonly #front: IndexHeap;
  readonly #frontPlaces: Int32Array;
  readonly #taskIds: string[];
  #nodesByTask: ReadonlyMap<string, number> | undefined;
  /** The length of the longest chain that remained when the last turn was decided. */
  #criticalMs = -1;
  /** Something has ended since then. */
  #hasChanged = false;

  constructor(
    number: number,
    event: RunSubmitted,
    seq: number,
    now: number,
    groupOf: (run: Run, spec: number) => Group,
    watch: Watch,
    account: Account,
    rootId: string = event.runId,
  ) {
    this.number = number;
    this.id = event.runId;
    this.name = event.name;
    this.agent = event.agent;
    this.zone = event.zone;
    this.onFailure = event.onFailure;
    this.graph = new Graph(event.graph);
    this.parent = event.parent;
    this.links = new Map(event.parent?.links?.map(([node, run, of]) => [node, { run, node: of }]));
    this.rootId = rootId;
    this.#taskIds = taskIdsOf(event);
    this.submittedAt = now;
    this.submittedSeq = seq;
    this.lastEventSeq = seq;
    this.carried = event.graph.done;
    this.account = account;
    this.bytes = runBytes(event.graph, this.graph.specs, this.links.size);
    const { size } = this.graph;
    this.status = new Uint8Array(size);
    this.attempt = new Uint32Array(size);
    this.pending = new Uint32Array(size);
    this.worker = new Int32Array(size).fill(-1);
    this.since = new Float64Array(size).fill(now);
    this.readyAt = new Float64Array(size).fill(now);
    this.lastSeq = new Float64Array(size).fill(seq);
    this.resultBytes = new Float64Array(size);
    this.tier = this.graph.specs.reduce<Priority>(
      (least, { priority }) => Math.min(least, priority) as Priority,
      4,
    );
    this.standing = new Uint8Array(size);
    this.stage = new Uint8Array(size);
    this.places = new Int32Array(size).fill(-1);
    this.ages = new Int32Array(size).fill(-1);
    this.#lanes = lanesOf(this, groupOf);
    this.#distinctLanes = new Set(this.#lanes);
    this.#watch = watch;
    const { holdsUpMs } = this.graph;
    this.#frontPlaces = new Int32Array(size).fill(-1);
    this.#front = new IndexHeap(
      (a, b) => (holdsUpMs[a] as number) > (holdsUpMs[b] as number),
      this.#frontPlaces,
    );
    this.data = this.graph.inputs && new RunData(number, this.graph, this.links, watch);
    this.#begin();
    this.findFront();
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

  lanes(): ReadonlySet<Lane> {
    return this.#distinctLanes;
  }

  /** The class that a node starts in. */
  classOf(node: number): PriorityClass {
    return classify(this.taskOf(node).priority, "pending");
  }

  taskOf(node: number): TaskSpec {
    return this.graph.taskOf(node);
  }

  taskIdOf(node: number): string {
    const known = this.#taskIds[node];
    if (known !== undefined) return known;
    const id = taskIdOf(this.id, this.graph.idOf(node));
    this.#taskIds[node] = id;
    return id;
  }

  /** What workers know the result of a node by. */
  chunkIdOf(node: number): string {
    const loan = this.data?.loans.get(node);
    if (loan) return loan.run.chunkIdOf(loan.node);
    return this.data?.origins.get(node) ?? `${this.taskIdOf(node)}:${this.attemptOf(node)}`;
  }

  /** The node whose task has that id. */
  nodeOfTask(taskId: string): number | undefined {
    this.#nodesByTask ??= new Map(Array.from(this.status, (_, node) => [this.taskIdOf(node), node]));
    return this.#nodesByTask.get(taskId);
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
    const { liftAt, afterMs } = this.#watch;
    this.#watch.liftAt = Math.min(liftAt, (this.readyAt[node] as number) + afterMs + 1);
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
    this.data?.move(node, from, to);
    if (isEnded(to) && this.#frontPlaces[node] !== -1) {
      this.#front.delete(node);
      this.#noteChanged();
    }
  }

  /** One more of what the node waits for has completed; true when there is nothing left. */
  unblock(node: number): boolean {
    // It completed with a result that is being made again for others.
    if (this.pending[node] === 0) return false;
    if (--(this.pending[node] as number) > 0) return false;
    if (!isEnded(this.statusOf(node))) this.#front.add(node);
    return true;
  }

  /** It is to be made again: it waits for all that it needs and that is not there now. */
  countPending(node: number): void {
    const { start, targets } = this.graph.dependencies;
    let open = 0;
    for (let edge = start[node] as number; edge < (start[node + 1] as number); edge++)
      if (this.status[targets[edge] as number] !== Status.completed) open++;
    this.pending[node] = open;
    if (open === 0) this.#front.add(node);
  }

  /** What the node needs is to be made again. */
  block(node: number): void {
    (this.pending[node] as number)++;
    if (this.#frontPlaces[node] === -1) return;
    this.#front.delete(node);
    this.#noteChanged();
  }

  /** Which of two ready nodes goes first (G-04). Age is how long it has been ready, the index the order of submission. */
  goesBefore(a: number, b: number): boolean {
    const lead =
      (this.standing[a] as number) - (this.standing[b] as number) ||
      (this.graph.weight[b] as number) - (this.graph.weight[a] as number) ||
      (this.readyAt[a] as number) - (this.readyAt[b] as number) ||
      a - b;
    return lead < 0;
  }

  /** What decides between two ready nodes. */
  whatParts(a: number, b: number): Precedence {
    const [one, other] = [this.standing[a] as number, this.standing[b] as number];
    if (one !== other) return whatPartsStandings(one, other);
    if (this.graph.weight[a] !== this.graph.weight[b]) return "holds-up";
    return this.readyAt[a] === this.readyAt[b] ? "submitted" : "age";
  }

  /** A node as it would stand in a line if no other of its run were ready. */
  entryOf(node: number): Entry {
    const { group, seq, deadline } = this.laneOf(node);
    const tier = group.line.isOfGraphs
      ? this.tier
      : tierAt(this.taskOf(node).priority, this.stage[node] as Stage);
    return {
      id: this.taskIdOf(node),
      readyAt: this.readyAtOf(node),
      estimateMs: Math.max(1, this.taskOf(node).estimateMs),
      tier,
      class: classify(tier, "pending"),
      deadline,
      seq,
      standing: this.standing[node] as number,
      weight: this.graph.weight[node] as number,
      node,
    };
  }

  stand(node: number, stage: Stage): void {
    this.stage[node] = stage;
    this.standing[node] = standingOf(this.taskOf(node), stage, this.isCritical(node));
  }

  /**
   * Whether a chain hangs on it that is as long as any that remains. Where nodes hand data to each other that does not
   * count: to begin with what is farthest from the end would hold all of it at once.
   */
  isCritical(node: number): boolean {
    return !this.data && (this.graph.holdsUpMs[node] as number) >= this.#criticalMs;
  }

  /** What remains is less than before, and other nodes may hold it all up now. Between turns nothing becomes critical. */
  findCritical(): void {
    this.#hasChanged = false;
    const first = this.#front.first();
    const { holdsUpMs } = this.graph;
    const criticalMs = first === -1 ? -1 : (holdsUpMs[first] as number);
    if (criticalMs === this.#criticalMs) return;
    this.#criticalMs = criticalMs;
    this.#front.forLeading(
      (node) => holdsUpMs[node] === criticalMs,
      (node) => {
        if (this.isOffered(node)) this.laneOf(node).raise(node);
      },
    );
  }

  #noteChanged(): void {
    if (this.#hasChanged) return;
    this.#hasChanged = true;
    this.#watch.changed.push(this);
  }

  /** Of what a node needs, something that will never complete. */
  deadNeedOf(node: number): number | undefined {
    const { start, targets } = this.graph.dependencies;
    return targets.subarray(start[node], start[node + 1]).find((need) => {
      const status = this.statusOf(need);
      return isEnded(status) && status !== Status.completed;
    });
  }

  /** Looks for it among all nodes: at the beginning, and when the state of all was set. */
  findFront(): void {
    for (let node = 0; node < this.graph.size; node++) {
      const isFirst = this.pending[node] === 0 && !isEnded(this.statusOf(node));
      const wasFirst = this.#frontPlaces[node] !== -1;
      if (isFirst && !wasFirst) this.#front.add(node);
      else if (wasFirst && !isFirst) this.#front.delete(node);
    }
    this.findCritical();
  }

  /**
   * Everything that hangs on a node, has not ended, and is on no worker, ascending. What is there has got all that it needs,
   * or will say that it has not.
   */
  openDependents(node: number): number[] {
    const { start, targets } = this.graph.dependents;
    const found = new Set<number>();
    const next = [node];
    for (let at = next.pop(); at !== undefined; at = next.pop()) {
      for (const dependent of targets.subarray(start[at], start[at + 1])) {
        const status = this.statusOf(dependent);
        if (found.has(dependent) || isEnded(status) || hasBegun(status)) continue;
        found.add(dependent);
        next.push(dependent);
      }
    }
    return [...found].sort((a, b) => a - b);
  }

  #begin(): void {
    const { graph, status, pending } = this;
    for (const node of this.carried) {
      status[node] = Status.completed;
      this.data?.carry(node);
    }
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
}

/** What runs tell the state of which they are part. */
export interface Watch extends DataWatch {
  /** Those in which something has ended since the last turn. */
  readonly changed: Run[];
  /** How long a node is ready before the wait raises it. */
  afterMs: number;
  /** No wait raises a node before this. */
  liftAt: number;
}

/** By specification. Nodes of one group share a lane. */
function lanesOf(run: Run, groupOf: (run: Run, spec: number) => Group): Lane[] {
  const ofGroup = new Map<Group, Lane>();
  return run.graph.specs.map((_, spec) => {
    const group = groupOf(run, spec);
    const lane = ofGroup.get(group) ?? new Lane(run, group);
    ofGroup.set(group, lane);
    return lane;
  });
}
