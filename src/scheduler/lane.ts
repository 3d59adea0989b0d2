import { IndexHeap, taskIdOf } from "../core/index.ts";
import type { Priority, TaskSpec } from "../graph/index.ts";
import { classify, type Entry, type PriorityClass } from "../queue/index.ts";
import type { Group } from "./group.ts";
import type { Run } from "./run.ts";
import { FRESH, RAISED, STARVED, STARVED_AFTER, type Stage, tierAt } from "./standing.ts";

/**
 * The ready nodes of one run in one group, in the order of the run. In its group's line it stands as its first, and as
 * urgent as the most urgent of them: what lets a critical node go before an urgent one must not cost the urgent one its
 * place.
 */
export class Lane implements Entry {
  readonly run: Run;
  readonly group: Group;
  readonly seq: number;
  readonly deadline = -1;
  readonly #ready: IndexHeap;
  /** Those that the wait has not raised yet, and those that it has raised and that do not starve yet; oldest first. */
  readonly #fresh: IndexHeap;
  readonly #raised: IndexHeap;
  /** None of the fresh ones became ready before this. */
  #freshSince = 0;
  readonly #byTier = [0, 0, 0, 0, 0];
  /** Its ready nodes by the class that they start in. */
  readonly byClass: [number, number, number] = [0, 0, 0];
  #id = "";
  /** The ready node that goes first, while there is one. */
  node = -1;
  tier: Priority = 0;
  class: PriorityClass = 0;
  standing = 0;
  weight = 0;
  readyAt = 0;
  estimateMs = 1;
  home: Entry["home"];

  constructor(run: Run, group: Group) {
    this.run = run;
    this.group = group;
    this.seq = run.submittedSeq;
    this.#ready = new IndexHeap((a, b) => run.goesBefore(a, b), run.places);
    const isOlder = (a: number, b: number) => {
      const lead = (run.readyAt[a] as number) - (run.readyAt[b] as number);
      return lead < 0 || (lead === 0 && a < b);
    };
    this.#fresh = new IndexHeap(isOlder, run.ages);
    this.#raised = new IndexHeap(isOlder, run.ages);
  }

  get size(): number {
    return this.#ready.size;
  }

  get nodes(): readonly number[] {
    return this.#ready.items;
  }

  /** Derived by a hash, so only when a tie comes down to it. */
  get id(): string {
    if (this.#id === "") this.#id = taskIdOf(this.run.id, this.run.graph.idOf(this.node));
    return this.#id;
  }

  add(node: number): void {
    const { priority } = this.run.taskOf(node);
    const readyAt = this.run.readyAt[node] as number;
    this.run.stand(node, FRESH);
    this.#ready.add(node);
    if (this.#fresh.size === 0 || readyAt < this.#freshSince) this.#freshSince = readyAt;
    this.#fresh.add(node);
    (this.#byTier[priority] as number)++;
    (this.byClass[classify(priority, "pending")] as number)++;
    this.#settle();
  }

  remove(node: number): void {
    this.#leave(node);
    this.#settle();
  }

  has(node: number): boolean {
    return (this.run.places[node] as number) >= 0;
  }

  /** The node has become critical. */
  raise(node: number): void {
    this.run.stand(node, this.run.stage[node] as Stage);
    this.#ready.rise(node);
    this.#settle();
  }

  /** Raises what has waited for longer than the threshold, and says when the next will have. */
  lift(now: number, afterMs: number): number {
    // Most runs end before anything in them has waited for so long: they need not be in the order of age.
    const raised =
      this.#freshSince < now - afterMs ? this.#liftFrom(FRESH, now - afterMs, RAISED) : this.#freshSince;
    const starved = this.#liftFrom(RAISED, now - STARVED_AFTER * afterMs, STARVED);
    return 1 + Math.min(raised + afterMs, starved + STARVED_AFTER * afterMs);
  }

  /** Its group has a new line, and what puts its nodes in order may be another. */
  rejoin(): void {
    const nodes = [...this.nodes];
    for (const node of nodes) this.#leave(node);
    this.node = -1;
    for (const node of nodes) this.add(node);
  }

  #leave(node: number): void {
    const { priority } = this.run.taskOf(node);
    const stage = this.run.stage[node] as Stage;
    this.#ready.delete(node);
    if (stage !== STARVED) this.#ofStage(stage).delete(node);
    (this.#byTier[tierAt(priority, stage)] as number)--;
    (this.byClass[classify(priority, "pending")] as number)--;
  }

  #liftFrom(from: Stage, readyBefore: number, to: Stage): number {
    const { run } = this;
    const heap = this.#ofStage(from);
    let node = heap.first();
    for (; node !== -1 && (run.readyAt[node] as number) < readyBefore; node = heap.first()) {
      const { priority } = run.taskOf(node);
      heap.delete(node);
      if (to !== STARVED) this.#ofStage(to).add(node);
      (this.#byTier[tierAt(priority, from)] as number)--;
      (this.#byTier[tierAt(priority, to)] as number)++;
      run.stand(node, to);
      this.#ready.rise(node);
      this.#settle();
    }
    return node === -1 ? Number.POSITIVE_INFINITY : (run.readyAt[node] as number);
  }

  #ofStage(stage: Stage): IndexHeap {
    return stage === FRESH ? this.#fresh : this.#raised;
  }

  #settle(): void {
    const first = this.#ready.first();
    const { line } = this.group;
    if (first === -1) {
      line.delete(this);
      this.node = -1;
    } else if (this.node === -1) {
      this.#setFirst(first);
      line.add(this);
    } else if (
      first !== this.node ||
      this.standing !== this.run.standing[first] ||
      this.tier !== this.#tierNow()
    ) {
      line.rekey(this, () => this.#setFirst(first));
    }
  }

  /** In the order of graphs a run stands as a whole; in the others each lane is as urgent as its most urgent node. */
  #tierNow(): Priority {
    if (this.group.line.isOfGraphs) return this.run.tier;
    return this.#byTier.findIndex((count) => count > 0) as Priority;
  }

  #setFirst(node: number): void {
    const { run } = this;
    this.#id = "";
    this.node = node;
    this.tier = this.#tierNow();
    this.class = classify(this.tier, "pending");
    this.standing = run.standing[node] as number;
    this.weight = run.graph.weight[node] as number;
    this.readyAt = run.readyAt[node] as number;
    this.estimateMs = estimateOf(run, node);
  }
}

function estimateOf({ graph }: Run, node: number): number {
  return Math.max(1, (graph.taskOf(node) as TaskSpec).estimateMs);
}
