// The shapes that are measured. The same number of nodes gives the same graph on every machine; peers build
// them again in their own language, and `fingerprint` tells whether they built the same.

/** @typedef {import("../dist/graph/index.js").NodeSpec} NodeSpec */
/** @typedef {import("../dist/graph/index.js").TaskSpec} TaskSpec */
/** @typedef {number[][]} Needs For each node the indexes of the nodes that it needs. */
/** @typedef {"chain" | "fan-out" | "layered" | "tree"} Shape */

const LAYER_WIDTH = 100;
const LAYER_EDGES = 3;

/** @type {readonly Shape[]} */
export const SHAPES = ["chain", "fan-out", "layered", "tree"];

/** @type {Record<Shape, (size: number) => Needs>} */
const NEEDS = {
  chain: (size) => Array.from({ length: size }, (_, node) => (node === 0 ? [] : [node - 1])),
  "fan-out": (size) => Array.from({ length: size }, () => []),
  layered,
  tree,
};

/**
 * @param {Shape} shape
 * @param {number} size
 * @returns {Needs}
 */
export function needsOf(shape, size) {
  return NEEDS[shape](size);
}

/** @type {TaskSpec} */
export const NO_OP = {
  type: "noop",
  executor: "shell",
  cpuMillicores: 100,
  memoryBytes: 1 << 20,
  estimateMs: 1,
  priority: 2,
  capabilities: [],
  limits: [],
  amounts: [],
  maxAttempts: 1,
  backoffMs: 0,
  timeoutMs: 0,
  held: false,
  risk: "medium",
  speculate: false,
  budget: [],
};

/**
 * @param {Needs} needs
 * @param {(node: number) => TaskSpec} [taskOf]
 * @returns {NodeSpec[]}
 */
export function nodesOf(needs, taskOf = () => NO_OP) {
  const ids = needs.map((_, node) => `noop-${node}`);
  return needs.map((of, node) => ({
    id: /** @type {string} */ (ids[node]),
    needs: of.map((need) => /** @type {string} */ (ids[need])),
    task: taskOf(node),
    requestHash: "",
    done: false,
  }));
}

/**
 * Edges summed in 32 bits, each weighted by its ends.
 *
 * @param {Needs} needs
 */
export function fingerprint(needs) {
  let sum = needs.length;
  for (const [node, of] of needs.entries()) {
    for (const need of of) sum = (sum + Math.imul(node + 1, 31) + Math.imul(need + 1, 17)) >>> 0;
  }
  return sum;
}

/**
 * Numbers below a limit, the same for the same seed (mulberry32).
 *
 * @param {number} seed
 * @returns {(limit: number) => number}
 */
export function randomBelow(seed) {
  let state = seed | 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

/**
 * Layers of a hundred nodes, each of which needs three random ones of the layer before.
 *
 * @param {number} size
 * @returns {Needs}
 */
function layered(size) {
  const below = randomBelow(42);
  /** @type {Needs} */
  const needs = [];
  for (let node = 0; node < size; node++) {
    const layer = node - (node % LAYER_WIDTH);
    /** @type {Set<number>} */
    const chosen = new Set();
    if (layer > 0) {
      while (chosen.size < LAYER_EDGES) chosen.add(layer - LAYER_WIDTH + below(LAYER_WIDTH));
    }
    needs.push([...chosen]);
  }
  return needs;
}

/**
 * A reduction: half of the nodes are leaves, and two at a time meet until one is left.
 *
 * @param {number} size
 * @returns {Needs}
 */
function tree(size) {
  const leaves = (size + 1) >>> 1;
  /** @type {Needs} */
  const needs = Array.from({ length: leaves }, () => []);
  for (let next = 0; next + 1 < needs.length && needs.length < size; next += 2) needs.push([next, next + 1]);
  return needs;
}
