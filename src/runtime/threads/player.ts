import { failAll, failExhausted, type Waits } from "../deadlock.ts";
import { type Fiber, outcomeOfFiber } from "../fiber.ts";
import type { Kernel } from "../kernel.ts";
import type { External, Loop } from "../loop.ts";
import { Outside } from "../outside.ts";
import {
  CANCEL,
  COMMAND,
  DEADLOCKED,
  digestOf,
  FAILED_EXHAUSTED,
  LAUNCH,
  LETTER,
  LOADED,
  MAIL,
  OUTSIDE,
  RECHARGE,
  REPORT,
  RUN,
  STALLED,
  STOLE,
  TIMERS,
} from "./chance.ts";
import { LETTERS } from "./inbox.ts";
import { type Letter, withChannels } from "./letters.ts";
import type { Memory } from "./memory.ts";
import { COMMANDS, FREE, IS_REPORTED, SERIAL, STATE } from "./record.ts";
import type { Script } from "./script.ts";
import type { Equipped } from "./station.ts";

/** What happens from outside, by the numbers in a recording. */
const EXTERNAL: Readonly<Record<External, number>> = {
  launch: LAUNCH,
  cancel: CANCEL,
  recharge: RECHARGE,
};

/** What the players of a replay have in common. */
export interface Stage {
  /** Letters that were sent and not read yet. */
  readonly letters: Map<string, Letter>;
  /** Of each processor the records by their serials. */
  readonly records: readonly Map<number, number>[];
  /** Who waits for what, on all processors. */
  waits(): readonly Waits[];
  /** Says that the program does something else than in the recording. */
  diverge(words: string): void;
  /** Goes on until something is about to happen from outside. */
  reach(script: Script, kind: number, root: number): void;
  /** Says that something may be able to go on. */
  poke(): void;
}

/** One of the processors of a replay: does what is in its log, step by step, as soon as what a step needs is there. */
export class Player implements Loop {
  readonly me: number;
  readonly script: Script;
  readonly #stage: Stage;
  readonly #memory: Memory;
  readonly #outside = new Outside();
  readonly #kernel: Kernel;
  readonly #parts: Equipped;
  #awaited = 0;
  #stolen = -1;

  constructor(kernel: Kernel, parts: Equipped, script: Script, stage: Stage) {
    this.me = parts.station.me;
    this.#kernel = kernel;
    this.#parts = parts;
    this.script = script;
    this.#memory = parts.station.memory;
    this.#stage = stage;
  }

  nowMs(): number {
    return this.script.nowUs / 1_000;
  }

  sliceEndMs(): number {
    return this.nowMs();
  }

  woken(): void {
    this.#stage.poke();
  }

  offered(): void {
    this.#stage.poke();
  }

  outside(
    promise: PromiseLike<unknown>,
    settle: (value: unknown, thrown?: { error: unknown }) => void,
  ): () => void {
    const number = this.#awaited++;
    return this.#outside.await(promise, (value, thrown) =>
      this.script.arrive(OUTSIDE, number, -1, () => settle(value, thrown)),
    );
  }

  external(what: External, root: number): void {
    this.#stage.reach(this.script, EXTERNAL[what], root);
  }

  close(): void {}

  /** Does the next step, if what it needs is there. */
  step(): boolean {
    const [kind, , a = -1, b = -1, c = -1] = this.script.peek();
    const act = this.#ready(kind as number, a, b, c);
    if (act === undefined) return false;
    this.script.next();
    act();
    return true;
  }

  /** What is to be done, or nothing as long as it cannot be. */
  #ready(kind: number, a: number, b: number, c: number): (() => void) | undefined {
    if (kind === RUN) return () => this.#run(a === 1);
    if (kind === TIMERS) return () => this.#kernel.timers.fireUntil(this.nowMs());
    if (kind === STALLED) return () => void this.#kernel.stalled();
    if (kind === FAILED_EXHAUSTED) return () => void failExhausted(this.#kernel);
    if (kind === DEADLOCKED) return () => void failAll(this.#kernel, this.#stage.waits());
    if (kind === OUTSIDE) return this.script.arrival(kind, a, -1);
    if (kind === LOADED) return this.script.arrival(kind, a, b);
    if (kind === LETTER) return this.#letter(`${LETTERS[a]} ${this.me} ${b} ${c}`);
    if (kind === MAIL) return this.#letter(`mail ${this.me} ${a} ${b}`);
    if (kind === STOLE) return this.#steal(a, b);
    const record = this.#stage.records[kind === REPORT ? this.me : a]?.get(kind === REPORT ? a : b);
    if (record === undefined) return undefined;
    if (kind === REPORT) return this.#report(record, b);
    return kind === COMMAND ? this.#command(record, b, c) : undefined;
  }

  /** One for a fiber that is over comes too late to do anything, and here perhaps not at all. */
  #command(record: number, serial: number, commands: number): (() => void) | undefined {
    const { words } = this.#memory;
    const at = this.#memory.recordAt(record);
    if (words[at + STATE] === FREE || words[at + SERIAL] !== serial) return () => undefined;
    if (((words[at + COMMANDS] as number) & commands) !== commands) return undefined;
    return () => {
      Atomics.and(words, at + COMMANDS, ~commands);
      this.#parts.inbox.command(record, commands);
    };
  }

  #letter(key: string): (() => void) | undefined {
    const letter = this.#stage.letters.get(key);
    if (letter === undefined) return undefined;
    return () => {
      this.#stage.letters.delete(key);
      this.#parts.inbox.take(withChannels(letter, this.#parts.border));
    };
  }

  #report(record: number, state: number): (() => void) | undefined {
    const { words } = this.#memory;
    const at = this.#memory.recordAt(record);
    if (words[at + IS_REPORTED] !== 1 || words[at + STATE] !== state) return undefined;
    return () => {
      words[at + IS_REPORTED] = 0;
      words[this.#memory.reportsAt(this.me)] = 0;
      this.#parts.inbox.report(record, state);
    };
  }

  #steal(victim: number, serial: number): (() => void) | undefined {
    const deque = this.#memory.dequeOf(victim);
    const record = deque.peek();
    if (record < 0 || this.#memory.words[this.#memory.recordAt(record) + SERIAL] !== serial) return undefined;
    return () => {
      this.#memory.count(this.me, "steals");
      const { stole } = this.#kernel.settings.observer;
      stole?.({ fiber: this.#memory.fiberOf(record), thief: this.me, victim, atMs: this.nowMs() });
      this.#stolen = this.#parts.guests.take(deque.steal());
    };
  }

  #run(isStolen: boolean): void {
    const { processor, table, meter } = this.#kernel;
    const slot = isStolen ? this.#stolen : processor.pick();
    if (slot < 0) {
      this.script.diverge("there is nothing to run, where the recording has a slice");
      return;
    }
    const fiber = table.fiber[slot] as Fiber;
    const id = table.idOf(slot);
    this.#parts.deque.show();
    this.#parts.deque.takeNews();
    this.#kernel.run(slot);
    const outcome = outcomeOfFiber(fiber);
    const state = outcome === undefined ? (table.state[slot] as number) : -1;
    this.script.compare(
      id,
      meter.sliceOps,
      state,
      outcome === undefined ? 0 : digestOf(outcome.rank, outcome.value),
    );
  }
}
