import { Heap } from "../core/index.ts";
import { goesBefore } from "../queue/index.ts";
import { Bundle, RunStanding, type Standing, type Stands } from "./bundle.ts";
import { Lane } from "./lane.ts";
import { nextOffer, type Offer } from "./offer.ts";
import type { Run } from "./run.ts";
import type { State } from "./state.ts";

/** Who goes next of what groups offer. */
export interface Contest {
  first(): Offer | undefined;
  /** The first was given out: its group offers the next. */
  advance(): void;
  /** The first cannot be given out. */
  drop(): void;
  keep(kept: (offer: Offer) => boolean): void;
}

export function contestOf(state: State, now: number, offers: readonly Offer[], stands: Stands): Contest {
  return offers.length > 1 ? new Contenders(state, now, offers, stands) : new Uncontested(now, offers[0]);
}

/** What a single group offers goes in the order of its line. */
class Uncontested implements Contest {
  readonly #now: number;
  #offer: Offer | undefined;

  constructor(now: number, offer: Offer | undefined) {
    this.#now = now;
    this.#offer = offer;
  }

  first(): Offer | undefined {
    return this.#offer;
  }

  advance(): void {
    const { group, demoted } = this.#offer as Offer;
    this.#offer = nextOffer(group, demoted, this.#now);
  }

  drop(): void {
    this.#offer = undefined;
  }

  keep(kept: (offer: Offer) => boolean): void {
    if (this.#offer && !kept(this.#offer)) this.#offer = undefined;
  }
}

/**
 * What several groups offer.
 *
 * What they offer of one run goes as one, in the order of the run: it stands among the others as the first of it that can
 * be given out, and as urgent as the most urgent that can. So needs of their own do not change the order of a run's nodes,
 * and what waits for a worker or a limit neither holds up nor lifts the rest of its run.
 */
class Contenders implements Contest {
  readonly #state: State;
  readonly #now: number;
  readonly #stands: Stands;
  readonly #bundles = new Map<Run, Bundle>();
  /** Those with several offers: what they stand as may change when something else is given out. */
  readonly #several = new Set<Bundle>();
  /** Also those of bundles that stand otherwise by now. */
  readonly #standings: Heap<Standing>;
  /** Tasks of no run, and runs. */
  #contenders = 0;
  #hasGiven = false;

  constructor(state: State, now: number, offers: readonly Offer[], stands: Stands) {
    this.#state = state;
    this.#now = now;
    this.#stands = stands;
    const standings: Standing[] = [];
    const ofRuns = new Map<Run, Offer[]>();
    for (const offer of offers) {
      const run = runOf(offer);
      if (run) push(ofRuns, run, offer);
      else standings.push({ entry: offer.first, offer, bundle: undefined });
    }
    for (const [run, own] of ofRuns) this.#bundles.set(run, new Bundle(run, own));
    this.#contenders = standings.length + ofRuns.size;
    for (const bundle of this.#bundles.values()) {
      const standing = this.#restand(bundle);
      if (standing) standings.push(standing);
    }
    this.#standings = new Heap<Standing>((a, b) => this.#goesFirst(a, b), standings);
  }

  first(): Offer | undefined {
    if (this.#hasGiven && this.#isContested()) {
      for (const bundle of this.#several) if (bundle.settle(this.#stands)) this.#show(bundle);
    }
    this.#hasGiven = false;
    for (let top = this.#standings.peek(); top; top = this.#standings.peek()) {
      if (!top.bundle || top.bundle.standing === top) return top.offer;
      this.#standings.pop();
    }
    return undefined;
  }

  advance(): void {
    const { offer, bundle } = this.#leave();
    this.#hasGiven = true;
    const next = nextOffer(offer.group, offer.demoted, this.#now);
    const joined = next && this.#enter(next);
    if (bundle && bundle !== joined) this.#show(bundle);
  }

  drop(): void {
    const { bundle } = this.#leave();
    if (bundle) this.#show(bundle);
  }

  keep(kept: (offer: Offer) => boolean): void {
    this.#standings.keep(({ bundle, offer }) => {
      if (bundle || kept(offer)) return true;
      this.#contenders--;
      return false;
    });
    for (const bundle of this.#bundles.values()) {
      if (bundle.size === 0) continue;
      bundle.keep(kept);
      if (bundle.size === 0) this.#contenders--;
      this.#show(bundle);
    }
  }

  #leave(): Standing {
    const standing = this.#standings.pop() as Standing;
    const { bundle, offer } = standing;
    bundle?.delete(offer);
    if (!bundle || bundle.size === 0) this.#contenders--;
    return standing;
  }

  #enter(offer: Offer): Bundle | undefined {
    const run = runOf(offer);
    if (!run) {
      this.#contenders++;
      this.#standings.push({ entry: offer.first, offer, bundle: undefined });
      return undefined;
    }
    const bundle = this.#bundles.get(run) ?? new Bundle(run, []);
    this.#bundles.set(run, bundle);
    if (bundle.size === 0) this.#contenders++;
    bundle.add(offer);
    this.#show(bundle);
    return bundle;
  }

  /** In the order of graphs a run stands as a whole, whichever of its nodes goes first. */
  #isContested(): boolean {
    return this.#state.config.order !== "graph" && this.#contenders > 1;
  }

  #show(bundle: Bundle): void {
    const standing = this.#restand(bundle);
    if (standing) this.#standings.push(standing);
  }

  /** What it stands as, if that is not what it stood as before. */
  #restand(bundle: Bundle): Standing | undefined {
    if (bundle.size > 1 && this.#isContested()) bundle.settle(this.#stands);
    if (bundle.size > 1) this.#several.add(bundle);
    else this.#several.delete(bundle);
    const { first, tier, run } = bundle;
    const before = bundle.standing;
    if (!first) bundle.standing = undefined;
    else if (before?.offer !== first || before.entry.tier !== tier) {
      bundle.standing = { entry: new RunStanding(run, first.node, tier), offer: first, bundle };
      return bundle.standing;
    }
    return undefined;
  }

  #goesFirst(a: Standing, b: Standing): boolean {
    const { config } = this.#state;
    return goesBefore(a.entry, a.offer.demoted, b.entry, b.offer.demoted, this.#now, config);
  }
}

function runOf({ first }: Offer): Run | undefined {
  return first instanceof Lane ? first.run : undefined;
}

function push<Key, Item>(map: Map<Key, Item[]>, key: Key, item: Item): void {
  const items = map.get(key);
  if (items) items.push(item);
  else map.set(key, [item]);
}
