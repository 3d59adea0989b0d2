/**
 * @typedef {object} Figure
 * @property {string} measure
 * @property {string} metric
 * @property {string} unit
 * @property {number} value
 * @property {string} [of] Whose it is, if not that of the system that is measured.
 */

/**
 * @param {string} measure
 * @param {string} metric
 * @param {string} unit
 * @param {number} value
 * @returns {Figure}
 */
export function figure(measure, metric, unit, value) {
  return { measure, metric, unit, value };
}

/** Of which more is better; of everything else less is. */
export const PER_SECOND = "1/s";
