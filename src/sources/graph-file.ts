import type { Activity } from "../plan/index.ts";
import { type FileNode, readGraphFile } from "../protocol/index.ts";
import { PLAIN, type ReadResult } from "./result.ts";

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
  const { estimateMs, priority, held, limits } = spec.task;
  return {
    ...PLAIN,
    id: spec.id,
    needs: spec.needs,
    duration: estimateMs,
    uses: { slots: 1, ...Object.fromEntries(limits.map((limit) => [limit, 1])) },
    priority,
    state: held ? { is: "held", code: "held", detail: "hold: true" } : { is: "open" },
  };
}
