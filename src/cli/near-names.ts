const SHOWN = 3;

/** Names that somebody who wrote `word` may have meant, the nearest first. */
export function nearNames(word: string, names: Iterable<string>): string[] {
  const wanted = word.toLowerCase();
  const tolerated = Math.min(3, Math.max(1, Math.floor(wanted.length / 3)));
  const near: { name: string; slips: number }[] = [];
  for (const name of names) {
    const slips = slipsBetween(wanted, name.toLowerCase(), tolerated);
    if (slips <= tolerated) near.push({ name, slips });
  }
  return near
    .sort((a, b) => a.slips - b.slips || (a.name < b.name ? -1 : 1))
    .slice(0, SHOWN)
    .map(({ name }) => name);
}

/** Letters added, left out, changed or swapped; a name that contains the word is just within the tolerance. */
function slipsBetween(word: string, name: string, tolerated: number): number {
  if (name === word) return 0;
  if (word.length > 1 && name.includes(word)) return tolerated;
  if (Math.abs(word.length - name.length) > tolerated) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: name.length + 1 }, (_, column) => column);
  for (let row = 1; row <= word.length; row++) {
    const current = [row];
    for (let column = 1; column <= name.length; column++) {
      const changed = (last[column - 1] as number) + Number(word[row - 1] !== name[column - 1]);
      const swapped =
        word[row - 1] === name[column - 2] && word[row - 2] === name[column - 1]
          ? (beforeLast[column - 2] as number) + 1
          : changed;
      current.push(
        Math.min(changed, swapped, (last[column] as number) + 1, (current[column - 1] as number) + 1),
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[name.length] as number;
}
