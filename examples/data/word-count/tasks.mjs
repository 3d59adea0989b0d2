import { readFile } from "node:fs/promises";

/** @param {string} url */
export async function load(url) {
  return await readFile(new URL(url), "utf8");
}

/** @param {string} text */
export function count(text) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const [word] of text.toLowerCase().matchAll(/\p{L}{4,}/gu))
    counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** @param {...Map<string, number>} parts */
export function merge(...parts) {
  /** @type {Map<string, number>} */
  const all = new Map();
  for (const part of parts) for (const [word, n] of part) all.set(word, (all.get(word) ?? 0) + n);
  return all;
}

/**
 * @param {Map<string, number>} counts
 * @param {number} n
 */
export function top(counts, n) {
  return [...counts].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).slice(0, n);
}
