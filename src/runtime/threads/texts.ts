import { type Memory, MOST_TEXTS, TEXT_BYTES } from "./memory.ts";

/**
 * Texts that all threads can look up by their numbers: names of functions, capabilities in words. They are only ever added. Who
 * is given a number can read the text, because both travelled through the same memory, the text first.
 *
 * Each has a flag that can be raised and never lowered.
 */
export class Texts {
  readonly #memory: Memory;
  readonly #bytes: Uint8Array;

  constructor(memory: Memory) {
    this.#memory = memory;
    this.#bytes = new Uint8Array(memory.shared.buffer);
  }

  /** Its number, or -1 where it is too long or there are too many: then what it names stays where it is. */
  add(text: string): number {
    const encoded = new TextEncoder().encode(text);
    if (encoded.length > TEXT_BYTES) return -1;
    const { words } = this.#memory;
    const number = Atomics.add(words, this.#memory.textsAt, 1);
    if (number >= MOST_TEXTS) {
      Atomics.sub(words, this.#memory.textsAt, 1);
      return -1;
    }
    const at = this.#memory.textAt(number);
    this.#bytes.set(encoded, (at + 2) * 4);
    Atomics.store(words, at, encoded.length);
    return number;
  }

  get(number: number): string {
    const at = this.#memory.textAt(number);
    const length = Atomics.load(this.#memory.words, at);
    // A decoder refuses memory that others could change under it.
    return new TextDecoder().decode(this.#bytes.slice((at + 2) * 4, (at + 2) * 4 + length));
  }

  raise(number: number): void {
    Atomics.store(this.#memory.words, this.#memory.textAt(number) + 1, 1);
  }

  isRaised(number: number): boolean {
    return Atomics.load(this.#memory.words, this.#memory.textAt(number) + 1) !== 0;
  }
}
