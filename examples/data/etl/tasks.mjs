import { readFileSync, writeFileSync } from "node:fs";

/** @typedef {{ product: string, amount: number }} Sale */
/** @typedef {Record<string, number>} Totals */

/**
 * The rows of a file of `product,amount`. The time of its last change is an argument so that a file which has changed is read
 * again.
 *
 * @param {string} file
 * @param {number} _changed
 * @returns {Sale[]}
 */
export function extract(file, _changed) {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => {
    const [product = "", amount] = line.split(",");
    return { product, amount: Number(amount) };
  });
}

/** @param {readonly Sale[]} sales */
export function transform(sales) {
  /** @type {Totals} */
  const totals = {};
  for (const { product, amount } of sales) totals[product] = (totals[product] ?? 0) + amount;
  return totals;
}

/**
 * @param {readonly Totals[]} days
 * @param {string} file
 */
export function load(days, file) {
  /** @type {Totals} */
  const all = {};
  for (const totals of days)
    for (const [product, amount] of Object.entries(totals)) all[product] = (all[product] ?? 0) + amount;
  writeFileSync(file, JSON.stringify(all));
  return all;
}
