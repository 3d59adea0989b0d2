import type { Priority } from "../graph/index.ts";
import { stageAfter, tierAt } from "../scheduler/index.ts";
import type { Activity, Project } from "./project.ts";

const WAITS = [undefined, "raised", "starved"] as const;

/**
 * What has been ready for longer than the threshold counts as more urgent by one level, and what has for six times as
 * long goes first, as the live scheduler has it. How often anybody looks changes nothing.
 */
export function raiseStarving(project: Project, thresholdMs: number): Project {
  if (!project.activities.some(({ readyForMs = 0 }) => readyForMs > thresholdMs)) return project;
  const activities = project.activities.map((activity): Activity => {
    const wait = WAITS[stageAfter(activity.readyForMs ?? 0, thresholdMs)];
    return wait === undefined ? activity : { ...activity, wait };
  });
  return { ...project, activities };
}

/** The priority that it counts as. */
export function urgencyOf({ priority, wait }: Activity): Priority {
  return tierAt(priority, WAITS.indexOf(wait) as 0 | 1 | 2);
}
