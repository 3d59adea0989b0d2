import { RuntimeError } from "./errors.ts";
import { type Fiber, fiberId, holdingsOfFiber, MAX_SLOTS, nurseryOfFiber } from "./fiber.ts";
import type { Holdings } from "./holdings.ts";
import type { Continuation, Pending } from "./instruction.ts";
import type { NurseryCore } from "./nursery-core.ts";

/** Flags of a fiber. */
export const STARTED = 1;
/** Its `finally` blocks are running. */
export const UNWINDING = 2;
/** When it runs next, something else than resuming it is due: see `kernel.ts`. */
export const SPECIAL = 4;
/** Its pending instruction is to be started again, now that there is budget. */
export const RETRY = 8;
/** Its `finally` blocks have taken too long. */
export const FORCED = 16;

/**
 * Fibers as slots of flat arrays: what is a number in typed ones, the rest in arrays of references. A fiber costs some
 * hundred bytes here, and its generator as soon as it has started.
 */
export class FiberTable {
  alive = 0;
  #capacity = 0;
  #used = 0;
  /** Free slots, chained by `next`. */
  #free = -1;

  state: Uint8Array = new Uint8Array(0);
  flags: Uint8Array = new Uint8Array(0);
  priority: Uint8Array = new Uint8Array(0);
  /** How often it was resumed by force. */
  forced: Uint8Array = new Uint8Array(0);
  home: Uint16Array = new Uint16Array(0);
  depth: Uint16Array = new Uint16Array(0);
  /** Slices in a row that charged nothing. */
  idle: Uint16Array = new Uint16Array(0);
  generation: Int32Array = new Int32Array(0);
  /** Below 0 while it has used more than it had. */
  ops: Float64Array = new Float64Array(0);
  memory: Float64Array = new Float64Array(0);
  spawnCount: Uint32Array = new Uint32Array(0);
  channelOps: Uint32Array = new Uint32Array(0);
  syscalls: Uint32Array = new Uint32Array(0);
  /** Siblings in the nursery. */
  next: Int32Array = new Int32Array(0);
  previous: Int32Array = new Int32Array(0);

  readonly fiber: (Fiber | undefined)[] = [];
  /** What it is resumed by, once it has let go for the first time. */
  readonly code: (Continuation | undefined)[] = [];
  /** The innermost nursery that it has open. */
  readonly opened: (NurseryCore | undefined)[] = [];
  /** What it waits for, if it waits. */
  readonly pending: (Pending | undefined)[] = [];

  /** Ids of fibers that came from other threads: those that they have there. */
  readonly aliases: Map<number, number> = new Map();
  #me = 0;
  #of = 1;

  get used(): number {
    return this.#used;
  }

  take(): number {
    this.alive++;
    const slot = this.#free;
    if (slot >= 0) {
      this.#free = this.next[slot] as number;
      return slot;
    }
    return this.#takeFresh();
  }

  #takeFresh(): number {
    if (this.#used === this.#capacity) this.#grow();
    this.fiber.push(undefined);
    this.code.push(undefined);
    this.opened.push(undefined);
    this.pending.push(undefined);
    return this.#used++;
  }

  release(slot: number): void {
    this.alive--;
    this.fiber[slot] = undefined;
    if (this.code[slot] !== undefined) this.code[slot] = undefined;
    if (this.opened[slot] !== undefined) this.opened[slot] = undefined;
    if (this.pending[slot] !== undefined) this.pending[slot] = undefined;
    this.flags[slot] = 0;
    this.forced[slot] = 0;
    this.idle[slot] = 0;
    this.generation[slot] = (this.generation[slot] as number) + 1;
    this.next[slot] = this.#free;
    this.#free = slot;
  }

  /** Puts a fiber among the children of a nursery. */
  link(slot: number, core: NurseryCore): void {
    const { first } = core;
    this.next[slot] = first;
    this.previous[slot] = -1;
    if (first >= 0) this.previous[first] = slot;
    core.first = slot;
  }

  unlink(slot: number, core: NurseryCore): void {
    const { next, previous } = this;
    const after = next[slot] as number;
    const before = previous[slot] as number;
    if (before >= 0) next[before] = after;
    else core.first = after;
    if (after >= 0) previous[after] = before;
  }

  nurseryOf(slot: number): NurseryCore {
    return nurseryOfFiber(this.fiber[slot] as Fiber);
  }

  holdingsOf(slot: number): Holdings {
    return holdingsOfFiber(this.fiber[slot] as Fiber);
  }

  /** Has ids be others than in the tables of other threads. */
  numberAs(me: number, of: number): void {
    this.#me = me;
    this.#of = of;
  }

  idFor(slot: number, generation: number): number {
    return fiberId(slot, generation) * this.#of + this.#me;
  }

  idOf(slot: number): number {
    const alias = this.aliases.size > 0 ? this.aliases.get(slot) : undefined;
    return alias ?? this.idFor(slot, this.generation[slot] as number);
  }

  #grow(): void {
    const capacity = Math.min(
      MAX_SLOTS,
      this.#capacity < 65_536 ? Math.max(256, this.#capacity * 2) : this.#capacity + (this.#capacity >> 1),
    );
    if (capacity === this.#capacity)
      throw new RuntimeError(
        "InvalidArgument",
        `${MAX_SLOTS} fibers are alive; no more fit into one runtime`,
      );
    this.#capacity = capacity;
    this.state = grown(this.state, new Uint8Array(capacity));
    this.flags = grown(this.flags, new Uint8Array(capacity));
    this.priority = grown(this.priority, new Uint8Array(capacity));
    this.forced = grown(this.forced, new Uint8Array(capacity));
    this.home = grown(this.home, new Uint16Array(capacity));
    this.depth = grown(this.depth, new Uint16Array(capacity));
    this.idle = grown(this.idle, new Uint16Array(capacity));
    this.generation = grown(this.generation, new Int32Array(capacity));
    this.ops = grown(this.ops, new Float64Array(capacity));
    this.memory = grown(this.memory, new Float64Array(capacity));
    this.spawnCount = grown(this.spawnCount, new Uint32Array(capacity));
    this.channelOps = grown(this.channelOps, new Uint32Array(capacity));
    this.syscalls = grown(this.syscalls, new Uint32Array(capacity));
    this.next = grown(this.next, new Int32Array(capacity));
    this.previous = grown(this.previous, new Int32Array(capacity));
  }
}

function grown<A extends Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array>(
  from: A,
  to: A,
): A {
  to.set(from);
  return to;
}
