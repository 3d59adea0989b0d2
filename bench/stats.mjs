/**
 * @param {readonly number[]} values
 * @param {number} share 0 to 1
 */
export function quantile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >>> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/**
 * The same, but beginning further on: what is measured in several rounds begins with another in each.
 *
 * @template Item
 * @param {readonly Item[]} items
 * @param {number} by
 * @returns {Item[]}
 */
export function rotated(items, by) {
  const from = by % Math.max(items.length, 1);
  return [...items.slice(from), ...items.slice(0, from)];
}
