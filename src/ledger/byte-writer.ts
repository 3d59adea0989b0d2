import { invariant } from "../core/index.ts";

const FIRST_BYTES = 2048;
const MOST_KEPT_BYTES = 1024 * 1024;
const QUOTE = 34;
const BACKSLASH = 92;
const DIGIT = 48;
const LETTER = 97;
/** To write fewer is not worth a call out of JavaScript. */
const FEW_UNITS = 24;
const LARGEST_SMALL = 0x7fff_ffff;
/** Splits numbers that are too large for arithmetic of 32 bits. */
const MILLION = 1_000_000;

/** Text in UTF-8, put together piece by piece without a string for each. */
export class ByteWriter {
  /** How much is left free for what can only be put in front at the end. */
  readonly #room: number;
  #bytes: Buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #start: number;
  /** Where the text ends. */
  #size: number;
  #isAscii = true;

  constructor(room = 0) {
    this.#room = room;
    this.#start = room;
    this.#size = room;
  }

  /** Where the text ends in `bytes`. */
  get size(): number {
    return this.#size;
  }

  /** Of which only the text counts, until something is added. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Of the text, until something is added. */
  get written(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#size);
  }

  /** Begins anew, with the room that it has. */
  clear(): void {
    if (this.#bytes.length > MOST_KEPT_BYTES) this.#bytes = Buffer.allocUnsafe(FIRST_BYTES);
    this.#start = this.#room;
    this.#size = this.#room;
    this.#isAscii = true;
  }

  toString(): string {
    return this.#bytes.toString(this.#isAscii ? "latin1" : "utf8", this.#start, this.#size);
  }

  /** Puts a text in front, in the room that was left for it. */
  prepend(text: string): void {
    invariant(text.length <= this.#start, "what is put in front has its room there");
    this.#start -= text.length;
    this.#write(text, this.#start);
  }

  text(text: string): void {
    this.#reserve(3 * text.length);
    const written = this.#bytes.write(text, this.#size);
    this.#size += written;
    if (written !== text.length) this.#isAscii = false;
  }

  ascii(text: string): void {
    this.#reserve(text.length);
    this.#write(text, this.#size);
    this.#size += text.length;
  }

  /** As eight hex digits. */
  hex32(value: number): void {
    this.#reserve(8);
    const bytes = this.#bytes;
    let at = this.#size;
    for (let shift = 28; shift >= 0; shift -= 4) {
      const digit = (value >>> shift) & 15;
      bytes[at++] = digit < 10 ? DIGIT + digit : LETTER + digit - 10;
    }
    this.#size = at;
  }

  /** As JSON. Most names and all hashes have nothing to escape. */
  quoted(text: string): void {
    this.#reserve(text.length + 2);
    const bytes = this.#bytes;
    let at = this.#size;
    bytes[at++] = QUOTE;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit < 32 || unit > 126 || unit === QUOTE || unit === BACKSLASH) {
        this.text(JSON.stringify(text));
        return;
      }
      bytes[at++] = unit;
    }
    bytes[at++] = QUOTE;
    this.#size = at;
  }

  number(value: number): void {
    if (value >= 0 && value <= LARGEST_SMALL && Number.isInteger(value)) this.#digits(value, digitsOf(value));
    else if (value > LARGEST_SMALL && value < LARGEST_SMALL * MILLION && Number.isInteger(value)) {
      const millions = Math.floor(value / MILLION);
      this.#digits(millions, digitsOf(millions));
      this.#digits(value - millions * MILLION, 6);
    } else this.ascii(JSON.stringify(value));
  }

  #digits(value: number, count: number): void {
    this.#reserve(count);
    const bytes = this.#bytes;
    let rest = value | 0;
    for (let at = this.#size + count - 1; at >= this.#size; at--) {
      const tenth = (rest / 10) | 0;
      bytes[at] = DIGIT + rest - 10 * tenth;
      rest = tenth;
    }
    this.#size += count;
  }

  #write(text: string, from: number): void {
    const bytes = this.#bytes;
    if (text.length > FEW_UNITS) bytes.write(text, from, "latin1");
    else for (let i = 0; i < text.length; i++) bytes[from + i] = text.charCodeAt(i);
  }

  #reserve(more: number): void {
    const needed = this.#size + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#size);
    this.#bytes = larger;
  }
}

function digitsOf(value: number): number {
  let count = 1;
  for (let limit = 10; value >= limit && count < 10; limit *= 10) count++;
  return count;
}
