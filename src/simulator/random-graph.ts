import {
  type NodeSpec,
  type Priority,
  RISKS,
  type TaskSpec,
  type WireGraph,
  wireGraph,
} from "../graph/index.ts";
import type { Random } from "./random.ts";

export const ZONES = ["north", "süd", "Ost"] as const;
export const EXECUTORS = ["shell", "python", "Größe"] as const;
export const CAPABILITIES = ["avx", "disk", "gpu", "Netz"] as const;
/** Names that tasks may share a limit under. */
export const LIMITS = ["openai", "Mieter 7"] as const;
const TYPES = ["build", "test", "train", "Prüfung"] as const;

/** No worker ever has one of these. */
const NOWHERE = { executor: "nobody", capability: "unobtainium", cpuMillicores: 1_000_000 } as const;

export const MOST_CPU = 4_000;
export const MOST_MEMORY: number = 4_096 * 2 ** 20;
export const LONGEST_MS = 12_000;

/** Texts whose order by code unit is not the order of any locale, nor that of code points. */
const BEGINNINGS = [
  "a",
  "B",
  "ä",
  "Z",
  "z",
  "é",
  "e\u0301",
  "ß",
  "İ",
  "ı",
  "木",
  "𝒳",
  "😀",
  "ﬀ",
  "10",
  "9",
  "_",
  "-",
];

export function randomId(random: Random, number: number): string {
  const beginning = random.pick(BEGINNINGS);
  return random.chance(0.8) ? `${beginning}${number}` : `${number}.${beginning}`;
}

export interface GraphTraits {
  /** The chance that a node is never satisfiable, or held. */
  readonly unsatisfiable: number;
  readonly held: number;
  readonly maxNodes: number;
}

export function randomGraph(random: Random, traits: GraphTraits): WireGraph {
  // Many that are alike make long lanes; usually runs are small, and mixed.
  const alike = random.chance(0.06);
  const size = random.chance(alike ? 1 : 0.15) ? random.int(1, traits.maxNodes) : random.int(1, 22);
  const templates = Array.from({ length: alike ? 1 : random.int(1, 5) }, () => randomSpec(random));
  const tasks = Array.from({ length: size }, () => {
    const task = alike ? (templates[0] as TaskSpec) : varied(random, random.pick(templates));
    if (random.chance(traits.unsatisfiable)) return unsatisfiable(random, task);
    return random.chance(traits.held) ? { ...task, held: true } : task;
  });
  const needs = randomShape(random, size, alike ? "loose" : random.pick(SHAPES));
  const ids = Array.from({ length: size }, (_, index) => randomId(random, index));
  const done = random.chance(0.1) ? random.int(0, size) : 0;
  const nodes = tasks.map(
    (task, index): NodeSpec => ({
      id: ids[index] as string,
      needs: (needs[index] as number[]).map((need) => ids[need] as string),
      task,
      requestHash: "",
      // What a node needs stands before it in this order, so a first part is closed.
      done: index < done,
    }),
  );
  return wireGraph(random.chance(0.5) ? random.shuffled(nodes) : nodes);
}

export function randomSpec(random: Random): TaskSpec {
  const timed = random.chance(0.3);
  const limits = random.chance(0.4) ? random.some(LIMITS, 0.6).sort() : [];
  return {
    type: random.pick(TYPES),
    executor: random.pick(EXECUTORS),
    cpuMillicores: random.pick([0, 100, 250, 500, 1_000, 2_000, MOST_CPU]),
    memoryBytes: random.pick([0, 64, 128, 512, 1_024, 4_096]) * 2 ** 20,
    estimateMs: random.pick([0, 100, 1_000, 5_000, 20_000]),
    priority: random.int(0, 4) as Priority,
    capabilities: random.some(CAPABILITIES, 0.15).sort(),
    maxAttempts: random.pick([1, 1, 2, 3, 5]),
    backoffMs: random.pick([0, 50, 1_000, 7_000]),
    timeoutMs: timed ? random.pick([500, 3_000, 9_000]) : 0,
    held: false,
    limits,
    amounts: random.chance(0.6) ? limits.map(() => random.int(1, 4)) : [],
    risk: random.pick(RISKS),
    speculate: false,
    budget: [],
  };
}

/** Mostly as it is, so that many tasks have equal needs. */
function varied(random: Random, task: TaskSpec): TaskSpec {
  if (random.chance(0.6)) return task;
  return {
    ...task,
    estimateMs: random.pick([0, 100, 1_000, 5_000, 20_000]),
    priority: random.int(0, 4) as Priority,
    risk: random.pick(RISKS),
    maxAttempts: random.int(1, 5),
  };
}

function unsatisfiable(random: Random, task: TaskSpec): TaskSpec {
  switch (random.int(0, 2)) {
    case 0:
      return { ...task, executor: NOWHERE.executor };
    case 1:
      return { ...task, capabilities: [...task.capabilities, NOWHERE.capability].sort() };
    default:
      return { ...task, cpuMillicores: NOWHERE.cpuMillicores };
  }
}

const SHAPES = ["chain", "fan", "layers", "random", "loose", "tree"] as const;
type Shape = (typeof SHAPES)[number];

/** For each node the nodes that it needs, which stand before it. */
export function randomShape(random: Random, size: number, shape: Shape): number[][] {
  const all = Array.from({ length: size }, (_, index) => index);
  switch (shape) {
    case "chain":
      return all.map((index) => (index === 0 ? [] : [index - 1]));
    case "fan":
      return all.map((index) => {
        if (index === 0) return [];
        return index === size - 1 ? all.slice(1, -1) : [0];
      });
    case "layers": {
      const width = random.int(1, 6);
      return all.map((index) => {
        const layer = Math.floor(index / width);
        const before = all.slice(Math.max(0, (layer - 1) * width), layer * width);
        return layer === 0 ? [] : random.some(before, 0.6);
      });
    }
    case "tree":
      return all.map((index) => (index === 0 ? [] : [random.int(0, index - 1)]));
    case "loose":
      return all.map(() => []);
    default:
      return all.map((index) => random.some(all.slice(Math.max(0, index - 8), index), 0.25));
  }
}
