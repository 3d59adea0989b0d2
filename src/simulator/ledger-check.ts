import { type Block, ChainVerifier, GENESIS, type Head, headOf } from "../ledger/index.ts";
import {
  Redecider,
  replayBlock,
  restore,
  type Snapshot,
  State,
  stateHash,
  takeSnapshot,
} from "../scheduler/index.ts";
import type { Random } from "./random.ts";
import type { Tally } from "./tally.ts";
import { demand } from "./violation.ts";

/** State hashes read the whole state, so they are compared now and then and at the end. */
const BLOCKS_PER_HASH = 40;

/**
 * The ledger on its own: its chain holds, a state fed by nothing else is the same, deciding again decides the
 * same, and so does going on from a snapshot that was written down and read again.
 */
export class LedgerCheck {
  readonly #chain = new ChainVerifier();
  readonly #shadow = new State();
  readonly #random: Random;
  readonly #tally: Tally;
  #blocks = 0;
  #saved: { readonly text: string; readonly head: Head; readonly block: number } | undefined;

  constructor(random: Random, tally: Tally) {
    this.#random = random;
    this.#tally = tally;
  }

  accept(line: string): Block {
    const before = this.#chain.head.seq;
    const block = this.#chain.accept(line);
    demand("hash" in block, "chain", () => `a line was refused: ${JSON.stringify(block)}`);
    demand(
      block.seq === before + 1 && block.count > 0 && this.#chain.head.seq === before + block.count,
      "logical-time",
      () => `${before} is followed by ${block.seq}`,
    );
    demand(block.now >= this.#shadow.now, "block-times", () => `${block.now} follows ${this.#shadow.now}`);
    return block;
  }

  follow(block: Block, state: State): void {
    replayBlock(this.#shadow, block);
    this.#blocks++;
    if (this.#blocks % BLOCKS_PER_HASH === 0) this.#compare(state);
    // Each block is the chosen one with the same chance, however many there will be.
    if (this.#random.int(1, this.#blocks) === 1) {
      this.#saved = {
        text: JSON.stringify(takeSnapshot(state)),
        head: headOf(block),
        block: this.#blocks,
      };
    }
  }

  atEnd(blocks: readonly Block[], state: State): void {
    this.#compare(state);
    const hash = stateHash(state);
    decideAgain(new Redecider(new State(), GENESIS), blocks, hash, "redecide");
    if (!this.#saved) return;
    const { text, head, block } = this.#saved;
    const restored = restore(JSON.parse(text) as Snapshot);
    decideAgain(new Redecider(restored, head), blocks.slice(block), hash, "snapshot-continues");
    if (blocks.length > block) this.#tally.count("snapshot continued");
  }

  #compare(state: State): void {
    const [live, shadow] = [stateHash(state), stateHash(this.#shadow)];
    demand(live === shadow, "replay", () => `replaying gives the state ${shadow}, not ${live}`);
  }
}

function decideAgain(redecider: Redecider, blocks: readonly Block[], hash: string, invariant: string): void {
  for (const block of blocks) {
    const seq = redecider.check(block);
    demand(seq === undefined, invariant, () => `event ${seq} would be decided otherwise`);
  }
  const again = stateHash(redecider.state);
  demand(again === hash, invariant, () => `deciding again ends in the state ${again}, not ${hash}`);
}
