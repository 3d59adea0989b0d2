import { RankedSet, taskIdOf } from "../core/index.ts";
import type { Priority, TaskSpec } from "../graph/index.ts";
import { Demand, type Needs } from "../placement/index.ts";
import {
  classify,
  type Entry,
  type Limit,
  Line,
  type PriorityClass,
  type QueueConfig,
} from "../queue/index.ts";
import type { Run } from "./run.ts";

/**
 * Waiting tasks with the same needs: a worker that can take one can take any of them, so either the first has a
 * candidate or none has.
 */
export class Pool {
  /** Its needs, as a text to tell them apart by. */
  readonly key: string;
  /** Its executor and zone: there is one reservation for each. */
  readonly place: string;
  readonly demand: Demand;
  readonly groups: Map<string, Group> = new Map();
  /** The fleet's count of relief when no worker could take the first; -1 when one could. */
  blockedAt = -1;

  constructor(needs: Needs) {
    this.place = placeKey(needs.zone, needs.executor);
    this.key = JSON.stringify([this.place, needs.cpuMillicores, needs.memoryBytes, needs.capabilities]);
    this.demand = new Demand(needs);
  }
}

export function placeKey(zone: string, executor: string): string {
  return JSON.stringify([zone, executor]);
}

/** Names an agent of a zone, or a limit of a zone. */
export function zonedKey(zone: string, name: string): string {
  if (zone !== last.zone || name !== last.name) last = { zone, name, key: JSON.stringify([zone, name]) };
  return last.key;
}

/** Whoever comes often comes several times in a row. */
let last = { zone: "", name: "", key: JSON.stringify(["", ""]) };

/** The tasks of a pool that one agent submitted under the same limits: either all may start, or none. */
export class Group {
  readonly key: string;
  readonly pool: Pool;
  readonly agent: string;
  readonly shareKey: string;
  readonly limitNames: readonly string[];
  readonly limits: readonly Limit[];
  /** What each of its tasks counts towards each of the limits. */
  readonly amounts: readonly number[];
  /** What may be given out: tasks, and for each run and priority the first of its ready nodes. */
  line: Line;
  /** Lanes, and tasks of no run that have not ended. A group without any is forgotten. */
  members = 0;
  isForgotten = false;

  constructor(
    pool: Pool,
    agent: string,
    { limits: limitNames, amounts }: TaskSpec,
    limits: readonly Limit[],
    config: QueueConfig,
  ) {
    this.key = groupKey(agent, limitNames, amounts);
    this.pool = pool;
    this.agent = agent;
    this.shareKey = zonedKey(pool.demand.needs.zone, agent);
    this.limitNames = limitNames;
    this.limits = limits;
    this.amounts = amounts.length > 0 ? amounts : limits.map(() => 1);
    this.line = new Line(config);
  }

  get zone(): string {
    return this.pool.demand.needs.zone;
  }
}

export function groupKey(agent: string, limits: readonly string[], amounts: readonly number[]): string {
  return JSON.stringify([agent, limits, amounts]);
}

/** The ready nodes of one run in one group with one priority, by rank. In its group's line it stands as its first. */
export class Lane implements Entry {
  readonly run: Run;
  readonly group: Group;
  readonly tier: Priority;
  readonly class: PriorityClass;
  readonly seq: number;
  readonly deadline = -1;
  readonly ready: RankedSet;
  readonly #start: number;
  readonly #size: number;
  #firstRank = -1;
  #id = "";
  /** The ready node that goes first, while there is one. */
  node = -1;
  holdsUpMs = 0;
  readyAt = 0;
  estimateMs = 1;

  constructor(run: Run, group: Group, priority: Priority, start: number, size: number) {
    this.run = run;
    this.group = group;
    this.#start = start;
    this.#size = size;
    this.tier = priority;
    this.class = classify(priority, "pending");
    this.seq = run.submittedSeq;
    this.ready = new RankedSet(size);
  }

  /** Derived by a hash, so only when a tie comes down to it. */
  get id(): string {
    if (this.#id === "") this.#id = taskIdOf(this.run.id, this.run.graph.idOf(this.node));
    return this.#id;
  }

  add(node: number): void {
    const rank = this.rankOf(node);
    const first = this.#firstRank;
    this.ready.add(rank);
    if (first === -1) {
      this.#setFirst(rank);
      this.group.line.add(this);
    } else if (rank < first) this.group.line.rekey(this, () => this.#setFirst(rank));
  }

  remove(node: number): void {
    const rank = this.rankOf(node);
    this.ready.delete(rank);
    if (rank !== this.#firstRank) return;
    if (this.ready.size > 0) this.group.line.rekey(this, () => this.#setFirst(this.ready.first()));
    else {
      this.group.line.delete(this);
      this.#firstRank = -1;
    }
  }

  #setFirst(rank: number): void {
    const { run } = this;
    const node = run.order[this.#start + rank] as number;
    this.#firstRank = rank;
    this.#id = "";
    this.node = node;
    this.holdsUpMs = run.graph.holdsUpMs[node] as number;
    this.readyAt = run.readyAt[node] as number;
    this.estimateMs = Math.max(1, (run.graph.taskOf(node) as TaskSpec).estimateMs);
  }

  rankOf(node: number): number {
    return (this.run.position[node] as number) - this.#start;
  }

  has(node: number): boolean {
    return this.ready.has(this.rankOf(node));
  }

  /** When each of its ready nodes became so. */
  *readyTimes(): Generator<number> {
    for (let rank = 0; rank < this.#size; rank++) {
      if (this.ready.has(rank))
        yield this.run.readyAt[this.run.order[this.#start + rank] as number] as number;
    }
  }

  /** How many ready nodes come before the first for which the claim, true for some while, is false. */
  countWhile(claim: (node: number) => boolean): number {
    let count = 0;
    for (let rank = 0; rank < this.#size && claim(this.run.order[this.#start + rank] as number); rank++) {
      if (this.ready.has(rank)) count++;
    }
    return count;
  }
}
