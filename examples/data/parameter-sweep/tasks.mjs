/** @typedef {{ x: Float64Array, y: Float64Array }} Data */
/** @typedef {{ width: number, error: number }} Score */

/**
 * Points of a noisy curve, always the same for a seed.
 *
 * @param {number} n
 * @param {number} seed
 * @returns {Data}
 */
export function sample(n, seed) {
  let state = seed;
  const random = () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
  const x = Float64Array.from({ length: n }, (_, at) => at / n);
  return { x, y: x.map((at) => Math.sin(6 * at) + 0.2 * (random() - 0.5)) };
}

/**
 * How well neighbours within a width predict each point that is left out.
 *
 * @param {Data} data
 * @param {number} width
 * @returns {Score}
 */
export function score({ x, y }, width) {
  let error = 0;
  for (const [left, here] of x.entries()) {
    let sum = 0;
    let weight = 0;
    for (const [at, there] of x.entries()) {
      if (at === left) continue;
      const near = Math.exp(-(((there - here) / width) ** 2));
      sum += near * (y[at] ?? 0);
      weight += near;
    }
    error += ((weight > 0 ? sum / weight : 0) - (y[left] ?? 0)) ** 2;
  }
  return { width, error: Math.sqrt(error / x.length) };
}

/** @param {readonly Score[]} scores */
export function best(scores) {
  return scores.reduce((a, b) => (b.error < a.error ? b : a));
}
