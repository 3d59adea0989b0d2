import { graph } from "orrery/client";

/**
 * A log of a length that nobody knows beforehand, always the same for a seed.
 *
 * @param {number} seed
 */
export function record(seed) {
  let state = seed;
  const next = () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state;
  };
  const lines = 3_000 + (next() % 2_000);
  return Array.from({ length: lines }, () => `${["GET", "PUT", "POST"][next() % 3]} ${next() % 500}`).join(
    "\n",
  );
}

/**
 * Cuts a log into as many pieces as it has, and lets other nodes go through them: what it returns is added to the run.
 *
 * @param {string} log
 * @param {number} size
 */
export function analyse(log, size) {
  const lines = log.split("\n");
  const g = graph();
  const parts = [];
  for (let at = 0; at < lines.length; at += size) parts.push(g.task(tally, lines.slice(at, at + size)));
  return g.expand(g.task(combine, parts));
}

/** @typedef {Record<string, { count: number, ms: number }>} Tally */

/** @param {readonly string[]} lines */
export function tally(lines) {
  /** @type {Tally} */
  const byMethod = {};
  for (const line of lines) {
    const [method = "", ms] = line.split(" ");
    const { count, ms: sum } = byMethod[method] ?? { count: 0, ms: 0 };
    byMethod[method] = { count: count + 1, ms: sum + Number(ms) };
  }
  return byMethod;
}

/** @param {readonly Tally[]} parts */
export function combine(parts) {
  /** @type {Tally} */
  const all = {};
  for (const part of parts) {
    for (const [method, { count, ms }] of Object.entries(part)) {
      const before = all[method] ?? { count: 0, ms: 0 };
      all[method] = { count: before.count + count, ms: before.ms + ms };
    }
  }
  return { parts: parts.length, all };
}
