import { IndexHeap, mix32 } from "../core/index.ts";
import type { Kernel } from "./kernel.ts";
import type { Loop } from "./loop.ts";
import type { Processor } from "./processor.ts";

/** Which of the others a processor that has nothing to do steals from. */
export type Victims = "random" | "round-robin" | "least-loaded";

/** Virtual time: an op takes a microsecond. */
const OPS_PER_MS = 1_000;
/** A look at another's deque takes as long as an op. */
const STEAL_OPS = 1;
const MAX_ATTEMPTS = 4;
/** After so long on this thread Node's own loop has a turn. Nothing that it brings is looked at before all is idle. */
const TURN_MS = 20;

interface Outside {
  arrived: (() => void) | undefined;
  settled: Promise<void>;
}

export interface SimulationSettings {
  readonly seed: number;
  readonly victims: Victims;
  readonly stealing: boolean;
  /** How long a promise is waited for before the virtual clock goes on to what is due next. */
  readonly patienceMs: number;
}

/**
 * Any number of processors on one thread, in an order that depends on nothing but the program, the seed, their number and
 * the budgets: each has a clock of the ops that it has run, and the smallest (clock, id) acts next. Whoever is idle looks at
 * others and then parks until something is offered.
 *
 * Promises settle when they like, so they are taken in the order in which they were waited for, one at a time, and only
 * when no processor has anything to do.
 */
export class Simulation implements Loop {
  readonly #kernel: Kernel;
  readonly #settings: SimulationSettings;
  readonly #acting: IndexHeap;
  readonly #isParked: Uint8Array;
  readonly #parked: number[] = [];
  readonly #random: Uint32Array;
  readonly #outside: Outside[] = [];
  readonly counters = { steals: 0, failedSteals: 0 };
  /** What ran where and how it ended, in order. */
  hash = 0x811c9dc5;
  #clock = 0;
  #scheduled = false;
  /** Ends waiting for a promise, since there is something to do after all. */
  #nudge: (() => void) | undefined;

  constructor(kernel: Kernel, settings: SimulationSettings) {
    this.#kernel = kernel;
    this.#settings = settings;
    const { processors } = kernel;
    this.#acting = new IndexHeap(
      (a, b) => this.#actsBefore(a, b),
      new Int32Array(processors.length).fill(-1),
    );
    this.#isParked = new Uint8Array(processors.length);
    this.#random = Uint32Array.from(processors, ({ id }) => mix32(settings.seed ^ mix32(id + 1)) || 1);
    for (let id = processors.length - 1; id >= 0; id--) this.#park(id);
  }

  nowMs(): number {
    const running =
      this.#kernel.current >= 0 ? this.#kernel.processor.clock + this.#kernel.meter.sliceOps : 0;
    return Math.max(this.#clock, running) / OPS_PER_MS;
  }

  sliceEndMs(): number {
    const { processor, meter } = this.#kernel;
    return (processor.clock + Math.max(1, meter.sliceOps)) / OPS_PER_MS;
  }

  /** How long it all took in virtual ops. */
  get makespan(): number {
    return this.#kernel.processors.reduce((most, { clock }) => Math.max(most, clock), 0);
  }

  woken({ id }: Processor): void {
    if (this.#isParked[id] === 1) this.#unpark(id);
    this.#schedule();
  }

  offered(): void {
    for (let id = this.#parked.pop(); id !== undefined; id = this.#parked.pop())
      if (this.#isParked[id] === 1) {
        this.#unpark(id);
        break;
      }
    this.#schedule();
  }

  outside(
    promise: PromiseLike<unknown>,
    settle: (value: unknown, thrown?: { error: unknown }) => void,
  ): () => void {
    const outside: Outside = { arrived: undefined, settled: Promise.resolve() };
    outside.settled = Promise.resolve(promise).then(
      (value) => {
        outside.arrived = () => settle(value);
      },
      (error: unknown) => {
        outside.arrived = () => settle(undefined, { error });
      },
    );
    this.#outside.push(outside);
    return () => {
      const at = this.#outside.indexOf(outside);
      if (at >= 0) this.#outside.splice(at, 1);
    };
  }

  close(): void {}

  #actsBefore(a: number, b: number): boolean {
    const left = (this.#kernel.processors[a] as Processor).clock;
    const right = (this.#kernel.processors[b] as Processor).clock;
    return left < right || (left === right && a < b);
  }

  #park(id: number): void {
    this.#isParked[id] = 1;
    this.#parked.push(id);
  }

  #unpark(id: number): void {
    this.#isParked[id] = 0;
    const processor = this.#kernel.processors[id] as Processor;
    processor.clock = Math.max(processor.clock, Math.ceil(this.nowMs() * OPS_PER_MS));
    this.#acting.add(id);
  }

  #schedule(): void {
    this.#nudge?.();
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => void this.#turn());
  }

  async #turn(): Promise<void> {
    for (;;) {
      if (this.#runFor(TURN_MS)) {
        await new Promise<void>((resolve) => setImmediate(resolve));
        continue;
      }
      const found = await this.#takeOutside();
      // Somebody outside may have acted meanwhile.
      if (found || this.#acting.size > 0) continue;
      if (!this.#passTime() && !this.#kernel.stalled()) break;
    }
    this.#scheduled = false;
  }

  /** Whether there is more to run. */
  #runFor(ms: number): boolean {
    const untilMs = performance.now() + ms;
    for (let steps = 0; ; steps++) {
      const id = this.#acting.first();
      if (id < 0) return false;
      this.#act(this.#kernel.processors[id] as Processor);
      if (steps % 1_024 === 1_023 && performance.now() >= untilMs) return true;
    }
  }

  #act(processor: Processor): void {
    const kernel = this.#kernel;
    kernel.processor = processor;
    this.#clock = Math.max(this.#clock, processor.clock);
    kernel.timers.fireUntil(processor.clock / OPS_PER_MS);
    this.#acting.delete(processor.id);
    const before = processor.clock;
    let slot = processor.pick();
    if (slot < 0) slot = this.#steal(processor);
    if (slot >= 0) {
      kernel.table.home[slot] = processor.id;
      const id = kernel.table.idOf(slot);
      kernel.run(slot);
      processor.clock += Math.max(1, kernel.meter.sliceOps);
      this.#note(id, processor.id, kernel.meter.sliceOps);
    } else if (processor.clock === before || !this.#anythingToSteal()) {
      this.#park(processor.id);
      return;
    }
    this.#acting.add(processor.id);
  }

  #note(fiber: number, processor: number, ops: number): void {
    const mixed = Math.imul(this.hash ^ (fiber >>> 0) ^ Math.floor(fiber / 2 ** 32), 0x01000193);
    this.hash = Math.imul(mixed ^ (processor << 20) ^ ops, 0x01000193) >>> 0;
  }

  #steal(thief: Processor): number {
    const { processors } = this.#kernel;
    if (!this.#settings.stealing) return -1;
    const attempts = Math.min(processors.length - 1, MAX_ATTEMPTS);
    for (let attempt = 0; attempt < attempts; attempt++) {
      thief.clock += STEAL_OPS;
      const victim = processors[this.#victimOf(thief.id, attempt)] as Processor;
      const slot = victim.steal();
      if (slot >= 0) {
        this.counters.steals++;
        this.#told(slot, thief.id, victim.id);
        if (victim.stealable > 0) this.offered();
        return slot;
      }
      this.counters.failedSteals++;
    }
    return -1;
  }

  #told(slot: number, thief: number, victim: number): void {
    const fiber = this.#kernel.table.idOf(slot);
    this.#kernel.settings.observer.stole?.({ fiber, thief, victim, atMs: this.nowMs() });
  }

  #victimOf(thief: number, attempt: number): number {
    const { processors } = this.#kernel;
    if (this.#settings.victims === "round-robin") return (thief + 1 + attempt) % processors.length;
    if (this.#settings.victims === "least-loaded") return this.#longest(thief);
    const victim = this.#next(thief) % (processors.length - 1);
    return victim >= thief ? victim + 1 : victim;
  }

  /** Who has most to steal; the specification calls it least loaded. */
  #longest(thief: number): number {
    let longest = thief === 0 ? 1 : 0;
    for (const { id, stealable } of this.#kernel.processors)
      if (id !== thief && stealable > (this.#kernel.processors[longest] as Processor).stealable) longest = id;
    return longest;
  }

  #next(id: number): number {
    let x = this.#random[id] as number;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#random[id] = x;
    return x >>> 0;
  }

  #anythingToSteal(): boolean {
    return this.#kernel.processors.some(({ stealable }) => stealable > 0);
  }

  /** Lets time pass until the next timer. */
  #passTime(): boolean {
    const nextMs = this.#kernel.timers.nextMs();
    if (nextMs === undefined) return false;
    this.#clock = Math.max(this.#clock, Math.ceil(nextMs * OPS_PER_MS));
    this.#kernel.timers.fireUntil(Math.max(nextMs, this.nowMs()));
    return true;
  }

  /** Waits for the promise that was waited for first, if there is one. Says whether there is something to do. */
  async #takeOutside(): Promise<boolean> {
    const first = this.#outside[0];
    if (first === undefined) return false;
    if (first.arrived === undefined) await this.#patience(first);
    if (this.#acting.size > 0) return true;
    if (first.arrived === undefined) return false;
    if (this.#outside[0] !== first) return true;
    this.#outside.shift();
    first.arrived();
    return true;
  }

  async #patience({ settled }: Outside): Promise<void> {
    const nudged = new Promise<void>((resolve) => {
      this.#nudge = resolve;
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      if (this.#kernel.timers.nextMs() !== undefined) timer = setTimeout(resolve, this.#settings.patienceMs);
    });
    await Promise.race([settled, nudged, late]);
    this.#nudge = undefined;
    clearTimeout(timer);
  }
}
