// Runs with data in virtual time: workers that hold results, fetch what they lack, and are lost.

import type { NodeSpec } from "../src/graph/index.ts";
import type { AttemptFinished, TaskAssigned } from "../src/ledger/index.ts";
import { type Loop, submits, type Told } from "./builders.ts";

export const MIB = 1024 * 1024;

export interface Play {
  /** Bytes of every result. */
  readonly bytes?: number;
  /** How long a node runs, in milliseconds. */
  readonly tookMs?: (node: number, worker: number) => number;
}

/** One run on workers that begin at once what they are given, in order, one at a time. */
export class DataPlay {
  readonly loop: Loop;
  /** Bytes that were brought from one worker to another. */
  moved = 0;
  /** The most that all workers held at any time, in results. */
  most = 0;
  /** How many nodes each worker ran. */
  readonly ran: Map<number, number> = new Map();
  readonly #has = new Map<number, Set<number>>();
  readonly #queues = new Map<number, TaskAssigned[]>();
  readonly #ends = new Map<number, number>();
  readonly #bytes: number;
  readonly #tookMs: (node: number, worker: number) => number;
  now = 1;

  constructor(loop: Loop, { bytes = MIB, tookMs = () => 1 }: Play = {}) {
    this.loop = loop;
    this.#bytes = bytes;
    this.#tookMs = tookMs;
  }

  submit(nodes: readonly NodeSpec[]): Told {
    return this.follow(this.loop.turn(this.now, submits("r", nodes)));
  }

  /** Until nothing runs any more. */
  finish(): void {
    while (this.step());
  }

  /** The next worker that ends something reports it. */
  step(): boolean {
    const next = [...this.#ends].sort(([a, x], [b, y]) => x - y || a - b)[0];
    if (!next) return false;
    const [worker, at] = next;
    this.now = Math.max(this.now, at);
    const assigned = (this.#queues.get(worker) as TaskAssigned[]).shift() as TaskAssigned;
    this.#ends.delete(worker);
    const { run, node, attempt } = assigned;
    this.#bring(worker, node);
    const finished: AttemptFinished = {
      kind: "AttemptFinished",
      run,
      node,
      attempt,
      startedAt: this.now - this.#tookMs(node, worker),
      resultHash: `${node}`,
      resultBytes: this.#bytes,
      costMicros: 0,
      held: true,
    };
    this.#of(worker).add(node);
    this.ran.set(worker, (this.ran.get(worker) ?? 0) + 1);
    this.most = Math.max(
      this.most,
      [...this.#has.values()].reduce((sum, { size }) => sum + size, 0),
    );
    this.follow(this.loop.turn(this.now, finished));
    this.#begin(worker);
    return true;
  }

  lose(worker: number): Told {
    this.#queues.delete(worker);
    this.#ends.delete(worker);
    this.#has.delete(worker);
    return this.follow(this.loop.turn(this.now, { kind: "WorkerLost", worker, code: "lease" }));
  }

  follow(told: Told): Told {
    for (const event of told.events) {
      if (event.kind === "ChunksFreed")
        for (const has of this.#has.values()) for (const node of event.nodes) has.delete(node);
      if (event.kind === "TasksWithdrawn")
        for (const [worker, queue] of this.#queues)
          this.#queues.set(
            worker,
            queue.filter(({ node }) => !event.nodes.includes(node)),
          );
      if (event.kind !== "TaskAssigned") continue;
      const queue = this.#queues.get(event.worker) ?? [];
      queue.push(event);
      this.#queues.set(event.worker, queue);
      this.#begin(event.worker);
    }
    return told;
  }

  #begin(worker: number): void {
    const first = this.#queues.get(worker)?.[0];
    if (first && !this.#ends.has(worker)) this.#ends.set(worker, this.now + this.#tookMs(first.node, worker));
  }

  #bring(worker: number, node: number): void {
    const has = this.#of(worker);
    for (const input of this.loop.run("r").graph.inputsOf(node)) {
      if (has.has(input)) continue;
      has.add(input);
      this.moved += this.#bytes;
    }
  }

  #of(worker: number): Set<number> {
    let has = this.#has.get(worker);
    if (!has) {
      has = new Set();
      this.#has.set(worker, has);
    }
    return has;
  }
}
