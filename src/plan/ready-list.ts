import type { Problem } from "./problem.ts";

/** So many resources are compared at a glance, those that are most in demand. */
const PACKED = 4;
const MOST = 127;
/** The highest bit of each byte, which no amount has. */
const GUARD = 0x8080_8080 | 0;
const BLOCK = 256;

interface Block {
  size: number;
  readonly ranks: Uint32Array;
  readonly amounts: Int32Array;
  /** Of every resource, those in the block take no less; measured: one of them takes as little. */
  readonly least: Float64Array;
  isMeasured: boolean;
}

/**
 * What is ready, by rank, and what of it fits. Of 100,000 nodes thousands are ready at every moment, and most do not fit.
 * Blocks that only hold what is too large are passed over; in the others, amounts are packed into the bytes of one
 * number, scaled to 7 bits, so that one subtraction compares all of them. What looks as if it fits is asked exactly.
 */
export class ReadyList {
  readonly #problem: Problem;
  readonly #rank: Uint32Array;
  #order: ArrayLike<number> = [];
  /** None is empty. */
  #blocks: Block[] = [];
  readonly #packed: Int32Array;
  readonly #shown: readonly number[];
  readonly #scales: readonly number[];

  constructor(problem: Problem) {
    const { size, resources, capacities, demands } = problem;
    this.#problem = problem;
    this.#rank = new Uint32Array(size);
    this.#shown = mostWanted(problem).slice(0, PACKED);
    this.#scales = this.#shown.map((r) => Math.min(1, MOST / Math.max(1, capacities[r] as number)));
    this.#packed = new Int32Array(size);
    for (let n = 0; n < size; n++) this.#packed[n] = this.#pack(demands, n * resources.length);
  }

  /** Empties the list; the order gives the ranks from now on. */
  begin(order: ArrayLike<number>): void {
    this.#blocks = [];
    this.#order = order;
    for (let at = 0; at < order.length; at++) this.#rank[order[at] as number] = at;
  }

  add(activity: number): void {
    const rank = this.#rank[activity] as number;
    this.#insert(this.#roomyBlockFor(rank), rank);
  }

  /** Calls with what fits into what is free, by rank, and lets go of it; the caller takes what it uses from what is free. */
  takeWhatFits(free: Float64Array, take: (activity: number) => void): void {
    let hasEmptied = false;
    for (const block of this.#blocks) {
      if (!isWithin(block.least, 0, free)) continue;
      const before = block.size;
      this.#takeFrom(block, free, take);
      if (block.size < before) block.isMeasured = false;
      // What was taken may have been the least. It is looked for only where that made somebody look in vain.
      else if (!block.isMeasured) this.#measure(block);
      hasEmptied ||= block.size === 0;
    }
    if (hasEmptied) this.#blocks = this.#blocks.filter(({ size }) => size > 0);
  }

  #takeFrom(block: Block, free: Float64Array, take: (activity: number) => void): void {
    const { demands, resources } = this.#problem;
    const { size, ranks, amounts } = block;
    let room = this.#pack(free, 0) | GUARD;
    let taken = 0;
    for (let at = 0; at < size; at++) {
      const wanted = amounts[at] as number;
      if (((room - wanted) & GUARD) === GUARD) {
        const activity = this.#order[ranks[at] as number] as number;
        if (isWithin(demands, activity * resources.length, free)) {
          take(activity);
          taken++;
          room = this.#pack(free, 0) | GUARD;
          continue;
        }
      }
      if (taken === 0) continue;
      ranks[at - taken] = ranks[at] as number;
      amounts[at - taken] = wanted;
    }
    block.size = size - taken;
  }

  #roomyBlockFor(rank: number): Block {
    const at = this.#blockOf(rank);
    const block = this.#blocks[at];
    if (block !== undefined && block.size < BLOCK) return block;
    const added = this.#emptyBlock();
    this.#blocks.splice(at + 1, 0, added);
    if (block === undefined) return added;
    for (let moved = BLOCK / 2; moved < BLOCK; moved++) this.#insert(added, block.ranks[moved] as number);
    block.size = BLOCK / 2;
    return rank > (added.ranks[0] as number) ? added : block;
  }

  /** The last block that begins at or before a rank, or the first. */
  #blockOf(rank: number): number {
    let low = 0;
    let high = this.#blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#blocks[middle]?.ranks[0] as number) <= rank) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #insert(block: Block, rank: number): void {
    const { ranks, amounts } = block;
    let at = block.size++;
    for (; at > 0 && (ranks[at - 1] as number) > rank; at--) {
      ranks[at] = ranks[at - 1] as number;
      amounts[at] = amounts[at - 1] as number;
    }
    const activity = this.#order[rank] as number;
    ranks[at] = rank;
    amounts[at] = this.#packed[activity] as number;
    this.#lower(block.least, activity);
  }

  #measure(block: Block): void {
    const { least, ranks, size } = block;
    block.isMeasured = true;
    least.fill(Number.POSITIVE_INFINITY);
    for (let at = 0; at < size; at++) this.#lower(least, this.#order[ranks[at] as number] as number);
  }

  #lower(least: Float64Array, activity: number): void {
    const { demands } = this.#problem;
    for (let r = 0, at = activity * least.length; r < least.length; r++, at++) {
      if ((demands[at] as number) < (least[r] as number)) least[r] = demands[at] as number;
    }
  }

  #emptyBlock(): Block {
    const least = new Float64Array(this.#problem.resources.length).fill(Number.POSITIVE_INFINITY);
    return {
      size: 0,
      ranks: new Uint32Array(BLOCK),
      amounts: new Int32Array(BLOCK),
      least,
      isMeasured: true,
    };
  }

  /** What is more is never less when packed. What runs already may leave less than nothing. */
  #pack(amounts: Float64Array, from: number): number {
    let packed = 0;
    for (let at = 0; at < this.#shown.length; at++) {
      const amount = amounts[from + (this.#shown[at] as number)] as number;
      const scaled = Math.floor(Math.max(0, amount) * (this.#scales[at] as number));
      packed |= Math.min(MOST, scaled) << (8 * at);
    }
    return packed;
  }
}

/** Resources by how long all work on them takes, the longest first. */
function mostWanted({ size, resources, capacities, demands, durations }: Problem): number[] {
  const work = new Float64Array(resources.length);
  for (let n = 0; n < size; n++) {
    for (let r = 0; r < work.length; r++) {
      (work[r] as number) += (durations[n] as number) * (demands[n * work.length + r] as number);
    }
  }
  const takes = (r: number): number => (work[r] as number) / Math.max(1, capacities[r] as number);
  return [...resources.keys()].sort((a, b) => takes(b) - takes(a));
}

function isWithin(amounts: Float64Array, from: number, free: Float64Array): boolean {
  for (let r = 0; r < free.length; r++) {
    if ((amounts[from + r] as number) > (free[r] as number)) return false;
  }
  return true;
}
