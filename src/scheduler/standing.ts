import { RISKS, type TaskSpec } from "../graph/index.ts";

/** How long a node has been ready: below the threshold, above it, above six times it. */
export const FRESH = 0;
export const RAISED = 1;
export const STARVED = 2;
export type Stage = typeof FRESH | typeof RAISED | typeof STARVED;

/** A node starves when it has waited so many times as long as it takes to be raised by a level. */
export const STARVED_AFTER = 6;

export function stageAfter(waitMs: number, thresholdMs: number): Stage {
  if (waitMs > STARVED_AFTER * thresholdMs) return STARVED;
  return waitMs > thresholdMs ? RAISED : FRESH;
}

/** Why one ready node of a run goes before another: the first of these in which they differ. */
export type Precedence = "starved" | "critical-path" | "priority" | "risk" | "holds-up" | "age" | "submitted";

const STARVED_BIT = 64;
const CRITICAL_BIT = 32;
const TIER = 4;

/**
 * Where a ready node stands among those of its run, in one number, the least first: those that starve, then the critical
 * path, then priority, then risk. A pure function of how long it has waited: nothing adds up.
 */
export function standingOf({ priority, risk }: TaskSpec, stage: Stage, isCritical: boolean): number {
  const starved = stage === STARVED ? 0 : STARVED_BIT;
  const critical = isCritical ? 0 : CRITICAL_BIT;
  return starved + critical + TIER * tierAt(priority, stage) + (RISKS.length - 1 - RISKS.indexOf(risk));
}

/** The priority that it has after so long a wait. */
export function tierAt(priority: TaskSpec["priority"], stage: Stage): TaskSpec["priority"] {
  if (stage === STARVED) return 0;
  return stage === RAISED ? (Math.max(0, priority - 1) as TaskSpec["priority"]) : priority;
}

/** Of two that differ. */
export function whatPartsStandings(a: number, b: number): Precedence {
  const parted = a ^ b;
  if (parted & STARVED_BIT) return "starved";
  if (parted & CRITICAL_BIT) return "critical-path";
  return parted >= TIER ? "priority" : "risk";
}
