// Projects made as ProGen makes them (Kolisch, Sprecher & Drexl 1995): so that nothing is tuned to a set that is
// measured. Not the same program: degrees of the network, the resource factor (the share of resources that an
// activity uses) and the resource strength (from just enough, 0, to enough for the earliest schedule, 1) mean the same.

/**
 * @typedef {object} Shape
 * @property {number} activities
 * @property {number} complexity Edges per activity, 1.5 to 2.1.
 * @property {number} factor The share of the four resources that an activity uses, 0.25 to 1.
 * @property {number} strength 0 to 1.
 */

/** @typedef {{ id: string, duration: number, needs: string[], uses: Record<string, number> }} Task */

const RESOURCES = ["R1", "R2", "R3", "R4"];

/**
 * @param {Shape} shape
 * @param {number} seed
 * @returns {{ tasks: Task[], capacities: Record<string, number> }}
 */
export function makeInstance({ activities, complexity, factor, strength }, seed) {
  const random = randomOf(seed);
  const needs = network(activities, complexity, random);
  const uses = Array.from({ length: activities }, () => usesOf(factor, random));
  const tasks = needs.map((list, at) => ({
    id: `${at + 1}`,
    duration: random(1, 10),
    needs: list.map((need) => `${need + 1}`),
    uses: /** @type {Record<string, number>} */ (uses[at]),
  }));
  return { tasks, capacities: capacitiesOf(tasks, needs, strength) };
}

/** All combinations, some of each: as the sets of PSPLIB are made. */
export function* shapes(/** @type {number} */ activities) {
  const strengths = activities >= 100 ? [0.1, 0.2, 0.3, 0.4, 0.5] : [0.2, 0.5, 0.7, 1];
  for (const complexity of [1.5, 1.8, 2.1]) {
    for (const factor of [0.25, 0.5, 0.75, 1]) {
      for (const strength of strengths) yield { activities, complexity, factor, strength };
    }
  }
}

/**
 * At most three of everything begin and end the project, and nobody needs or is needed by more than three; no edge
 * follows from others.
 *
 * @param {number} size
 * @param {number} complexity
 * @param {(least: number, most: number) => number} random
 */
function network(size, complexity, random) {
  /** @type {number[][]} */
  const needs = Array.from({ length: size }, () => []);
  const dependents = new Uint32Array(size);
  /** Everything that each comes after. @type {Set<number>[]} */
  const after = Array.from({ length: size }, () => new Set());
  let edges = 0;
  const add = (/** @type {number} */ from, /** @type {number} */ to) => {
    needs[to]?.push(from);
    dependents[from] = (dependents[from] ?? 0) + 1;
    edges++;
    for (let at = to; at < size; at++) {
      if (at !== to && !after[at]?.has(to)) continue;
      after[at]?.add(from);
      for (const earlier of after[from] ?? []) after[at]?.add(earlier);
    }
  };
  for (let at = 3; at < size; at++) {
    const open = range(0, at - 1).filter((from) => (dependents[from] ?? 0) < 3);
    add(/** @type {number} */ (open[random(Math.max(0, open.length - 20), open.length - 1)]), at);
  }
  for (let at = 0; at < size - 3; at++) {
    if ((dependents[at] ?? 0) > 0) continue;
    const open = range(Math.max(3, at + 1), size - 1).filter((to) => (needs[to]?.length ?? 0) < 3);
    const to = open[random(0, Math.min(19, open.length - 1))];
    if (to !== undefined) add(at, to);
  }
  for (let tries = 0; edges < complexity * (size + 2) - 6 && tries < 100 * size; tries++) {
    const from = random(0, size - 2);
    const to = random(Math.max(3, from + 1), size - 1);
    if ((dependents[from] ?? 0) >= 3 || (needs[to]?.length ?? 0) >= 3) continue;
    if (!after[to]?.has(from) && !isRedundant(needs, after, from, to)) add(from, to);
  }
  return needs;
}

/** Whether an edge would make another one follow from it. */
function isRedundant(
  /** @type {number[][]} */ needs,
  /** @type {Set<number>[]} */ after,
  /** @type {number} */ from,
  /** @type {number} */ to,
) {
  const above = new Set([from, ...(after[from] ?? [])]);
  return needs.some((list, at) => (at === to || after[at]?.has(to)) && list.some((need) => above.has(need)));
}

function usesOf(/** @type {number} */ factor, /** @type {(least: number, most: number) => number} */ random) {
  /** @type {Record<string, number>} */
  const uses = {};
  const left = [...RESOURCES];
  for (let count = Math.round(factor * RESOURCES.length); count > 0; count--) {
    const [name] = left.splice(random(0, left.length - 1), 1);
    uses[/** @type {string} */ (name)] = random(1, 10);
  }
  return uses;
}

function capacitiesOf(
  /** @type {readonly Task[]} */ tasks,
  /** @type {number[][]} */ needs,
  /** @type {number} */ strength,
) {
  /** @type {number[]} */
  const finish = [];
  const starts = tasks.map(({ duration }, at) => {
    const start = Math.max(0, ...(needs[at] ?? []).map((need) => finish[need] ?? 0));
    finish.push(start + duration);
    return start;
  });
  return Object.fromEntries(
    RESOURCES.map((name) => {
      const least = Math.max(1, ...tasks.map(({ uses }) => uses[name] ?? 0));
      const peaks = starts.map((time) =>
        tasks.reduce((sum, { uses }, at) => {
          const runs = (starts[at] ?? 0) <= time && time < (finish[at] ?? 0);
          return sum + (runs ? (uses[name] ?? 0) : 0);
        }, 0),
      );
      return [name, least + Math.round(strength * (Math.max(least, ...peaks) - least))];
    }),
  );
}

function range(/** @type {number} */ from, /** @type {number} */ to) {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);
}

/** Numbers from least to most, both included, that a seed repeats (mulberry32). */
function randomOf(/** @type {number} */ seed) {
  let state = seed | 0;
  return (/** @type {number} */ least, /** @type {number} */ most) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return least + (((mixed ^ (mixed >>> 14)) >>> 0) % (most - least + 1));
  };
}
