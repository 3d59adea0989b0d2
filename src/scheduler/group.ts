import { Heap, RankedSet } from "../core/index.ts";
import type { Priority } from "../graph/index.ts";
import { Demand, type Needs } from "../placement/index.ts";
import type { Run } from "./run.ts";

/**
 * Ready tasks with the same needs and priority, of all runs: a worker that can take one can take any of them,
 * so either the first has a candidate or none has.
 */
export class Group {
  readonly key: string;
  /** Its executor and zone: there is one reservation for each. */
  readonly place: string;
  /** Its needs, as a text to tell them apart by. */
  readonly needsKey: string;
  readonly priority: Priority;
  readonly demand: Demand;
  /** Runs that have tasks of this group. A group without any is forgotten. */
  readonly lanes: Map<number, Lane> = new Map();
  ready = 0;
  /** The fleet's count of relief when no worker could take the first; -1 when one could. */
  blockedAt = -1;
  /** Runs with something ready, and perhaps some that no longer have. */
  readonly #runs = new Heap<number>((a, b) => a < b);
  #head: Lane | undefined;

  constructor(priority: Priority, needs: Needs) {
    this.place = JSON.stringify([needs.executor, needs.zone]);
    this.needsKey = JSON.stringify([this.place, needs.cpuMillicores, needs.memoryBytes, needs.capabilities]);
    this.key = JSON.stringify([priority, this.needsKey]);
    this.priority = priority;
    this.demand = new Demand(needs);
  }

  /** The lane of the earliest run that has something ready. */
  head(): Lane | undefined {
    if (this.ready === 0) return undefined;
    this.#head ??= this.#findHead();
    return this.#head;
  }

  #findHead(): Lane | undefined {
    for (let run = this.#runs.peek(); run !== undefined; run = this.#runs.peek()) {
      const lane = this.lanes.get(run);
      if (lane && lane.ready.size > 0) return lane;
      this.#runs.pop();
      if (lane) lane.listed = false;
    }
    return undefined;
  }

  add(lane: Lane, node: number): void {
    lane.add(node);
    this.ready++;
    if (!lane.listed) {
      lane.listed = true;
      this.#runs.push(lane.run.number);
    }
    if (this.#head && lane.run.number < this.#head.run.number) this.#head = lane;
  }

  remove(lane: Lane, node: number): void {
    lane.remove(node);
    this.ready--;
    if (lane.ready.size === 0) this.#head = undefined;
  }
}

/** The ready nodes of one run in one group, by rank. */
export class Lane {
  readonly run: Run;
  readonly group: Group;
  readonly ready: RankedSet;
  /** Whether the group's heap of runs holds this one. */
  listed = false;
  readonly #start: number;
  readonly #size: number;
  #firstRank = Number.POSITIVE_INFINITY;
  /** What the order between groups looks at, kept at hand. */
  readonly priority: Priority;
  readonly runNumber: number;
  /** The ready node that goes first, while there is one. */
  firstNode = -1;
  firstHoldsUpMs = 0;

  constructor(run: Run, group: Group, start: number, size: number) {
    this.run = run;
    this.group = group;
    this.#start = start;
    this.#size = size;
    this.priority = group.priority;
    this.runNumber = run.number;
    this.ready = new RankedSet(size);
  }

  add(node: number): void {
    const rank = this.rankOf(node);
    this.ready.add(rank);
    if (rank < this.#firstRank) this.#setFirst(rank);
  }

  remove(node: number): void {
    const rank = this.rankOf(node);
    this.ready.delete(rank);
    if (rank === this.#firstRank)
      this.#setFirst(this.ready.size === 0 ? Number.POSITIVE_INFINITY : this.ready.first());
  }

  #setFirst(rank: number): void {
    this.#firstRank = rank;
    if (rank === Number.POSITIVE_INFINITY) return;
    this.firstNode = this.run.order[this.#start + rank] as number;
    this.firstHoldsUpMs = this.run.graph.holdsUpMs[this.firstNode] as number;
  }

  rankOf(node: number): number {
    return (this.run.position[node] as number) - this.#start;
  }

  has(node: number): boolean {
    return this.ready.has(this.rankOf(node));
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

/** Order between the first of two groups: priority, earlier run, more work held up, order of submission. */
export function goesFirst(a: Lane, b: Lane): boolean {
  if (a.priority !== b.priority) return a.priority < b.priority;
  if (a.runNumber !== b.runNumber) return a.runNumber < b.runNumber;
  if (a.firstHoldsUpMs !== b.firstHoldsUpMs) return a.firstHoldsUpMs > b.firstHoldsUpMs;
  return a.firstNode < b.firstNode;
}
