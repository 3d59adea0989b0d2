import { ChannelOperation } from "./channel.ts";
import { RuntimeError } from "./errors.ts";
import { DONE, Instruction, type Progress, STUCK } from "./instruction.ts";
import type { Kernel } from "./kernel.ts";
import { Sleep } from "./waits.ts";

type ValueOf<C> = C extends Instruction<infer R> ? R : never;

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
  readonly #cases: readonly (ChannelOperation<unknown, unknown> | Sleep)[];
  #chosen = -1;

  constructor(cases: C) {
    super();
    if (!Array.isArray(cases) || cases.length === 0 || !cases.every(isSelectable))
      throw new RuntimeError(
        "InvalidArgument",
        "select takes an array of channel.send(…), channel.recv() and sleep(…)",
      );
    this.#cases = cases as readonly unknown[] as readonly (ChannelOperation<unknown, unknown> | Sleep)[];
  }

  start(kernel: Kernel, slot: number): Progress {
    this.#chosen = -1;
    for (const one of this.#cases) if (one instanceof ChannelOperation) one.check(kernel, slot);
    const lacking = kernel.charge(slot, "channelOps", 1);
    if (lacking !== undefined) return lacking;
    if (this.#attempt(kernel.nextSelect())) return DONE;
    for (const [index, one] of this.#cases.entries()) this.#watch(kernel, slot, index, one);
    return STUCK;
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

  #watch(kernel: Kernel, slot: number, index: number, one: ChannelOperation<unknown, unknown> | Sleep): void {
    const claim = () => {
      if (this.#chosen >= 0) return false;
      this.#chosen = index;
      return true;
    };
    const wake = () => {
      this.#leave(index);
      kernel.wake(slot);
    };
    if (one instanceof ChannelOperation) one.waitFor({ claim, wake });
    else one.watch(kernel, () => claim() && wake());
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
    this.#leave(-1);
  }

  describe(): string {
    return this.#cases.map((one) => one.describe()).join(" or ");
  }
}

function isSelectable(one: unknown): boolean {
  return one instanceof ChannelOperation || one instanceof Sleep;
}
