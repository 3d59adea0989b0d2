const HEX = Buffer.from("0123456789abcdef", "latin1");
const LARGEST_HIGH = 0xfff;
const LARGEST_LOW = 2 ** 30 - 1;
const POOL_BYTES = 4096;

/**
 * UUIDs of version 7 (RFC 9562): the time in milliseconds, a counter of 42 bits that begins anywhere in its lower half
 * for each millisecond, and 32 bits of chance. Each is greater than the one before, also where the clock is set back.
 */
export class TimeIds {
  readonly #fillByChance: (bytes: Uint8Array) => void;
  readonly #pool = Buffer.alloc(POOL_BYTES);
  #poolAt = POOL_BYTES;
  readonly #text = Buffer.from("00000000-0000-7000-0000-000000000000", "latin1");
  #time = -1;
  #high = 0;
  #low = 0;

  constructor(fillByChance: (bytes: Uint8Array) => void) {
    this.#fillByChance = fillByChance;
  }

  next(now: number): string {
    if (now > this.#time) this.#begin(now);
    else if (this.#low < LARGEST_LOW) this.#low += 1;
    else if (this.#high < LARGEST_HIGH) {
      this.#high += 1;
      this.#low = 0;
      this.#write(this.#high, 15, 3);
    } else this.#begin(this.#time + 1);
    const low = this.#low + 2 ** 31;
    this.#write(low >>> 16, 19, 4);
    this.#write(low & 0xffff, 24, 4);
    this.#write(this.#chance(), 28, 8);
    return this.#text.toString("latin1");
  }

  #begin(time: number): void {
    this.#time = time;
    this.#high = this.#chance() >>> 21;
    this.#low = this.#chance() >>> 2;
    this.#write(Math.floor(time / 2 ** 16), 0, 8);
    this.#write(time % 2 ** 16, 9, 4);
    this.#write(this.#high, 15, 3);
  }

  #write(value: number, from: number, digits: number): void {
    for (let at = from + digits - 1, rest = value; at >= from; at--, rest >>>= 4)
      this.#text[at] = HEX[rest & 15] as number;
  }

  #chance(): number {
    if (this.#poolAt === POOL_BYTES) {
      this.#fillByChance(this.#pool);
      this.#poolAt = 0;
    }
    this.#poolAt += 4;
    return this.#pool.readUInt32LE(this.#poolAt - 4);
  }
}
