// What Piscina runs.

export const noop = (/** @type {number} */ x) => x;
