import type { Needs } from "../placement/index.ts";
import type { Group } from "./group.ts";
import type { State } from "./state.ts";

/** Tasks of a zone with the same needs that could start if there were room for them. */
export interface ReadyWork {
  readonly needs: Needs;
  readonly count: number;
  /** Of the oldest; -1 without one. */
  readonly oldestReadyAt: number;
}

/** By what it needs, of one agent or of all: it looks at groups, never at every task. */
export function readyWork(state: State, zone: string, agent?: string): ReadyWork[] {
  const nodes = readyNodes(state, zone);
  const found: ReadyWork[] = [];
  for (const { demand, groups } of state.pools.values()) {
    if (demand.needs.zone !== zone) continue;
    let count = 0;
    let oldest = Number.POSITIVE_INFINITY;
    for (const group of groups.values()) {
      if (agent !== undefined && group.agent !== agent) continue;
      // A run stands in the line once, with all its ready nodes behind it.
      const ofRuns = nodes.get(group) ?? { runs: 0, nodes: 0 };
      count += group.line.size - ofRuns.runs + ofRuns.nodes;
      oldest = Math.min(oldest, ...group.line.oldestByClass());
    }
    if (count === 0) continue;
    found.push({
      needs: demand.needs,
      count,
      oldestReadyAt: oldest === Number.POSITIVE_INFINITY ? -1 : oldest,
    });
  }
  return found;
}

function readyNodes(state: State, zone: string): Map<Group, { runs: number; nodes: number }> {
  const byGroup = new Map<Group, { runs: number; nodes: number }>();
  for (const run of state.runs.values()) {
    if (run.outcome !== undefined || run.zone !== zone) continue;
    for (const { group, size } of run.lanes()) {
      if (size === 0) continue;
      const known = byGroup.get(group) ?? { runs: 0, nodes: 0 };
      byGroup.set(group, { runs: known.runs + 1, nodes: known.nodes + size });
    }
  }
  return byGroup;
}
