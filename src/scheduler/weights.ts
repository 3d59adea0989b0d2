import type { TaskSpec, WireGraph } from "../graph/index.ts";

/*
 * Estimates, in bytes, of the heap that work takes in the state. They depend on nothing but what was submitted, so that
 * every server that replays the ledger counts the same. `weights.test.ts` compares them with measured heaps: an estimate
 * may be too high, and must not be much too low.
 */

/** A task of no run with its id, its hash, and its places in the indexes and in the line. */
export const TASK_BYTES = 560;
/** A group with its pool, its demand and its line, without names. */
const GROUP_BYTES = 2_000;

const SPEC_BYTES = 900;
const NAME_BYTES = 32;
const RUN_BYTES = 9_000;
const NODE_BYTES = 600;
/** What a node takes besides if nodes hand results to each other. */
const DATA_NODE_BYTES = 60;
const EDGE_BYTES = 48;
const LINK_BYTES = 200;
/** The ready nodes of a run in one group. */
const LANE_BYTES = 1_500;

/** Returns the estimate for a task specification, with its text and the form of the ledger. */
export function specBytes({
  type,
  executor,
  capabilities,
  limits,
  amounts,
  budget,
  cache,
}: TaskSpec): number {
  const names = namesBytes(capabilities) + namesBytes(limits) + textBytes(cache ?? "");
  return SPEC_BYTES + textBytes(type) + textBytes(executor) + names + 16 * (amounts.length + budget.length);
}

/** Returns the estimate for a group of tasks with this specification. Its keys repeat the names. */
export function groupBytes({ executor, capabilities, limits, amounts }: TaskSpec): number {
  const names = textBytes(executor) + namesBytes(capabilities) + namesBytes(limits);
  return GROUP_BYTES + names + 16 * amounts.length;
}

/** Returns an upper bound of what the task adds: less if others with the same specification wait already. */
export function taskBytes(spec: TaskSpec): number {
  return TASK_BYTES + specBytes(spec) + groupBytes(spec);
}

/** Returns the estimate for a run, without the groups of its nodes. */
export function runBytes(graph: WireGraph, specs: readonly TaskSpec[], links: number): number {
  const { ids, needs, inputs } = graph;
  let bytes = RUN_BYTES + links * LINK_BYTES;
  bytes += ids.length * (NODE_BYTES + (inputs ? DATA_NODE_BYTES : 0));
  for (let node = 0; node < ids.length; node++)
    bytes += 2 * (ids[node] as string).length + EDGE_BYTES * (needs[node] as readonly number[]).length;
  for (const spec of specs) bytes += specBytes(spec) + LANE_BYTES;
  return bytes;
}

/** Returns an upper bound of what the run adds: less if there are groups for its nodes already. */
export function submittedRunBytes(graph: WireGraph, specs: readonly TaskSpec[], links: number): number {
  return specs.reduce((sum, spec) => sum + groupBytes(spec), runBytes(graph, specs, links));
}

function namesBytes(names: readonly string[]): number {
  let bytes = 0;
  for (const name of names) bytes += textBytes(name);
  return bytes;
}

/** A name stands in several places. With a character beyond Latin-1, each takes two bytes per character. */
function textBytes(text: string): number {
  return NAME_BYTES + 3 * text.length;
}
