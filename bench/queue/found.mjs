// The figures of all rounds, and what they come to.

import { median } from "../stats.mjs";
import { PER_SECOND } from "./figure.mjs";

/** @typedef {import("./figure.mjs").Figure} Figure */

/**
 * @typedef {object} Result
 * @property {string} measure
 * @property {string} metric
 * @property {string} unit
 * @property {string} system
 * @property {number} value The median of the rounds.
 * @property {number} min
 * @property {number} max
 * @property {readonly number[]} rounds
 */

/**
 * @typedef {object} Ratio
 * @property {string} measure
 * @property {string} metric
 * @property {string} peer
 * @property {number} ratio How many times better the first system is.
 */

export class Found {
  /** @type {Map<string, { system: string, figure: Figure, values: number[] }>} */
  #all = new Map();

  /**
   * @param {string} system
   * @param {Figure} figure
   */
  add(system, { of = system, ...figure }) {
    const key = JSON.stringify([figure.measure, figure.metric, of]);
    /** @type {{ system: string, figure: Figure, values: number[] }} */
    const known = this.#all.get(key) ?? { system: of, figure, values: [] };
    known.values.push(figure.value);
    this.#all.set(key, known);
  }

  /** @returns {Result[]} */
  results() {
    return [...this.#all.values()].map(({ system, figure: { measure, metric, unit }, values }) => ({
      measure,
      metric,
      unit,
      system,
      value: median(values),
      min: Math.min(...values),
      max: Math.max(...values),
      rounds: values,
    }));
  }
}

/**
 * @param {readonly Result[]} results
 * @param {string} ours
 * @param {readonly string[]} peers
 * @returns {Ratio[]}
 */
export function ratiosTo(results, ours, peers) {
  return results
    .filter(({ system }) => peers.includes(system))
    .flatMap(({ measure, metric, unit, system: peer, value }) => {
      const own = results.find(
        (one) => one.system === ours && one.measure === measure && one.metric === metric,
      );
      if (!own) return [];
      return [{ measure, metric, peer, ratio: unit === PER_SECOND ? own.value / value : value / own.value }];
    });
}
