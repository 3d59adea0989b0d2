import type { Activity } from "../plan/index.ts";
import { type FileNode, readGraphFile } from "../protocol/index.ts";
import type { ReadResult } from "./result.ts";

/** Our own graph files, whose nodes count towards the limits that they name. */
export function readGraph(bytes: Uint8Array, fileName: string): ReadResult {
  const result = readGraphFile(bytes, fileName);
  if (!result.ok) return result;
  const { name, nodes } = result.graph;
  const unit = { name: "seconds", ticks: 1_000 } as const;
  return {
    ok: true,
    project: { name, unit, activities: nodes.map(activityOf), capacities: {}, findings: [] },
  };
}

function activityOf({ spec }: FileNode): Activity {
  const { estimateMs, priority, risk, speculate, held, limits, amounts } = spec.task;
  const counted = limits.map((limit, index) => [limit, amounts[index] ?? 1] as const);
  return {
    id: spec.id,
    needs: spec.needs,
    duration: estimateMs,
    uses: { slots: 1, ...Object.fromEntries(counted) },
    priority,
    risk,
    speculate,
    state: held ? { is: "held", code: "held", detail: "hold: true" } : { is: "open" },
  };
}
