import { compareText } from "../core/index.ts";
import type { Entry } from "./entry.ts";
import type { HrrnBlock } from "./hrrn-block.ts";
import { compareRatios, overtakenFrom } from "./response-ratio.ts";

const NOBODY = -1;

/**
 * Blocks in a binary tree: each node knows who of the two below it is ahead, and from which moment on that must
 * be played again, because a champion below changes or the other gets ahead. So who is first overall is known
 * until the root's moment, and then only the games on the way to what changed are played again.
 *
 * The tree lies in arrays: node 1 is the root, 2n and 2n + 1 stand below n, and the blocks are the leaves.
 */
export class Tournament {
  readonly #blocks: HrrnBlock[] = [];
  #leaves = 1;
  /** The slot of the winner below a node. */
  #winner = new Int32Array(2);
  #replayFrom = new Float64Array(2);
  /** The champions' keys by slot, side by side: blocks and entries lie all over the memory. */
  #readyAt = new Float64Array(1);
  #estimateMs = new Float64Array(1);

  get blocks(): readonly HrrnBlock[] {
    return this.#blocks;
  }

  add(block: HrrnBlock): void {
    block.slot = this.#blocks.push(block) - 1;
    if (this.#blocks.length > this.#leaves) this.#resize(2 * this.#leaves);
    this.replay(block);
  }

  /** The last block takes over the slot, so that slots stay dense. */
  delete(block: HrrnBlock): void {
    const last = this.#blocks.pop() as HrrnBlock;
    this.replay(last);
    if (last !== block) {
      last.slot = block.slot;
      this.#blocks[last.slot] = last;
      this.replay(last);
    }
    block.slot = -1;
    if (this.#leaves > 1 && 4 * this.#blocks.length < this.#leaves) this.#resize(this.#leaves / 2);
  }

  /** To be called when a block's champion may have changed. */
  replay(block: HrrnBlock): void {
    for (let node = this.#leaves + block.slot; node > 0; node >>>= 1) {
      if (this.#replayFrom[node] === Number.NEGATIVE_INFINITY) break;
      this.#replayFrom[node] = Number.NEGATIVE_INFINITY;
    }
  }

  first(now: number): Entry | undefined {
    this.#play(1, now);
    return this.#blocks[this.#winner[1] as number]?.champion;
  }

  #play(node: number, now: number): void {
    if ((this.#replayFrom[node] as number) > now) return;
    if (node >= this.#leaves) {
      this.#enter(node, now);
      return;
    }
    const left = 2 * node;
    this.#play(left, now);
    this.#play(left + 1, now);
    const a = this.#winner[left] as number;
    const b = this.#winner[left + 1] as number;
    let lasts = Math.min(this.#replayFrom[left] as number, this.#replayFrom[left + 1] as number);
    if (a === NOBODY || b === NOBODY) this.#winner[node] = Math.max(a, b);
    else {
      const [ahead, behind] = this.#isAhead(a, b, now) ? [a, b] : [b, a];
      this.#winner[node] = ahead;
      lasts = Math.min(lasts, this.#passes(ahead, behind, now));
    }
    this.#replayFrom[node] = lasts;
  }

  /** Brings a block's champion to its leaf. */
  #enter(leaf: number, now: number): void {
    const slot = leaf - this.#leaves;
    const block = this.#blocks[slot];
    if (block) {
      block.look(now);
      this.#readyAt[slot] = block.champion?.readyAt as number;
      this.#estimateMs[slot] = block.champion?.estimateMs as number;
    }
    this.#winner[leaf] = block ? slot : NOBODY;
    this.#replayFrom[leaf] = block?.overtakenFrom ?? Number.POSITIVE_INFINITY;
  }

  #isAhead(a: number, b: number, now: number): boolean {
    const aReadyAt = this.#readyAt[a] as number;
    const bReadyAt = this.#readyAt[b] as number;
    const order =
      compareRatios(aReadyAt, this.#estimateMs[a] as number, bReadyAt, this.#estimateMs[b] as number, now) ||
      aReadyAt - bReadyAt ||
      compareText(this.#blocks[a]?.champion?.id as string, this.#blocks[b]?.champion?.id as string);
    return order < 0;
  }

  #passes(ahead: number, behind: number, now: number): number {
    return overtakenFrom(
      this.#readyAt[ahead] as number,
      this.#estimateMs[ahead] as number,
      this.#readyAt[behind] as number,
      this.#estimateMs[behind] as number,
      now,
    );
  }

  #resize(leaves: number): void {
    this.#leaves = leaves;
    this.#winner = new Int32Array(2 * leaves);
    this.#replayFrom = new Float64Array(2 * leaves).fill(Number.NEGATIVE_INFINITY);
    this.#readyAt = new Float64Array(leaves);
    this.#estimateMs = new Float64Array(leaves);
  }
}
