/**
 * The sign of a·b − c·d, exactly, for safe integers that are not negative.
 *
 * Milliseconds times milliseconds pass 2^53, where doubles round. Rounding never swaps two numbers, it only
 * makes them equal: products that differ as doubles differ the same way in truth, and only those that are
 * equal and large are left to BigInt, which is far slower.
 */
export function compareProducts(a: number, b: number, c: number, d: number): number {
  const left = a * b;
  const right = c * d;
  if (left !== right || left <= Number.MAX_SAFE_INTEGER) return left - right;
  const exact = BigInt(a) * BigInt(b) - BigInt(c) * BigInt(d);
  return exact > 0n ? 1 : exact < 0n ? -1 : 0;
}
