import type { Run } from "./run.ts";
import type { State } from "./state.ts";

/** Who lets go of what workers keep: some nodes of a run, or the cache. */
export type LettingGo = { readonly run: Run; readonly nodes: ReadonlySet<number> } | "cache";

/** Whether a worker is to keep a result, by what it is known by: for a run, or for the cache. */
export function isHolding(state: State, worker: number, chunk: string, less?: LettingGo): boolean {
  if (less !== "cache" && state.cache.isKeptBy(worker, chunk)) return true;
  const [taskId = ""] = chunk.split(":");
  for (const run of state.dataRuns) {
    const { data } = run;
    if (!data) continue;
    const made = run.nodeOfTask(taskId);
    const nodes = [...(made === undefined ? [] : [made]), ...data.nodesOfOrigin(chunk)];
    const left =
      less !== "cache" && less?.run === run ? nodes.filter((node) => !less.nodes.has(node)) : nodes;
    if (left.some((node) => run.chunkIdOf(node) === chunk && data.holders.get(node)?.includes(worker)))
      return true;
  }
  return false;
}
