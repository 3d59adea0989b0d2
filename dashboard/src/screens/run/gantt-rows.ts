import type { RunModel } from "./model.ts";

/** Nodes from top to bottom: in the order in which they started, then as they are planned to, then as they were submitted. */
export function ganttRows({ shape, standing, plannedStart }: RunModel): number[] {
  const at = Float64Array.from(shape.ids, (_, node) => {
    const started = standing.started[node] as number;
    if (started >= 0) return started;
    const ended = standing.ended[node] as number;
    if (ended >= 0) return ended;
    const planned = plannedStart[node] as number;
    return planned >= 0 ? planned : Number.MAX_VALUE;
  });
  return [...shape.ids.keys()].sort((a, b) => (at[a] as number) - (at[b] as number) || a - b);
}
