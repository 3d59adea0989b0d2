import { type Block, BlockWriter, GENESIS, type Head, headOf } from "../ledger/index.ts";
import {
  nextWakeAt,
  type Reply,
  replayBlock,
  restore,
  type Snapshot,
  State,
  type Stimulus,
  step,
  takeSnapshot,
} from "../scheduler/index.ts";
import type { Agenda } from "./agenda.ts";
import type { Random } from "./random.ts";

/** Who wants to know what became of a stimulus, after it has been committed. */
export type OnReply = (reply: Reply) => void;

interface Arrival {
  readonly stimulus: Stimulus;
  readonly onReply: OnReply | undefined;
}

/** A turn that was decided: all that it was given and all that came of it. */
export interface Turn {
  readonly now: number;
  readonly stimuli: readonly Stimulus[];
  readonly replies: readonly Reply[];
  /** Undefined if it recorded nothing. */
  readonly block: Block | undefined;
}

export interface DriverEvents {
  /** Before any effect: throws if an invariant is broken. */
  onCommitted(turn: Turn, state: State): void;
  /** Effects of a block that has been committed. */
  onEffects(block: Block): void;
  onRestarted(blockLost: boolean): void;
}

const BLOCKS_PER_SNAPSHOT = 15;

/**
 * Turns the loop as a server does: gathers what arrives, steps, commits, and only then lets effects out. One
 * block is in flight at most. It can be killed at any time: what was not committed is then forgotten.
 */
export class Driver {
  state: State = new State();
  readonly blocks: Block[] = [];
  steps = 0;
  #head: Head = GENESIS;
  #now = 0;
  #wallOffsetMs = 0;
  #inbox: Arrival[] = [];
  #inFlight: { readonly turn: Turn; readonly arrivals: readonly Arrival[] } | undefined;
  #turnPlanned = false;
  #wakeAt = Number.POSITIVE_INFINITY;
  /** Grows with every restart: what was planned before it no longer counts. */
  #life = 0;
  #diesInCommit = false;
  #saved: { readonly text: string; readonly blocks: number } | undefined;
  readonly #agenda: Agenda;
  readonly #random: Random;
  readonly #events: DriverEvents;

  constructor(agenda: Agenda, random: Random, events: DriverEvents) {
    this.#agenda = agenda;
    this.#random = random;
    this.#events = events;
  }

  wallMs(): number {
    return this.#agenda.nowMs + this.#wallOffsetMs;
  }

  /** How long the clock that decisions see stands still, because the wall clock was set back. */
  get clockLagMs(): number {
    return Math.max(0, this.#now - this.wallMs());
  }

  get isBusy(): boolean {
    return this.#inbox.length > 0 || this.#inFlight !== undefined;
  }

  jumpClock(byMs: number): void {
    this.#wallOffsetMs += byMs;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.#planWake();
  }

  receive(stimulus: Stimulus, onReply?: OnReply): void {
    this.#inbox.push({ stimulus, onReply });
    this.#planTurn();
  }

  /** The process dies, at once or while its next block is on the way to the store, and another takes over. */
  restart(inCommit: boolean): void {
    if (inCommit) this.#diesInCommit = true;
    else this.#restart();
  }

  #restart(): void {
    const inFlight = this.#inFlight;
    const blockLost = inFlight !== undefined && this.#random.chance(0.5);
    if (inFlight && !blockLost) this.#store(inFlight.turn);
    this.#life++;
    this.#diesInCommit = false;
    this.#inFlight = undefined;
    this.#inbox = [];
    this.#turnPlanned = false;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.state = this.#recover();
    this.#now = this.state.now;
    this.#events.onRestarted(blockLost);
    this.#planTurn();
  }

  /** From the beginning, or from a snapshot that was written on the way. */
  #recover(): State {
    const saved = this.#random.chance(0.5) ? this.#saved : undefined;
    const state = saved ? restore(JSON.parse(saved.text) as Snapshot) : new State();
    for (const block of this.blocks.slice(saved?.blocks ?? 0)) replayBlock(state, block);
    return state;
  }

  #planTurn(): void {
    if (this.#turnPlanned || this.#inFlight) return;
    this.#turnPlanned = true;
    this.#plan(this.#random.int(0, 3), () => {
      this.#turnPlanned = false;
      this.#takeTurn();
    });
  }

  #takeTurn(): void {
    const arrivals = this.#inbox;
    this.#inbox = [];
    this.#now = Math.max(this.#now, this.wallMs());
    this.steps++;
    const writer = new BlockWriter();
    const stimuli = arrivals.map(({ stimulus }) => stimulus);
    const replies = step(this.state, this.#now, stimuli, (event) => writer.add(event));
    const block = writer.count > 0 ? writer.seal(this.#head, 1, this.#now) : undefined;
    const turn = { now: this.#now, stimuli, replies, block };
    if (!block) {
      this.#finish(turn, arrivals);
      return;
    }
    this.#inFlight = { turn, arrivals };
    if (this.#diesInCommit) this.#plan(0, () => this.#restart());
    this.#plan(this.#random.int(1, 4), () => {
      this.#inFlight = undefined;
      this.#finish(turn, arrivals);
    });
  }

  #finish(turn: Turn, arrivals: readonly Arrival[]): void {
    this.#store(turn);
    if (turn.block) this.#events.onEffects(turn.block);
    for (const [index, { onReply }] of arrivals.entries()) onReply?.(turn.replies[index] as Reply);
    if (this.#inbox.length > 0) this.#planTurn();
    this.#planWake();
  }

  #store(turn: Turn): void {
    if (turn.block) {
      this.blocks.push(turn.block);
      this.#head = headOf(turn.block);
      if (this.#random.chance(1 / BLOCKS_PER_SNAPSHOT)) {
        this.#saved = { text: JSON.stringify(takeSnapshot(this.state)), blocks: this.blocks.length };
      }
    }
    this.#events.onCommitted(turn, this.state);
  }

  #planWake(): void {
    const wakeAt = nextWakeAt(this.state, this.#now) ?? Number.POSITIVE_INFINITY;
    if (wakeAt >= this.#wakeAt || wakeAt === Number.POSITIVE_INFINITY) return;
    this.#wakeAt = wakeAt;
    this.#plan(wakeAt - this.wallMs(), () => {
      if (this.#wakeAt !== wakeAt) return;
      this.#wakeAt = Number.POSITIVE_INFINITY;
      this.#planTurn();
    });
  }

  #plan(delayMs: number, act: () => void): void {
    const life = this.#life;
    this.#agenda.in(Math.max(0, delayMs), () => {
      if (life === this.#life) act();
    });
  }
}
