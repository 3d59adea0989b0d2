import type { Channel } from "./channel.ts";
import { ChannelOperation, type Claimant, type Keeper, type Visit } from "./channel-operation.ts";
import { RuntimeError } from "./errors.ts";
import { DONE, Instruction, type Progress, STUCK } from "./instruction.ts";
import type { Kernel } from "./kernel.ts";
import { Sleep } from "./waits.ts";

type ValueOf<C> = C extends Instruction<infer R> ? R : never;

type Case = ChannelOperation<unknown, unknown> | Sleep;

/** Which of the cases it was, and what came of it. */
export type Selected<C extends readonly unknown[]> = {
  [K in keyof C]: {
    readonly index: K extends `${infer N extends number}` ? N : number;
    readonly value: ValueOf<C[K]>;
  };
}[number];

/**
 * Waits for the first of several sends, receives and sleeps; the others do not happen. Of several that are possible at once
 * each has its turn. It costs one channel operation.
 */
export function select<const C extends readonly Instruction<unknown>[]>(cases: C): Instruction<Selected<C>> {
  return new Select<C>(cases);
}

class Select<C extends readonly Instruction<unknown>[]> extends Instruction<Selected<C>> {
  readonly #cases: readonly Case[];
  #chosen = -1;
  /** Where its channels are on another thread. */
  #visit: Visit | undefined;

  constructor(cases: C) {
    super();
    if (!Array.isArray(cases) || cases.length === 0 || !cases.every(isSelectable))
      throw new RuntimeError(
        "InvalidArgument",
        "select takes an array of channel.send(…), channel.recv() and sleep(…)",
      );
    this.#cases = cases as readonly unknown[] as readonly Case[];
  }

  start(kernel: Kernel, slot: number): Progress {
    this.#chosen = -1;
    this.#visit = undefined;
    for (const one of this.#cases) if (one instanceof ChannelOperation) one.check(kernel, slot);
    const lacking = kernel.meter.charge(slot, "channelOps", 1);
    if (lacking !== undefined) return lacking;
    if (this.#attempt(kernel.nextSelect())) return DONE;
    if (this.#operations.some(({ channel }) => channel.keeper !== undefined)) this.#goAway(kernel);
    for (const [index, one] of this.#cases.entries()) this.#watch(kernel, slot, index, one);
    return STUCK;
  }

  get #operations(): ChannelOperation<unknown, unknown>[] {
    return this.#cases.filter((one) => one instanceof ChannelOperation);
  }

  /** One thread has to have all of the channels, or two of the cases could happen. */
  #goAway(kernel: Kernel): void {
    if (this.#visit !== undefined) return;
    const operations = this.#operations;
    for (const { channel } of operations) kernel.border?.send(channel as Channel<unknown>);
    const keeper = operations[0]?.channel.keeper as Keeper;
    // One of its own channels may just have taken it along.
    this.#visit ??= keeper.visit(operations);
  }

  /** Begins with another case each time, or the first one would starve the others. */
  #attempt(first: number): boolean {
    const { length } = this.#cases;
    for (let i = 0; i < length; i++) {
      const index = (first + i) % length;
      const one = this.#cases[index];
      if (!(one instanceof ChannelOperation) || !one.attempt()) continue;
      this.#chosen = index;
      return true;
    }
    return false;
  }

  #watch(kernel: Kernel, slot: number, index: number, one: Case): void {
    const claimant: Claimant = {
      claim: () => {
        if (this.#chosen >= 0) return false;
        this.#chosen = index;
        return true;
      },
      wake: () => {
        this.#leave(index);
        kernel.wake(slot);
      },
      follow: () => this.#goAway(kernel),
    };
    if (one instanceof Sleep) one.watch(kernel, () => this.#late(claimant));
    else if (this.#visit === undefined) one.waitFor(claimant);
    else one.setClaimant(claimant);
  }

  /** The time is over, unless another thread has done one of the cases before. */
  #late(claimant: Claimant): void {
    const end = () => {
      if (claimant.claim()) claimant.wake();
    };
    if (this.#visit === undefined) end();
    else this.#visit.withdraw(end);
  }

  #leave(but: number): void {
    for (const [index, one] of this.#cases.entries()) if (index !== but) one.abandon();
  }

  result(): Selected<C> {
    const index = this.#chosen;
    const value = this.#cases[index]?.result();
    return { index, value } as Selected<C>;
  }

  abandon(): void {
    this.#visit?.forget();
    this.#leave(-1);
  }

  describe(): string {
    return this.#cases.map((one) => one.describe()).join(" or ");
  }
}

function isSelectable(one: unknown): boolean {
  return one instanceof ChannelOperation || one instanceof Sleep;
}
