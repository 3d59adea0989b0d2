import { hash32 } from "../core/index.ts";
import {
  type NodeSpec,
  type TaskSpec,
  taskBudget,
  taskSpecOf,
  type WireGraph,
  wireGraph,
  wireSpec,
} from "../graph/index.ts";
import type { Incident } from "./incidents.ts";
import { type AttemptName, nameOf } from "./messages.ts";
import { Random } from "./random.ts";
import { smallSpec, withData } from "./random-data.ts";
import { LIMITS, randomId, randomShape } from "./random-graph.ts";
import type { PlannedRun } from "./scenario.ts";

/**
 * Whether runs grow under a seed: some of their attempts end by adding nodes. What these add follows from this and their names,
 * so seeds in which no run grows are what they were before any did.
 */
export interface Growth {
  readonly salt: number;
}

/** What an attempt adds to its run. */
export interface Addition {
  readonly graph: WireGraph;
  /** The node whose result is that of the attempt. */
  readonly tail: number;
  /** Nodes that get the result of a node above as well; `choice` says which. */
  readonly wishes: readonly { readonly by: number; readonly choice: number }[];
}

export function randomGrowth(random: Random): Growth | undefined {
  return random.chance(0.35) ? { salt: random.int(0, 2 ** 31) } : undefined;
}

/** Some kinds of nodes of runs with data may add nodes. */
export function withGrowth({ salt }: Growth, run: PlannedRun): PlannedRun {
  const { event } = run;
  if (!event.graph.inputs) return run;
  const specs = event.graph.specs.map((spec, at) => {
    const chance = hash32(`may add ${event.name} ${at}`, salt);
    if (chance % 3 > 0) return spec;
    return wireSpec({ ...taskSpecOf(spec), mayAdd: 2 + ((chance >>> 8) % 8) });
  });
  return { ...run, event: { ...event, graph: { ...event.graph, specs } } };
}

export function randomGrowthIncidents(random: Random, stormMs: number): Incident[] {
  return Array.from({ length: random.int(0, 4) }, () => ({
    type: "cancel added",
    atMs: random.int(0, stormMs),
    choice: random.int(0, 2 ** 30),
  }));
}

/** What the attempt adds; undefined: it ends as others do. */
export function additionOf(
  { salt }: Growth,
  name: AttemptName,
  { mayAdd = 0 }: TaskSpec,
): Addition | undefined {
  const random = new Random(salt, `added by ${nameOf(name)}`);
  if (mayAdd === 0 || random.chance(0.3)) return undefined;
  const size = random.chance(0.05) ? mayAdd + 1 : random.int(1, mayAdd);
  const templates = Array.from({ length: random.int(1, 2) }, () => addedSpec(random, Math.floor(mayAdd / 3)));
  const ids = Array.from({ length: size }, (_, index) => randomId(random, index));
  const needs = randomShape(random, size, random.pick(["chain", "layers", "fan", "tree", "loose"]));
  const nodes = ids.map((id, index): NodeSpec => {
    const before = (needs[index] as number[]).map((need) => ids[need] as string);
    return { id, needs: before, task: random.pick(templates), requestHash: "", done: false };
  });
  const graph = withData(random, wireGraph(nodes), true);
  const tail = random.chance(0.7) ? size - 1 : random.int(0, size - 1);
  const keep = [...new Set([...(graph.keep ?? []), tail])].sort((a, b) => a - b);
  const count = random.chance(0.6) ? random.int(1, 3) : 0;
  const wishes = Array.from({ length: count }, () => ({
    by: random.int(0, size - 1),
    choice: random.int(0, 2 ** 30),
  }));
  return { graph: { ...graph, keep }, tail, wishes };
}

/** Added nodes may add fewer in their turn, and have limits and budgets as others do. */
function addedSpec(random: Random, mayAdd: number): TaskSpec {
  const limits = random.chance(0.2) ? [random.pick(LIMITS)] : [];
  return {
    ...smallSpec(random),
    limits,
    budget: random.chance(0.2) ? taskBudget({}, true) : [],
    ...(mayAdd > 0 && random.chance(0.7) && { mayAdd }),
  };
}
