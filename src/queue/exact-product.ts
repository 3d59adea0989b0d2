/** A double holds products up to here exactly. */
const LARGEST_EXACT = Number.MAX_SAFE_INTEGER;

/** Two products of doubles that differ by more than this share of one of them differ in truth, and the same way. */
const CLEARLY_APART = 2 ** -51;

/**
 * The sign of a·b − c·d, exactly, for integers that are not negative.
 *
 * Milliseconds times milliseconds pass 2^53. Doubles decide nearly always, since their products are wrong by
 * 2^-53 of themselves at most; BigInt, some twenty times slower, decides what is nearer than that.
 */
export function compareProducts(a: number, b: number, c: number, d: number): number {
  const left = a * b;
  const right = c * d;
  const gap = left - right;
  if (Math.abs(gap) > left * CLEARLY_APART) return gap;
  if (left <= LARGEST_EXACT && right <= LARGEST_EXACT) return gap;
  const exact = BigInt(a) * BigInt(b) - BigInt(c) * BigInt(d);
  return exact > 0n ? 1 : exact < 0n ? -1 : 0;
}
