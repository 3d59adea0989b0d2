import { Account, COMPONENTS, type Component } from "../budget.ts";
import { BudgetExhausted, RuntimeError } from "../errors.ts";
import { type AnyFunction, type Fiber, slotOfFiber, whenOver } from "../fiber.ts";
import { NO_HOLDINGS } from "../holdings.ts";
import type { Kernel } from "../kernel.ts";
import { type Exhaustion, NurseryCore } from "../nursery-core.ts";
import { CANCELLED, EXHAUSTED, FAILED, SUCCEEDED, WAS_CANCELLED } from "../states.ts";
import { type Chance, COMMANDED, IMPORTED, LOADED } from "./chance.ts";
import { copyError } from "./copied-errors.ts";
import type { Directory } from "./directory.ts";
import type { Letter, Post } from "./letters.ts";
import { report } from "./lists.ts";
import type { Memory } from "./memory.ts";
import {
  ASK,
  ASKS,
  CANCEL,
  COMMANDS,
  DEPTH,
  DROP,
  ENDED,
  FAIL,
  FUNCTION,
  GIVEN,
  LACKS,
  MOVED,
  PAYLOAD,
  PAYLOAD_END,
  POSTED,
  RANK,
  RECHARGE,
  readBudgetInto,
  SERIAL,
  STATE,
  TAKEN,
  THIEF,
  writeBudget,
} from "./record.ts";
import type { Station } from "./station.ts";
import { readValues, writeValue } from "./values.ts";

/** A stolen fiber that cannot start yet: its module is being imported, or its arguments are on their way. */
interface Expected {
  fn: AnyFunction | undefined;
  args: readonly unknown[] | undefined;
}

/** Fibers of other threads that this one has stolen. Each is a fiber here, and a record at its home. */
export class Guests {
  readonly #kernel: Kernel;
  readonly #memory: Memory;
  readonly #chance: Chance | undefined;
  readonly #me: number;
  readonly #directory: Directory;
  readonly #post: Post;
  /** They are children of a nursery whose pool is empty but for the moment in which one gives back what it had. */
  readonly #core: NurseryCore;
  readonly #fibers = new Map<number, Fiber>();
  readonly #records = new Map<number, number>();
  readonly #expected = new Map<number, Expected>();
  /** Those that ran out, and wait for what their homes say. */
  readonly #lacking = new Map<number, Component>();
  readonly #budget = new Account();

  constructor(kernel: Kernel, { memory, me, directory, post, chance }: Station) {
    this.#kernel = kernel;
    this.#chance = chance;
    this.#memory = memory;
    this.#me = me;
    this.#directory = directory;
    this.#post = post;
    const nobody = { slot: -1, fiber: undefined, below: undefined };
    this.#core = new NurseryCore(kernel.nextNurseryId(), nobody, new Account(), NO_HOLDINGS, {
      onExhausted: (exhaustion) => {
        // Its home counts that as well.
        kernel.counters.exhausted--;
        return this.#askHome(exhaustion);
      },
    });
    kernel.tops.push(this.#core);
  }

  /** The nursery of all of them. */
  get nursery(): NurseryCore {
    return this.#core;
  }

  /** How many cannot start yet. */
  get expected(): number {
    return this.#expected.size;
  }

  /** How many wait for other threads, or for a module. */
  get waiting(): number {
    return this.#expected.size + this.#lacking.size;
  }

  /** Makes a fiber of a record that was stolen. Gives its slot, or -1 where it cannot start yet, or not at all. */
  take(record: number): number {
    const { words } = this.#memory;
    const at = this.#memory.recordAt(record);
    Atomics.store(words, at + THIEF, this.#me + 1);
    Atomics.store(words, at + STATE, TAKEN);
    if (this.#isCommanded(at)) {
      this.#giveBackUnstarted(record, WAS_CANCELLED, undefined);
      return -1;
    }
    const fn = this.#functionOf(words[at + FUNCTION] as number);
    const args = words[at + ASK] === 0 ? readValues(words, at + PAYLOAD) : undefined;
    if (typeof fn === "function" && args !== undefined) return this.#start(record, fn, args);
    this.#expect(record, fn, args);
    return -1;
  }

  /** The function, or a promise of it where its module is still to be imported. */
  #functionOf(number: number): AnyFunction | Promise<AnyFunction> {
    const fn = this.#directory.functionOf(number);
    const isImported = () => (typeof fn === "function" ? 1 : 0);
    return this.#chance?.decide(IMPORTED, isImported) === 0 ? Promise.resolve(fn) : fn;
  }

  #isCommanded(at: number): boolean {
    const actual = () => (Atomics.load(this.#memory.words, at + COMMANDS) !== 0 ? 1 : 0);
    return (this.#chance === undefined ? actual() : this.#chance.decide(COMMANDED, actual)) === 1;
  }

  #expect(
    record: number,
    fn: AnyFunction | Promise<AnyFunction>,
    args: readonly unknown[] | undefined,
  ): void {
    const expected: Expected = { fn: typeof fn === "function" ? fn : undefined, args };
    this.#expected.set(record, expected);
    if (args === undefined) this.#reportAs(record, ASKS);
    if (typeof fn === "function") return;
    const act = this.#whenLoaded(record);
    fn.then(
      (loaded) =>
        act(() => {
          expected.fn = loaded;
          this.#startIfComplete(record, expected);
        }),
      (error: unknown) =>
        act(() => {
          if (this.#expected.get(record) !== expected) return;
          this.#expected.delete(record);
          this.#giveBackUnstarted(record, FAILED, error);
        }),
    );
  }

  /** What does something for a record whose module was imported. By then the record may be used for another fiber. */
  #whenLoaded(record: number): (act: () => void) => void {
    const serial = this.#memory.words[this.#memory.recordAt(record) + SERIAL] as number;
    const chance = this.#chance;
    if (chance === undefined) return (act) => act();
    return (act) => chance.arrive(LOADED, this.#memory.homeOf(record), serial, act);
  }

  receiveLetter({ record, serial, value }: Letter): void {
    const expected = this.#expected.get(record);
    const isLate = this.#memory.words[this.#memory.recordAt(record) + SERIAL] !== serial;
    if (expected === undefined || isLate) return;
    expected.args = value as readonly unknown[];
    this.#startIfComplete(record, expected);
  }

  #startIfComplete(record: number, expected: Expected): void {
    const { fn, args } = expected;
    if (fn === undefined || args === undefined || this.#expected.get(record) !== expected) return;
    this.#expected.delete(record);
    Atomics.store(this.#memory.words, this.#memory.recordAt(record) + STATE, TAKEN);
    this.#kernel.enqueue(this.#start(record, fn, args));
  }

  #start(record: number, fn: AnyFunction, args: readonly unknown[]): number {
    const { words, floats } = this.#memory;
    const at = this.#memory.recordAt(record);
    const holdings = this.#directory.readHoldings(at);
    const fiber = this.#kernel.admit(this.#core, fn, args, holdings, words[at + DEPTH] as number);
    const slot = slotOfFiber(fiber);
    readBudgetInto(words, floats, at + GIVEN, this.#budget);
    this.#kernel.accounts.set(slot, this.#budget);
    this.#kernel.table.priority[slot] = 0;
    this.#fibers.set(record, fiber);
    this.#records.set(slot, record);
    this.#memory.count(this.#me, "started");
    this.#kernel.table.aliases.set(slot, this.#memory.fiberOf(record));
    // Its home counts it.
    this.#kernel.counters.spawned--;
    whenOver(fiber, (rank, value) => this.#ended(record, slot, rank, value));
    return slot;
  }

  #ended(record: number, slot: number, rank: number, value: unknown): void {
    const { table, counters } = this.#kernel;
    table.aliases.delete(slot);
    if (table.state[slot] === CANCELLED) counters.cancelled--;
    else counters.completed--;
    this.#fibers.delete(record);
    this.#records.delete(slot);
    this.#lacking.delete(record);
    const { pool } = this.#core;
    this.#giveBack(record, rank, value, pool);
    pool.ops = pool.memory = pool.spawnCount = pool.channelOps = pool.syscalls = 0;
  }

  #giveBackUnstarted(record: number, rank: number, value: unknown): void {
    const { words, floats } = this.#memory;
    readBudgetInto(words, floats, this.#memory.recordAt(record) + GIVEN, this.#budget);
    this.#giveBack(record, rank, value, this.#budget);
  }

  /** Writes what came of it and what it did not use, and tells its home. */
  #giveBack(record: number, rank: number, value: unknown, unused: Account): void {
    const { words, floats } = this.#memory;
    const at = this.#memory.recordAt(record);
    writeBudget(words, floats, at + MOVED, unused);
    words[at + RANK] = rank;
    if (writeValue(words, at + PAYLOAD, at + PAYLOAD_END, value) >= 0) {
      this.#reportAs(record, ENDED);
      return;
    }
    const letter = {
      to: this.#memory.homeOf(record),
      record,
      serial: words[at + SERIAL] as number,
      kind: "outcome",
    } as const;
    Atomics.store(words, at + STATE, POSTED);
    try {
      const copy = rank === SUCCEEDED ? value : copyError(value);
      this.#post.send({ ...letter, value: copy });
    } catch (cause) {
      words[at + RANK] = Math.max(rank, FAILED);
      const error = new RuntimeError(
        "InvalidArgument",
        "what a portable function gives, or throws, has to be structured-clonable",
        { cause: new Error(cause instanceof Error ? cause.message : String(cause)) },
      );
      this.#post.send({ ...letter, value: copyError(error) });
    }
  }

  #reportAs(record: number, state: number): void {
    Atomics.store(this.#memory.words, this.#memory.recordAt(record) + STATE, state);
    report(this.#memory, record);
  }

  /** What one lacks is for its home to give: what its nursery there says, or its body. */
  #askHome({ fiber, component }: Exhaustion): "wait" {
    const record = this.#records.get(slotOfFiber(fiber as Fiber)) as number;
    this.#lacking.set(record, component);
    this.#memory.words[this.#memory.recordAt(record) + RANK] = COMPONENTS.indexOf(component);
    this.#reportAs(record, LACKS);
    return "wait";
  }

  /** Does what its home says. What is not here any more has ended meanwhile. */
  obey(record: number, commands: number): void {
    const fiber = this.#fibers.get(record);
    const slot = fiber === undefined ? -1 : slotOfFiber(fiber);
    if (slot >= 0 && (commands & RECHARGE) !== 0) this.#recharge(record, slot);
    if (slot >= 0 && (commands & FAIL) !== 0) this.#fail(record, slot);
    if ((commands & (CANCEL | DROP)) === 0) return;
    const wasExpected = this.#expected.delete(record);
    if ((commands & DROP) !== 0) return;
    if (wasExpected) this.#giveBackUnstarted(record, WAS_CANCELLED, undefined);
    else if (slot >= 0) {
      this.#lacking.delete(record);
      this.#kernel.cancel(slot);
    }
  }

  #recharge(record: number, slot: number): void {
    const { words, floats } = this.#memory;
    const component = this.#lacking.get(record);
    readBudgetInto(words, floats, this.#memory.recordAt(record) + MOVED, this.#budget);
    const { pool } = this.#core;
    pool.give(this.#budget);
    this.#lacking.delete(record);
    Atomics.store(words, this.#memory.recordAt(record) + STATE, TAKEN);
    this.#kernel.exhaustions.recharge(slot, this.#budget.toBudget(), pool);
    this.#kernel.counters.recharged--;
    // Still not enough: more is asked for.
    if (component !== undefined && this.#kernel.table.state[slot] === EXHAUSTED)
      this.#askHome({ fiber: this.#fibers.get(record) as Fiber, component });
  }

  #fail(record: number, slot: number): void {
    const component = this.#lacking.get(record);
    if (component === undefined || this.#kernel.table.state[slot] !== EXHAUSTED) return;
    this.#lacking.delete(record);
    this.#kernel.exhaustions.forget(slot);
    this.#kernel.throwInto(
      slot,
      new BudgetExhausted(
        component,
        `the fiber has no ${component} left, and nobody can recharge it: give it more when it is spawned, or answer onExhausted`,
      ),
    );
    this.#kernel.resume(slot);
  }
}
