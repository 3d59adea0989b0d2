import { Heap } from "../core/index.ts";
import type { TaskSpec } from "../graph/index.ts";
import { classify, type Entry, type PriorityClass, type Tier } from "../queue/index.ts";
import type { Offer } from "./offer.ts";
import type { Run } from "./run.ts";

/** Whether what is offered can still be given out. Once it cannot, it never can while a contest lasts. */
export type Stands = (offer: Offer) => boolean;

/** What stands among others: a task of no run, or for some time a run. */
export interface Standing {
  readonly entry: Entry;
  readonly offer: Offer;
  readonly bundle: Bundle | undefined;
}

/** What several groups offer of one run, in the order of the run. */
export class Bundle {
  readonly run: Run;
  readonly #inOrder: Heap<Offer>;
  /** The most urgent first. Made when some may be more urgent than what goes first. */
  #byTier: Heap<Offer> | undefined;
  readonly #counts = [0, 0, 0, 0, 0];
  size: number;
  /** What it stands as now. */
  standing: Standing | undefined;

  constructor(run: Run, offers: Offer[]) {
    this.run = run;
    this.size = offers.length;
    this.#inOrder = new Heap<Offer>((a, b) => run.goesBefore(a.node, b.node), offers);
    for (const { tier } of offers) (this.#counts[tier] as number)++;
  }

  add(offer: Offer): void {
    this.size++;
    this.#inOrder.push(offer);
    this.#byTier?.push(offer);
    (this.#counts[offer.tier] as number)++;
  }

  delete(offer: Offer): void {
    offer.isGone = true;
    this.size--;
    (this.#counts[offer.tier] as number)--;
  }

  keep(kept: (offer: Offer) => boolean): void {
    this.#inOrder.keep((offer) => {
      if (!offer.isGone && !kept(offer)) this.delete(offer);
      return !offer.isGone;
    });
    this.#byTier?.keep(({ isGone }) => !isGone);
  }

  get first(): Offer | undefined {
    return topOf(this.#inOrder);
  }

  /** Of the most urgent. */
  get tier(): Tier {
    let tier = 0;
    while (this.#counts[tier] === 0) tier++;
    return tier as Tier;
  }

  /** Lets go of what cannot be given out, until what it stands as does not depend on that; true if there was any. */
  settle(stands: Stands): boolean {
    const { size } = this;
    let { first } = this;
    for (; first && this.size > 1 && !stands(first); first = this.first) this.delete(first);
    while (first && this.tier < first.tier) {
      const urgent = this.#mostUrgent();
      if (stands(urgent)) break;
      this.delete(urgent);
    }
    return this.size < size;
  }

  #mostUrgent(): Offer {
    if (!this.#byTier) {
      const offers: Offer[] = [];
      this.#inOrder.keep((offer) => !offer.isGone && offers.push(offer) > 0);
      this.#byTier = new Heap<Offer>((a, b) => a.tier < b.tier, offers);
    }
    return topOf(this.#byTier) as Offer;
  }
}

function topOf(heap: Heap<Offer>): Offer | undefined {
  let top = heap.peek();
  while (top?.isGone) {
    heap.pop();
    top = heap.peek();
  }
  return top;
}

/** What a run stands as among others: a node of it, with an urgency that may be another's. */
export class RunStanding implements Entry {
  readonly run: Run;
  readonly node: number;
  readonly tier: Tier;
  readonly class: PriorityClass;
  readonly readyAt: number;
  readonly estimateMs: number;
  readonly deadline = -1;
  readonly seq: number;
  readonly standing: number;
  readonly weight: number;

  constructor(run: Run, node: number, tier: Tier) {
    this.run = run;
    this.node = node;
    this.tier = tier;
    this.class = classify(tier, "pending");
    this.readyAt = run.readyAt[node] as number;
    this.estimateMs = Math.max(1, (run.graph.taskOf(node) as TaskSpec).estimateMs);
    this.seq = run.submittedSeq;
    this.standing = run.standing[node] as number;
    this.weight = run.graph.weight[node] as number;
  }

  /** Derived by a hash, so only when a tie comes down to it. */
  get id(): string {
    return this.run.taskIdOf(this.node);
  }
}
