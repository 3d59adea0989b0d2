import type { Run } from "./run.ts";
import type { State } from "./state.ts";

/** What holding any input counts for, in the unit of its bytes. */
const PER_INPUT = 65_536;

/**
 * Points of each worker for the inputs of a node that it holds: the results of nodes that it completed since
 * it registered. Not computed where no decision uses it.
 */
export function localityOf(state: State, run: Run, node: number): ReadonlyMap<number, number> | undefined {
  if (!state.config.preferLocality && state.config.strategy !== "affinity") return undefined;
  const { start, targets } = run.graph.dependencies;
  let points: Map<number, number> | undefined;
  for (const input of targets.subarray(start[node], start[node + 1])) {
    const holder = state.fleet.workers[run.worker[input] as number];
    if (!holder || holder.status === "Unreachable" || (run.lastSeq[input] as number) < holder.registeredSeq)
      continue;
    points ??= new Map();
    points.set(
      holder.number,
      (points.get(holder.number) ?? 0) + PER_INPUT + (run.resultBytes[input] as number),
    );
  }
  return points;
}
