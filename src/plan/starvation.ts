import type { Priority } from "../graph/index.ts";
import type { Activity, Project } from "./project.ts";

/** After so many times the threshold, a node goes to the front. */
const STARVED_AFTER = 6;

/**
 * What has been ready for longer than the threshold counts as more urgent by one level, and what has for six times as
 * long goes first. How often anybody looks changes nothing.
 */
export function raiseStarving(project: Project, thresholdMs: number): Project {
  if (!project.activities.some(({ readyForMs = 0 }) => readyForMs > thresholdMs)) return project;
  const activities = project.activities.map((activity): Activity => {
    const { readyForMs = 0 } = activity;
    if (readyForMs <= thresholdMs) return activity;
    return { ...activity, wait: readyForMs > STARVED_AFTER * thresholdMs ? "starved" : "raised" };
  });
  return { ...project, activities };
}

/** The priority that it counts as. */
export function urgencyOf({ priority, wait }: Activity): Priority {
  if (wait === "starved") return 0;
  return wait === "raised" ? (Math.max(0, priority - 1) as Priority) : priority;
}
