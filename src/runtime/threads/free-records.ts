import type { Memory } from "./memory.ts";
import { COMMANDS, FREE, STATE } from "./record.ts";

/**
 * Which records of a processor are free. One to whose thief a command was sent is free again only when the thief has
 * taken it out of its list.
 */
export class FreeRecords {
  readonly #memory: Memory;
  readonly #first: number;
  readonly #free: Int32Array;
  readonly #isListed: Uint8Array;
  #count = 0;
  #listed: number[] = [];

  constructor(memory: Memory, processor: number) {
    this.#memory = memory;
    const { records } = memory.shared;
    this.#first = processor * records;
    this.#free = new Int32Array(records);
    this.#isListed = new Uint8Array(records);
    // A thread that was here before may have left some that others are still running.
    for (let own = records - 1; own >= 0; own--)
      if (Atomics.load(memory.words, memory.recordAt(this.#first + own) + STATE) === FREE)
        this.#free[this.#count++] = own;
      else this.#isListed[own] = 1;
  }

  /** The number of a record among those of its processor. */
  own(record: number): number {
    return record - this.#first;
  }

  /** -1 where there is none. */
  take(): number {
    if (this.#count === 0 && this.#listed.length > 0) this.#look();
    return this.#count === 0 ? -1 : this.#first + (this.#free[--this.#count] as number);
  }

  give(record: number): void {
    const own = record - this.#first;
    const at = this.#memory.recordAt(record);
    if (this.#isListed[own] === 1 && Atomics.load(this.#memory.words, at + COMMANDS) !== 0) {
      this.#listed.push(record);
      return;
    }
    this.#isListed[own] = 0;
    this.#memory.words[at + COMMANDS] = 0;
    this.#memory.words[at + STATE] = FREE;
    this.#free[this.#count++] = own;
  }

  isListed(record: number): void {
    this.#isListed[record - this.#first] = 1;
  }

  #look(): void {
    const listed = this.#listed;
    this.#listed = [];
    for (const record of listed) this.give(record);
  }
}
