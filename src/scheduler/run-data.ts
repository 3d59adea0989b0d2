import { compareText, numbersIn } from "../core/index.ts";
import type { Graph } from "../graph/index.ts";
import { taskKey } from "../placement/index.ts";
import type { Run } from "./run.ts";
import type { Seekers } from "./seekers.ts";
import { isEnded, Status } from "./status.ts";
import { Territories } from "./territories.ts";

/** Where the result of a node is. */
export const Result = {
  /** There is none, or none any more that anybody needs. */
  none: 0,
  /** With its task: it is never lost. */
  stored: 1,
  /** On workers. */
  held: 2,
  /** It was on workers that are gone, and somebody needs it: made again in the same turn, unless its run is over. */
  lost: 3,
  /** With the node that it stands for. */
  borrowed: 4,
} as const;
export type Result = (typeof Result)[keyof typeof Result];

/** The node that a node of another run stands for. */
export interface Loan {
  readonly run: Run;
  readonly node: number;
}

/** A result that was made in another run, by the id that workers know it by. */
interface Adopted {
  readonly origin: string;
  readonly holders: readonly number[];
  /** Undefined: the token of this run gives it out. */
  readonly rootId: string | undefined;
}

type Pairs<Key, Value> = readonly (readonly [Key, Value])[];

export interface DataSnapshot {
  readonly result: readonly number[];
  readonly holders: Pairs<number, readonly number[]>;
  readonly deaths: Pairs<number, number>;
  readonly breaches: Pairs<number, number>;
  readonly times: Pairs<string, number>;
  readonly followers: Pairs<number, number>;
  readonly hashes: Pairs<number, string>;
  readonly origins: Pairs<number, string>;
  /** Left out where there are none. */
  readonly roots?: Pairs<number, string>;
  readonly found?: Pairs<number, boolean>;
  readonly outdated: Pairs<number, readonly number[]>;
  readonly isReleased: boolean;
  readonly movedBytes: number;
  readonly freedBytes: number;
  readonly territories: ReturnType<Territories["toSnapshot"]>;
}

/** Of a run, in bytes: what is on workers now, and what was moved between them and freed so far. */
export interface DataBytes {
  readonly held: number;
  readonly moved: number;
  readonly freed: number;
}

/** What runs with data tell the state of which they are part. */
export interface DataWatch {
  /** The numbers of those with results that nobody needs any more. */
  readonly withIdle: Set<number>;
  /** Those with nodes that stand for others, whose results are to come. */
  readonly withLinks: Set<number>;
  readonly seekers: Seekers;
}

/** Where the results of a run's nodes are, and who still needs them: for runs whose nodes hand data to each other. */
export class RunData {
  readonly result: Uint8Array;
  /** For a held result the workers that have it, by number: first where it was made, then where it was brought to. */
  readonly holders: Map<number, readonly number[]> = new Map();
  /** Of held results that were made under another id, that. */
  readonly origins: Map<number, string> = new Map();
  /** Of those that were made in a run that has nothing to do with this one: whose token gives them out. */
  readonly roots: Map<number, string> = new Map();
  /** Nodes whose result was found on workers and not made: whether the last one was. */
  readonly found: Map<number, boolean> = new Map();
  /** Of the nodes that get a node's result, how many have not ended. */
  readonly readers: Uint32Array;
  /** By node, how many nodes of other runs stand for it and need its result. */
  readonly lent: Map<number, number> = new Map();
  /** The nodes that nodes of this run stand for, while their results are needed here; and those of which there is none yet. */
  readonly loans: Map<number, Loan> = new Map();
  readonly awaited: Set<number> = new Set();
  /** Held results that no node needs any more and nobody asked to keep. */
  readonly idle: Set<number> = new Set();
  /** For some nodes, how often their worker was lost while it may have run them. */
  readonly deaths: Map<number, number> = new Map();
  /** For some nodes, how often workers did not have the result that they should have. */
  readonly breaches: Map<number, number> = new Map();
  /** Of results, while there is one: what is made from them is known by these. */
  readonly hashes: Map<number, string> = new Map();
  /** For some nodes on workers, the inputs that were made again since: they have what was made before. */
  readonly outdated: Map<number, readonly number[]> = new Map();
  /** By a node on a worker, the node that its worker was given ahead and that takes its place. */
  readonly followers: Map<number, number> = new Map();
  /** By type of task how long the last ones took, in microseconds: new ones count for an eighth. */
  readonly times: Map<string, number> = new Map();
  movedBytes = 0;
  freedBytes = 0;
  /** Results are kept until they are released. */
  isReleased = false;
  readonly territories: Territories;
  readonly #run: number;
  readonly #watch: DataWatch;
  readonly #graph: Graph;
  readonly #kept: Uint8Array;

  constructor(run: number, graph: Graph, links: ReadonlyMap<number, unknown>, watch: DataWatch) {
    this.#run = run;
    this.#watch = watch;
    this.#graph = graph;
    this.territories = new Territories(graph, links);
    this.result = new Uint8Array(graph.size);
    this.readers = new Uint32Array(graph.size);
    this.#kept = new Uint8Array(graph.size);
    for (const node of graph.kept) this.#kept[node] = 1;
    for (let node = 0; node < graph.size; node++) this.#read(node, 1);
  }

  isNeeded(node: number): boolean {
    return (
      (this.readers[node] as number) > 0 ||
      (this.#kept[node] === 1 && !this.isReleased) ||
      this.lent.has(node)
    );
  }

  /** Where the result of a node is kept: here, or with the node that it stands for. */
  at(node: number): { readonly data: RunData; readonly node: number } {
    const loan = this.loans.get(node);
    return loan?.run.data ? { data: loan.run.data, node: loan.node } : { data: this, node };
  }

  holdersOf(node: number): readonly number[] | undefined {
    const { data, node: at } = this.at(node);
    return data.holders.get(at);
  }

  /** A node stands for another, whose result is needed from now on until this one's is not. */
  borrow(node: number, loan: Loan): void {
    this.loans.set(node, loan);
    loan.run.data?.lend(loan.node, 1);
    if (this.result[node] === Result.borrowed) return;
    this.awaited.add(node);
    this.#watch.withLinks.add(this.#run);
  }

  /** The node that it stands for has a result. */
  take(node: number): void {
    this.result[node] = Result.borrowed;
    this.#receive(node);
    this.#judge(node);
  }

  lend(node: number, by: 1 | -1): void {
    const lent = (this.lent.get(node) ?? 0) + by;
    if (lent > 0) this.lent.set(node, lent);
    else this.lent.delete(node);
    this.#judge(node);
  }

  /** Somebody needs what was freed. */
  miss(node: number): void {
    if (this.result[node] === Result.none) this.result[node] = Result.lost;
  }

  /** Follows the status of a node: who has ended no longer reads its inputs. */
  move(node: number, from: Status, to: Status): void {
    this.#watch.seekers.delete(taskKey(this.#run, node));
    if (isEnded(from) === isEnded(to)) return;
    if (this.awaited.has(node) && to !== Status.completed) this.#endLoan(node);
    this.#read(node, isEnded(to) ? -1 : 1);
  }

  /** It was completed before the run began. */
  carry(node: number): void {
    this.store(node);
    this.#read(node, -1);
  }

  store(node: number): void {
    this.result[node] = Result.stored;
  }

  hold(node: number, worker: number): void {
    this.result[node] = Result.held;
    this.holders.set(node, [worker]);
    this.#judge(node);
  }

  /** Takes over a result from another run. */
  adopt(node: number, { origin, rootId, holders }: Adopted): void {
    if (holders.length === 0) {
      this.#forget(node, this.isNeeded(node) ? Result.lost : Result.none);
      return;
    }
    this.result[node] = Result.held;
    this.origins.set(node, origin);
    if (rootId !== undefined) this.roots.set(node, rootId);
    this.holders.set(node, holders);
    this.#judge(node);
  }

  /** A worker that has run a node has its inputs, as they were then. */
  share(node: number, worker: number): void {
    const outdated = this.outdated.get(node);
    for (const input of this.#graph.inputsOf(node)) {
      const { data, node: at } = this.at(input);
      const holders = data.holders.get(at);
      if (holders && !holders.includes(worker) && !outdated?.includes(input))
        data.holders.set(at, [...holders, worker]);
    }
  }

  noteTime(type: string, micros: number): void {
    const before = this.times.get(type);
    this.times.set(type, before === undefined ? micros : Math.floor((7 * before + micros) / 8));
  }

  /** The nodes whose result was made under that id in another run, or by another node of this one. */
  nodesOfOrigin(chunk: string): number[] {
    return [...this.origins].flatMap(([node, origin]) => (origin === chunk ? [node] : []));
  }

  free(nodes: readonly number[], sizes: Float64Array): void {
    for (const node of nodes) {
      if (!this.loans.has(node)) this.freedBytes += sizes[node] as number;
      this.#forget(node, Result.none);
    }
  }

  bytes(sizes: Float64Array): DataBytes {
    let held = 0;
    for (const node of this.holders.keys()) held += sizes[node] as number;
    return { held, moved: this.movedBytes, freed: this.freedBytes };
  }

  release(): void {
    this.isReleased = true;
    for (const node of this.#graph.kept) this.#judge(node);
  }

  /** A worker does not have it any more. */
  drop(node: number, worker: number): void {
    const left = (this.holders.get(node) ?? []).filter((holder) => holder !== worker);
    if (left.length > 0) this.holders.set(node, left);
    else this.#forget(node, this.isNeeded(node) ? Result.lost : Result.none);
  }

  /** A worker is gone, with all that it had. */
  dropWorker(worker: number): void {
    for (const [node, holders] of this.holders) if (holders.includes(worker)) this.drop(node, worker);
  }

  /** It is to be made again. */
  forget(node: number): void {
    this.#forget(node, Result.none);
  }

  /** What has to be made again because it was lost, with all that this takes and is not there any more; ascending. */
  toRecompute(isCompleted: (node: number) => boolean): number[] {
    const found = new Set<number>();
    const next: number[] = [];
    for (let node = 0; node < this.result.length; node++)
      if (this.result[node] === Result.lost && this.isNeeded(node)) next.push(node);
    for (let node = next.pop(); node !== undefined; node = next.pop()) {
      if (found.has(node) || !isCompleted(node)) continue;
      found.add(node);
      for (const input of this.#graph.inputsOf(node)) {
        const { none, lost } = Result;
        if (this.result[input] === none || this.result[input] === lost) next.push(input);
      }
    }
    return [...found].sort((a, b) => a - b);
  }

  toSnapshot(): DataSnapshot {
    const { holders, deaths, breaches, times, isReleased } = this;
    const byNode = <Value>(map: ReadonlyMap<number, Value>) => [...map].sort(([a], [b]) => a - b);
    return {
      result: numbersIn(this.result),
      holders: byNode(holders),
      deaths: byNode(deaths),
      breaches: byNode(breaches),
      followers: byNode(this.followers),
      hashes: byNode(this.hashes),
      origins: byNode(this.origins),
      ...(this.roots.size > 0 && { roots: byNode(this.roots) }),
      ...(this.found.size > 0 && { found: byNode(this.found) }),
      outdated: byNode(this.outdated),
      times: [...times].sort(([a], [b]) => compareText(a, b)),
      isReleased,
      movedBytes: this.movedBytes,
      freedBytes: this.freedBytes,
      territories: this.territories.toSnapshot(),
    };
  }

  /** Of a run whose nodes have these states, after so many attempts. */
  restore(saved: DataSnapshot, status: Uint8Array, attempts: Uint32Array): void {
    this.territories.restore(saved.territories, attempts);
    this.result.set(saved.result);
    for (const [node, workers] of saved.holders) this.holders.set(node, workers);
    for (const [node, deaths] of saved.deaths) this.deaths.set(node, deaths);
    for (const [node, breaches] of saved.breaches) this.breaches.set(node, breaches);
    for (const [node, origin] of saved.origins) this.origins.set(node, origin);
    for (const [node, root] of saved.roots ?? []) this.roots.set(node, root);
    for (const [node, isLast] of saved.found ?? []) this.found.set(node, isLast);
    for (const [node, hash] of saved.hashes) this.hashes.set(node, hash);
    for (const [node, inputs] of saved.outdated) this.outdated.set(node, inputs);
    for (const [node, next] of saved.followers) this.followers.set(node, next);
    for (const [type, micros] of saved.times) this.times.set(type, micros);
    this.isReleased = saved.isReleased;
    this.movedBytes = saved.movedBytes;
    this.freedBytes = saved.freedBytes;
    this.readers.fill(0);
    for (let node = 0; node < status.length; node++)
      if (!isEnded(status[node] as Status)) this.#read(node, 1);
    for (const node of this.holders.keys()) this.#judge(node);
  }

  #endLoan(node: number): void {
    const loan = this.loans.get(node);
    if (!loan) return;
    this.loans.delete(node);
    this.#receive(node);
    loan.run.data?.lend(loan.node, -1);
  }

  #receive(node: number): void {
    if (this.awaited.delete(node) && this.awaited.size === 0) this.#watch.withLinks.delete(this.#run);
  }

  #forget(node: number, left: Result): void {
    this.#endLoan(node);
    this.result[node] = left;
    this.holders.delete(node);
    this.origins.delete(node);
    this.roots.delete(node);
    this.#judge(node);
  }

  #read(node: number, by: 1 | -1): void {
    for (const input of this.#graph.inputsOf(node)) {
      (this.readers[input] as number) += by;
      this.#judge(input);
    }
  }

  #judge(node: number): void {
    const isHere = this.result[node] === Result.held || this.result[node] === Result.borrowed;
    if (isHere && !this.isNeeded(node)) {
      this.idle.add(node);
      this.#watch.withIdle.add(this.#run);
    } else if (this.idle.delete(node) && this.idle.size === 0) this.#watch.withIdle.delete(this.#run);
  }
}
