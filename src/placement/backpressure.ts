import type { Fleet } from "./fleet.ts";

/** Above this share of the workers' queue room, submitters are asked to slow down. */
const THROTTLE_ABOVE = 0.5;

/**
 * Whether new work is welcome. The fleet counts as it goes, so both answers cost the same whatever its size.
 * Full worker queues are normal while a backlog waits: without a threshold they only throttle.
 */
export function shouldAccept(fleet: Fleet, rejectThreshold: number | null): boolean {
  return rejectThreshold === null || fleet.usage < rejectThreshold;
}

export function shouldThrottle(fleet: Fleet): boolean {
  return fleet.usage > THROTTLE_ABOVE;
}
