/** What is longer is no slip of the finger, and takes long to compare. */
const MAX_WORD = 100;

/**
 * The candidate that somebody who wrote `word` may have meant: the one with the fewest slips (a letter
 * added, left out, changed or swapped with its neighbour), or one that begins with the word.
 */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > MAX_WORD) return undefined;
  const wanted = word.toLowerCase();
  const tolerated = Math.min(3, Math.floor(wanted.length / 3));
  let best: string | undefined;
  let bestSlips = tolerated + 1;
  for (const candidate of candidates) {
    const known = candidate.toLowerCase();
    if (known === wanted) return candidate;
    if (Math.abs(known.length - wanted.length) < bestSlips) {
      const slips = slipsBetween(wanted, known, bestSlips);
      if (slips < bestSlips) {
        best = candidate;
        bestSlips = slips;
      }
    }
    if (best === undefined && wanted.length > 2 && known.startsWith(wanted)) best = candidate;
  }
  return best;
}

/** Optimal string alignment distance, or `limit` where it is not less. */
function slipsBetween(one: string, other: string, limit: number): number {
  // Ids of a generated graph are long and differ in a few characters; only those are compared.
  let start = 0;
  while (start < one.length && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < Math.min(one.length, other.length) - start && one.at(-1 - end) === other.at(-1 - end))
    end += 1;
  const a = one.slice(start, one.length - end);
  const b = other.slice(start, other.length - end);

  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let slips = Math.min(
        (last[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (last[column - 1] as number) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        slips = Math.min(slips, (beforeLast[column - 2] as number) + 1);
      }
      current.push(slips);
    }
    if (Math.min(...current) >= limit) return limit;
    beforeLast = last;
    last = current;
  }
  return Math.min(limit, last[b.length] as number);
}
