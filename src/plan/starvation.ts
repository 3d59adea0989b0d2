import type { Priority } from "../graph/index.ts";
import type { Activity, Project } from "./project.ts";

/** After so many times the threshold, a node goes to the front. */
const STARVED_AFTER = 6;

/**
 * What has been ready for longer than the threshold has a priority that is higher by one level, and what has for six
 * times as long the highest, and goes first. How often anybody looks changes nothing.
 */
export function raiseStarving(project: Project, thresholdMs: number): Project {
  if (!project.activities.some(({ readyForMs = 0 }) => readyForMs > thresholdMs)) return project;
  return { ...project, activities: project.activities.map((activity) => raised(activity, thresholdMs)) };
}

function raised(activity: Activity, thresholdMs: number): Activity {
  const { readyForMs = 0, priority } = activity;
  if (readyForMs > STARVED_AFTER * thresholdMs) return { ...activity, priority: 0, starved: true };
  if (readyForMs <= thresholdMs) return activity;
  return { ...activity, priority: Math.max(0, priority - 1) as Priority };
}
