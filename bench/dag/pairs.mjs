// Producers of 1 MiB each and consumers of two of them. Which two, the names and the order of submission come from a seed, so
// that neither tells a scheduler what belongs together.

import { randomBelow } from "../graphs.mjs";

/** @typedef {"disjoint" | "matching" | "apart" | "sliding"} Pairing */

/**
 * @typedef {object} PairJob
 * @property {number} workers
 * @property {number} ms What each task takes.
 * @property {readonly PairNode[]} warmUp A graph of the same kind, before.
 * @property {readonly PairNode[]} nodes In the order of submission.
 */

/** @typedef {{ id: string, fill: number } | { id: string, of: readonly [string, string], sum: number }} PairNode */

export const MIB = 2 ** 20;

/** @type {Record<Pairing, (count: number, shuffled: readonly number[]) => [number, number][]>} */
const PAIRS = {
  disjoint: (count) => halves(count, (at) => [2 * at, 2 * at + 1]),
  matching: (count, shuffled) => halves(count, (at) => [shuffled[2 * at] ?? 0, shuffled[2 * at + 1] ?? 0]),
  apart: (count) => halves(count, (at) => [at, at + (count >>> 1)]),
  sliding: (count) => Array.from({ length: count - 1 }, (_, at) => [at, at + 1]),
};

/**
 * What two workers must move at least: one path has to be cut where they meet, other pairs can stay together.
 *
 * @param {Pairing} pairing
 */
export function leastMoved(pairing) {
  return pairing === "sliding" ? MIB : 0;
}

/**
 * @param {Pairing} pairing
 * @param {number} count Of producers.
 * @param {number} seed
 * @returns {PairNode[]}
 */
export function pairNodes(pairing, count, seed) {
  const below = randomBelow(seed);
  const pairs = PAIRS[pairing](count, shuffle(count, below));
  const [makeNames, addNames] = [shuffle(count, below), shuffle(pairs.length, below)];
  const makeId = (/** @type {number} */ at) => `make-${makeNames[at]}`;
  /** @type {PairNode[]} */
  const nodes = Array.from({ length: count }, (_, at) => ({ id: makeId(at), fill: fillOf(at) }));
  for (const [at, [one, other]] of pairs.entries()) {
    const sum = fillOf(one) + fillOf(other);
    nodes.push({ id: `add-${addNames[at]}`, of: [makeId(one), makeId(other)], sum });
  }
  return shuffle(nodes.length, below).flatMap((at) => nodes[at] ?? []);
}

/** One byte of ours can hold it. @param {number} at */
function fillOf(at) {
  return at % 251;
}

/**
 * @param {number} count
 * @param {(at: number) => [number, number]} pairOf
 */
function halves(count, pairOf) {
  return Array.from({ length: count >>> 1 }, (_, at) => pairOf(at));
}

/**
 * The numbers below a count, in an order that is the same for the same seed.
 *
 * @param {number} count
 * @param {(limit: number) => number} below
 */
function shuffle(count, below) {
  const numbers = Array.from({ length: count }, (_, at) => at);
  for (let at = count - 1; at > 0; at--) {
    const other = below(at + 1);
    [numbers[at], numbers[other]] = [numbers[other] ?? 0, numbers[at] ?? 0];
  }
  return numbers;
}
