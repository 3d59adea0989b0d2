import {
  type Block,
  BlockWriter,
  decodeEvent,
  GENESIS,
  type Head,
  headOf,
  type Input,
  isDecision,
  type LedgerEvent,
} from "../ledger/index.ts";
import { apply } from "./apply.ts";
import { State } from "./state.ts";
import { step } from "./step.ts";

/** An event with its place in the ledger. */
export interface Recorded<Of = Block> {
  readonly seq: number;
  readonly now: number;
  readonly block: Of;
  readonly event: LedgerEvent;
}

/** The events of a block that the chain has accepted. */
export function eventsOf<Of extends Pick<Block, "seq" | "now" | "line">>(block: Of): Recorded<Of>[] {
  const { events } = JSON.parse(block.line) as { events: unknown[] };
  return events.map((wire, at) => ({ seq: block.seq + at, now: block.now, block, event: decodeEvent(wire) }));
}

/** Applies a block; with `to`, only as far as that sequence. */
export function replayBlock(state: State, block: Block, to: number = Number.POSITIVE_INFINITY): void {
  for (const { seq, now, event } of eventsOf(block)) if (seq <= to) apply(state, event, now);
}

/**
 * Decides again: feeds only the inputs and times of each block to the step and demands the same block, byte
 * for byte.
 */
export class Redecider {
  readonly #state: State;
  #head: Head;

  constructor(state: State = new State(), head: Head = GENESIS) {
    this.#state = state;
    this.#head = head;
  }

  get state(): State {
    return this.#state;
  }

  /** Takes a block as it was recorded: other rules decided it. */
  skip(block: Block): void {
    replayBlock(this.#state, block);
    this.#head = headOf(block);
  }

  /** The sequence of the first event that would have been decided otherwise, or undefined. */
  check(block: Block): number | undefined {
    const recorded = eventsOf(block);
    const inputs = recorded.map(({ event }) => event).filter((event): event is Input => !isDecision(event));
    const writer = new BlockWriter();
    step(this.#state, block.now, inputs, (event) => writer.add(event));
    const again = writer.seal(this.#head, block.epoch, block.now);
    this.#head = headOf(block);
    if (again.line === block.line) return undefined;
    const decided = eventsOf(again);
    const at = recorded.findIndex(
      ({ event }, index) => JSON.stringify(event) !== JSON.stringify(decided[index]?.event),
    );
    return block.seq + (at === -1 ? recorded.length : at);
  }
}
