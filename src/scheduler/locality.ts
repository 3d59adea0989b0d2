import type { Inputs } from "../placement/index.ts";
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

/** The inputs of a node that are on workers; undefined where there are none, and any worker does. */
export function inputsOnWorkers(run: Run, node: number, now: number): Inputs | undefined {
  const { data, graph } = run;
  if (!data || data.holders.size + data.loans.size === 0 || run.taskOf(node).meta) return undefined;
  const at = new Map<number, { count: number; bytes: number }>();
  let count = 0;
  let bytes = 0;
  for (const input of graph.inputsOf(node)) {
    const holders = data.holdersOf(input);
    if (!holders) continue;
    const size = run.resultBytes[input] as number;
    count++;
    bytes += size;
    for (const worker of holders) {
      const has = at.get(worker) ?? { count: 0, bytes: 0 };
      at.set(worker, { count: has.count + 1, bytes: has.bytes + size });
    }
  }
  if (count === 0) return undefined;
  const { type, io } = run.taskOf(node);
  return { count, bytes, at, now, micros: data.times.get(type) ?? 0, ...(io && { io }) };
}
