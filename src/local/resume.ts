import { sha256Hex } from "../core/index.ts";
import { Graph, type NodeSpec, topologicalOrder, wireGraph } from "../graph/index.ts";
import type { Run, State } from "../scheduler/index.ts";
import { Status } from "../scheduler/index.ts";

/**
 * The nodes of a graph that an earlier run completed and that are still what they were: the same request,
 * and the same for everything that they need. A changed command is run again, with all that hangs on it.
 */
export function alreadyDone(nodes: readonly NodeSpec[], earlier: Run): ReadonlySet<string> {
  const graph = new Graph(wireGraph(nodes));
  const now = fingerprints(graph);
  const before = fingerprints(earlier.graph);
  const done = new Set<string>();
  for (let node = 0; node < graph.size; node++) {
    const was = earlier.graph.indexOf(graph.idOf(node));
    if (was !== undefined && earlier.statusOf(was) === Status.completed && before[was] === now[node]) {
      done.add(graph.idOf(node));
    }
  }
  return done;
}

/** The last run of that name, whether or not it ended. */
export function lastRun(state: State, name: string): Run | undefined {
  let last: Run | undefined;
  for (const run of state.runs.values()) {
    if (run.name === name && (!last || run.number > last.number)) last = run;
  }
  return last;
}

function fingerprints(graph: Graph): string[] {
  const prints = new Array<string>(graph.size).fill("");
  const { start, targets } = graph.dependencies;
  for (const node of topologicalOrder(graph)) {
    const needs = Array.from(
      targets.subarray(start[node], start[node + 1]),
      (need) => prints[need] as string,
    ).sort();
    prints[node] = sha256Hex(JSON.stringify([graph.idOf(node), graph.requestHashOf(node), needs]));
  }
  return prints;
}
