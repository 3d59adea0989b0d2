import { type Graph, topologicalOrder } from "../graph/index.ts";
import type { Lane } from "./lane.ts";
import type { Outlook, RootCosts } from "./outlook.ts";

/** Roots from one place in their order up to another, exclusive, and the worker that takes them; -1: nobody yet. */
interface Territory {
  readonly from: number;
  readonly to: number;
  readonly worker: number;
  /** All before it are taken. */
  left: number;
}

/** One part in so many of all roots is too little to be worth a cut. */
const SMALLEST_PART = 16;
/** A cut has to save so many times what it costs: both are estimates. Of a large part it does not matter what crosses the cut. */
const WORTH_TIMES = 4;
const LARGE_PART = 4;
/** How long workers are busy is known to within this time: they report short tasks together. */
const UNSURE_MICROS = 25_000;
/** A cut is made within so large a part of what is cut from its middle. */
const AROUND_MIDDLE = 8;
/** How far is looked for a root that a worker of some kind can take, or that has been made. */
const LOOK_AHEAD = 64;

/**
 * Which worker makes which roots: nodes that get no data. Roots whose results are used together stand together in the
 * order of the run, so each worker takes a stretch of it, from front to back, and where it has none it cuts one in two
 * where few results would have to cross.
 */
export class Territories {
  readonly #graph: Graph;
  /** In the order of the run. */
  readonly #roots: Uint32Array;
  readonly #ranks: Int32Array;
  readonly #isTaken: Uint8Array;
  #all: Territory[];
  #crossingsFound: Uint32Array | undefined;

  constructor(graph: Graph, links: ReadonlyMap<number, unknown>) {
    this.#graph = graph;
    const roots: number[] = [];
    for (let node = 0; node < graph.size; node++)
      if (graph.inputs?.[node] === 0 && !links.has(node)) roots.push(node);
    roots.sort((a, b) => (graph.weight[b] as number) - (graph.weight[a] as number));
    this.#roots = Uint32Array.from(roots);
    this.#ranks = new Int32Array(graph.size).fill(-1);
    for (const [rank, node] of roots.entries()) this.#ranks[node] = rank;
    this.#isTaken = new Uint8Array(roots.length);
    this.#all = [territory(0, roots.length, -1)];
  }

  isRoot(node: number): boolean {
    return this.#ranks[node] !== -1;
  }

  /** A worker was given a root: what lies behind it is that worker's, as far as it was the same one's before. */
  take(node: number, worker: number): void {
    const rank = this.#ranks[node] as number;
    if (rank === -1) return;
    this.#isTaken[rank] = 1;
    const at = this.#all.findIndex(({ to }) => rank < to);
    const { from, to, worker: before } = this.#all[at] as Territory;
    if (before === worker) return;
    const parts = [territory(rank, to, worker)];
    if (rank > from) parts.unshift(territory(from, rank, before));
    this.#all.splice(at, 1, ...parts);
  }

  /** The root of a lane that a worker takes next; "left": what there is belongs to others, who are better left to make it. */
  next(lane: Lane, worker: number, outlook: Outlook): number | "left" | undefined {
    for (const territory of this.#all) {
      if (territory.worker !== worker) continue;
      const root = this.#firstIn(lane, territory, this.#firstLeft(territory));
      if (root !== undefined) return root;
    }
    return this.#newGround(lane, worker, outlook);
  }

  toSnapshot(): readonly (readonly [from: number, to: number, worker: number])[] {
    return this.#all.map(({ from, to, worker }) => [from, to, worker]);
  }

  restore(saved: ReturnType<Territories["toSnapshot"]>, attempts: Uint32Array): void {
    this.#all = saved.map(([from, to, worker]) => territory(from, to, worker));
    for (const [rank, node] of this.#roots.entries()) this.#isTaken[rank] = attempts[node] === 0 ? 0 : 1;
  }

  #newGround(lane: Lane, worker: number, outlook: Outlook): number | "left" | undefined {
    const isFree = (of: Territory) => of.worker === -1 || !outlook.takes(of.worker);
    let widest: Territory | undefined;
    let room = 0;
    let isSomeLeft = false;
    for (const territory of this.#all) {
      const left = territory.to - this.#firstLeft(territory);
      if (left <= room) continue;
      // What is nobody's can be taken to the last one.
      if (isFree(territory) || this.#isWorthCutting(territory, worker, outlook)) {
        widest = territory;
        room = left;
      } else isSomeLeft = true;
    }
    if (!widest) return isSomeLeft ? "left" : undefined;
    return this.#firstIn(lane, widest, isFree(widest) ? this.#firstLeft(widest) : this.#cutOf(widest));
  }

  /** It saves what the new worker makes while the other would be busy alone. */
  #isWorthCutting(territory: Territory, by: number, { busyMicros, costsOf }: Outlook): boolean {
    const left = territory.to - this.#firstLeft(territory);
    if (left * SMALLEST_PART < this.#roots.length) return false;
    const costs = this.#costsBefore(territory.left, costsOf);
    if (!costs) return true;
    const aloneMicros = busyMicros(territory.worker) + left * costs.makeMicros - busyMicros(by);
    const savedMicros = Math.min(Math.floor(aloneMicros / 2), (left >> 1) * costs.makeMicros);
    const isLarge = left * LARGE_PART >= this.#roots.length;
    const crossings = isLarge ? 0 : (this.#crossings[this.#cutOf(territory)] as number);
    return savedMicros > WORTH_TIMES * (crossings * costs.moveMicros + UNSURE_MICROS);
  }

  #costsBefore(rank: number, costsOf: Outlook["costsOf"]): RootCosts | undefined {
    for (let before = rank - 1; before >= Math.max(0, rank - LOOK_AHEAD); before--) {
      const costs = costsOf(this.#roots[before] as number);
      if (costs) return costs;
    }
    return undefined;
  }

  #firstLeft(territory: Territory): number {
    while (territory.left < territory.to && this.#isTaken[territory.left] === 1) territory.left++;
    return territory.left;
  }

  #firstIn(lane: Lane, { to }: Territory, from: number): number | undefined {
    let looked = 0;
    for (let rank = from; rank < to && looked < LOOK_AHEAD; rank++) {
      if (this.#isTaken[rank] === 1) continue;
      const node = this.#roots[rank] as number;
      if (lane.run.laneOf(node) === lane && lane.has(node)) return node;
      looked++;
    }
    return undefined;
  }

  get #crossings(): Uint32Array {
    this.#crossingsFound ??= crossingsOf(this.#graph, this.#ranks, this.#roots.length);
    return this.#crossingsFound;
  }

  /** Near the middle of what is left, where the fewest nodes get results from both sides. */
  #cutOf(territory: Territory): number {
    const first = this.#firstLeft(territory);
    const middle = (first + territory.to + 1) >> 1;
    const reach = Math.floor((territory.to - first) / AROUND_MIDDLE);
    const crossings = this.#crossings;
    let best = middle;
    for (let off = 1; off <= reach; off++) {
      for (const rank of [middle - off, middle + off])
        if ((crossings[rank] as number) < (crossings[best] as number)) best = rank;
    }
    return Math.min(best, territory.to - 1);
  }
}

function territory(from: number, to: number, worker: number): Territory {
  return { from, to, worker, left: from };
}

/** For each place between two roots, before a rank, how many nodes stand on roots of both sides. */
function crossingsOf(graph: Graph, ranks: Int32Array, roots: number): Uint32Array {
  const least = new Int32Array(graph.size);
  const most = new Int32Array(graph.size);
  const change = new Int32Array(roots + 1);
  for (const node of topologicalOrder(graph)) {
    const rank = ranks[node] as number;
    least[node] = rank === -1 ? roots : rank;
    most[node] = rank;
    for (const input of graph.inputsOf(node)) {
      least[node] = Math.min(least[node] as number, least[input] as number);
      most[node] = Math.max(most[node] as number, most[input] as number);
    }
    if (rank !== -1 || (most[node] as number) <= (least[node] as number)) continue;
    (change[(least[node] as number) + 1] as number)++;
    (change[(most[node] as number) + 1] as number)--;
  }
  const crossings = new Uint32Array(roots + 1);
  let sum = 0;
  for (let rank = 0; rank <= roots; rank++) {
    sum += change[rank] as number;
    crossings[rank] = sum;
  }
  return crossings;
}
