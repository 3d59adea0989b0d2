// A fleet and a backlog of many kinds: a thousand workers of different sizes, zones and capabilities, some of
// which take no work, and tasks with different needs and priorities.

import { NO_OP, randomBelow } from "./graphs.mjs";
import { ZONE } from "./loop.mjs";

/** @typedef {import("../dist/graph/index.js").Priority} Priority */
/** @typedef {import("../dist/graph/index.js").TaskSpec} TaskSpec */
/** @typedef {import("../dist/placement/index.js").WorkerSpec} WorkerSpec */
/** @typedef {import("../dist/scheduler/index.js").Stimulus} Stimulus */

const GIB = 2 ** 30;
const CORES = [2, 4, 8, 16, 32];
const GIB_PER_CORE = [1, 2, 4, 8];

/**
 * @param {number} count
 * @returns {WorkerSpec[]}
 */
export function mixedWorkers(count) {
  const below = randomBelow(7);
  return Array.from({ length: count }, (_, number) => {
    const cores = pick(CORES, below);
    const away = below(10) === 0;
    return {
      id: `worker-${String(number).padStart(5, "0")}`,
      endpoint: "",
      zone: away ? "there" : ZONE,
      zones: away && below(2) === 0 ? [ZONE] : [],
      executors: below(20) === 0 ? ["wasm"] : ["shell", "wasm"],
      capabilities: ["arm", "gpu", "ssd"].filter(() => below(4) === 0),
      cpuMillicores: cores * 1_000,
      memoryBytes: cores * pick(GIB_PER_CORE, below) * GIB,
      slots: cores,
    };
  });
}

/**
 * One worker of thirty takes no work: it drains, or says that it is overloaded.
 *
 * @param {number} count
 * @returns {Stimulus[]}
 */
export function someUnwilling(count) {
  /** @type {Stimulus[]} */
  const stimuli = [];
  for (let worker = 0; worker < count; worker += 60) {
    stimuli.push({ kind: "DrainRequested", worker });
    if (worker + 30 >= count) break;
    stimuli.push({
      kind: "WorkerLoadReported",
      worker: worker + 30,
      loadPermille: 990,
      saysOverloaded: false,
    });
  }
  return stimuli;
}

/**
 * Tasks with a number of different needs. Twelve kinds come in three priorities each, which makes 36 groups;
 * with more, each kind has one priority.
 *
 * @param {number} kinds
 * @returns {(node: number) => TaskSpec}
 */
export function mixedTasks(kinds) {
  const below = randomBelow(11);
  /** @type {TaskSpec[]} */
  const tasks = [];
  for (let kind = 0; kind < kinds; kind++) {
    const needs =
      kinds > KINDS.length ? oneOfMany(kind, kinds) : /** @type {Partial<TaskSpec>} */ (KINDS[kind]);
    const priorities = kinds > KINDS.length ? [1 + (kind % 3)] : [1, 2, 3];
    for (const priority of priorities) {
      tasks.push({ ...NO_OP, estimateMs: 1_000, ...needs, priority: /** @type {Priority} */ (priority) });
    }
  }
  return () => pick(tasks, below);
}

/** @type {readonly Partial<TaskSpec>[]} */
const KINDS = [
  { cpuMillicores: 250, memoryBytes: GIB / 4, type: "lint" },
  { cpuMillicores: 500, memoryBytes: GIB / 2, type: "lint" },
  { cpuMillicores: 500, memoryBytes: 2 * GIB, type: "test" },
  { cpuMillicores: 1_000, memoryBytes: GIB, type: "test" },
  { cpuMillicores: 1_000, memoryBytes: 4 * GIB, type: "build" },
  { cpuMillicores: 2_000, memoryBytes: 2 * GIB, type: "build" },
  { cpuMillicores: 2_000, memoryBytes: 8 * GIB, type: "link" },
  { cpuMillicores: 4_000, memoryBytes: 4 * GIB, type: "link" },
  { cpuMillicores: 1_000, memoryBytes: GIB, capabilities: ["gpu"], type: "train" },
  { cpuMillicores: 500, memoryBytes: GIB, capabilities: ["ssd"], type: "index" },
  { cpuMillicores: 500, memoryBytes: GIB, capabilities: ["arm", "ssd"], type: "index" },
  { cpuMillicores: 250, memoryBytes: GIB / 2, executor: "wasm", type: "render" },
];

/**
 * @param {number} kind
 * @param {number} kinds
 * @returns {Partial<TaskSpec>}
 */
function oneOfMany(kind, kinds) {
  const cpuMillicores = 100 + Math.floor((kind * 1_900) / kinds);
  return { cpuMillicores, memoryBytes: GIB / 4 + kind * 4_096, type: `kind-${kind % 40}` };
}

/**
 * @template Item
 * @param {readonly Item[]} items
 * @param {(limit: number) => number} below
 * @returns {Item}
 */
function pick(items, below) {
  return /** @type {Item} */ (items[below(items.length)]);
}
