/**
 * Bits in 32-bit words. Plain functions over a `Uint32Array`: the hot loops combine several sets word by
 * word and never want a third set made for it.
 */
export function bitsetOf(bits: number): Uint32Array {
  return new Uint32Array((bits + 31) >>> 5);
}

export function setBit(words: Uint32Array, bit: number): void {
  (words[bit >>> 5] as number) |= 1 << (bit & 31);
}

export function clearBit(words: Uint32Array, bit: number): void {
  (words[bit >>> 5] as number) &= ~(1 << (bit & 31));
}

export function hasBit(words: Uint32Array, bit: number): boolean {
  return ((words[bit >>> 5] as number) & (1 << (bit & 31))) !== 0;
}

export function writeBit(words: Uint32Array, bit: number, on: boolean): void {
  if (on) setBit(words, bit);
  else clearBit(words, bit);
}

export function countBits(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The index of the lowest bit of a word that is not 0. */
export function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}
