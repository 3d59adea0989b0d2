import { type Block, ChainVerifier, GENESIS, type Head, headOf, type TaskAssigned } from "../ledger/index.ts";
import { REJECTIONS } from "../placement/index.ts";
import {
  apply,
  type Recorded,
  Redecider,
  renderRecord,
  restore,
  type Snapshot,
  State,
  stateHash,
  takeSnapshot,
  whyHere,
} from "../scheduler/index.ts";
import { compareStates } from "./comparison.ts";
import type { Model } from "./model.ts";
import type { Random } from "./random.ts";
import type { Tally } from "./tally.ts";
import { demand } from "./violation.ts";

/** State hashes read the whole state, so they are compared only now and then, and at the end. */
const BLOCKS_PER_HASH = 40;
/** Rendering an event takes three hashes. */
const BLOCKS_PER_RECORD = 5;

/**
 * The ledger on its own: its chain holds, a state fed by nothing else is the same, deciding again decides the
 * same, and so does going on from a snapshot that was written down and read again.
 */
export class LedgerCheck {
  readonly #chain = new ChainVerifier();
  readonly #shadow = new State();
  readonly #random: Random;
  readonly #tally: Tally;
  #ledgerId = "";
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

  /** By what is stored alone. */
  get state(): State {
    return this.#shadow;
  }

  follow(block: Block, state: State): void {
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

  atEnd(model: Model, blocks: readonly Block[], state: State): void {
    this.#compare(state);
    const hash = stateHash(state);
    decideAgain(new Redecider(new State(), GENESIS), blocks, hash, "redecide");
    if (!this.#saved) return;
    const { text, head, block } = this.#saved;
    const restored = restore(JSON.parse(text) as Snapshot);
    decideAgain(new Redecider(restored, head), blocks.slice(block), hash, "snapshot-continues");
    // What is counted and not written down is in no hash.
    compareStates(model, restored);
    if (blocks.length > block) this.#tally.count("snapshot continued");
  }

  /** Event by event, because what can be asked about one is asked in the state before it. */
  replay(block: Block, events: readonly Recorded[]): void {
    const shadow = this.#shadow;
    if (this.#ledgerId === "") this.#ledgerId = block.hash;
    for (const recorded of events) {
      const { event, now } = recorded;
      // The table does not know of inputs.
      if (event.kind === "TaskAssigned" && isRanked(shadow, event)) checkTable(shadow, event, now);
      if (this.#blocks % BLOCKS_PER_RECORD === 0) checkRecord(shadow, recorded, this.#ledgerId);
      apply(shadow, event, now);
    }
  }

  #compare(state: State): void {
    const [live, shadow] = [stateHash(state), stateHash(this.#shadow)];
    demand(live === shadow, "replay", () => `replaying gives the state ${shadow}, not ${live}`);
  }
}

function checkRecord(state: State, recorded: Recorded, ledgerId: string): void {
  const record = renderRecord(state, recorded, ledgerId);
  demand(
    record.logicalTime === recorded.seq &&
      record.time === recorded.now &&
      record.kind === recorded.event.kind,
    "record",
    () => `event ${recorded.seq} is rendered as ${JSON.stringify(record)}`,
  );
}

/** Whether it went to the first of all candidates: those who make roots and followers are found in another way. */
function isRanked(state: State, { run, node, reason }: TaskAssigned): boolean {
  const data = state.runs.get(run)?.data;
  return !data || (!data.territories.isRoot(node) && reason.type !== "Affinity");
}

/** The full table of candidates, derived by replaying, says what the event says. */
function checkTable(state: State, event: TaskAssigned, now: number): void {
  const rows = whyHere(state, state.tasks(event.run), event.node, now);
  const idOf = (number: number) => state.fleet.workers[number]?.id;
  const first = rows.find(({ rank }) => rank === 1)?.worker;
  const second = rows.find(({ rank }) => rank === 2)?.worker;
  const rejected = REJECTIONS.map((code) => rows.filter(({ rejection }) => rejection === code).length);
  demand(
    first === idOf(event.worker) &&
      second === idOf(event.runnerUp) &&
      rejected.every((count, code) => count === (event.rejected[code] ?? 0)),
    "table",
    () => `the table of task ${event.run}/${event.node} says ${JSON.stringify(rows)}`,
    event,
  );
}

function decideAgain(redecider: Redecider, blocks: readonly Block[], hash: string, invariant: string): void {
  for (const block of blocks) {
    const seq = redecider.check(block);
    demand(seq === undefined, invariant, () => `event ${seq} would be decided otherwise`);
  }
  const again = stateHash(redecider.state);
  demand(again === hash, invariant, () => `deciding again ends in the state ${again}, not ${hash}`);
}
