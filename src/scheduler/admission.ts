import type { TaskKey } from "../placement/index.ts";
import type { Limit } from "../queue/index.ts";
import type { Group } from "./group.ts";
import { placeKey } from "./group.ts";
import { keepRoom, keptOf } from "./room.ts";
import type { State } from "./state.ts";

/** What keeps a whole group from starting anything, whatever the workers could take. */
export type Barrier =
  | { readonly by: "pause"; readonly executor: string }
  | { readonly by: "fair-share"; readonly running: number; readonly max: number }
  | RoomBarrier
  | { readonly by: "rate"; readonly limit: string; readonly nextAt: number };

/** Too much runs under a limit. */
export interface RoomBarrier {
  readonly by: "concurrency";
  readonly limit: string;
  readonly running: number;
  readonly max: number;
  /** What the task would add. */
  readonly needed: number;
  /** What is kept for another task, which has waited for too long. */
  readonly kept: number;
}

/**
 * The one place that lets tasks start: pauses, the share of the agent, and the limits that the submission named. What is
 * kept of these is for the task with the key alone.
 * Asking changes nothing; starts and ends are counted where they are applied.
 */
export function isAdmitted(state: State, group: Group, now: number, key?: TaskKey): boolean {
  if (!mayRun(state, group)) return false;
  for (let at = 0; at < group.limits.length; at++) {
    const limit = group.limits[at] as Limit;
    const kept = state.kept.size > 0 ? keptOf(state, group, limit, key) : 0;
    if (!limit.admits(now, (group.amounts[at] as number) + kept)) return false;
  }
  return true;
}

/** Whether neither a pause nor the share of its agent stands in its way. */
export function mayRun(state: State, group: Group): boolean {
  if (isPaused(state, group)) return false;
  return state.shares.admit(group.zone, group.shareKey);
}

/** The same, said in full. */
export function barriers(state: State, group: Group, now: number, key?: TaskKey): Barrier[] {
  keepRoom(state);
  const found: Barrier[] = [];
  const { zone } = group;
  const { executor } = group.pool.demand.needs;
  for (const paused of ["", executor]) {
    if (state.paused.has(placeKey(zone, paused))) found.push({ by: "pause", executor: paused });
  }
  const max = state.shares.maxOf(zone, group.shareKey);
  const running = state.shares.running(group.shareKey);
  if (max !== null && running >= max) found.push({ by: "fair-share", running, max });
  for (const [at, limit] of group.limits.entries()) {
    const name = group.limitNames[at] as string;
    const nextAt = limit.nextAt(now);
    if (nextAt !== undefined) found.push({ by: "rate", limit: name, nextAt });
    const needed = group.amounts[at] as number;
    const kept = keptOf(state, group, limit, key);
    if (limit.hasRoom(needed + kept)) continue;
    const { running, max } = limit;
    found.push({ by: "concurrency", limit: name, running, max, needed, kept });
  }
  return found;
}

/** The limit that the task could not start under if nothing else ran. One of 0 is shut, which is for a time. */
export function exceededOf(found: readonly Barrier[]): RoomBarrier | undefined {
  return found.find(
    (barrier): barrier is RoomBarrier =>
      barrier.by === "concurrency" && barrier.max > 0 && barrier.needed > barrier.max,
  );
}

/** When a rate that keeps the group from starting admits again. */
export function nextAdmissionAt(group: Group, now: number): number | undefined {
  let latest: number | undefined;
  for (const limit of group.limits) {
    const at = limit.nextAt(now);
    if (at !== undefined && (latest === undefined || at > latest)) latest = at;
  }
  return latest;
}

/** Whether what its agent spent makes its interactive work wait with the rest. */
export function isDemoted(state: State, group: Group, now: number): boolean {
  const { costThresholdMicros } = state.config;
  if (costThresholdMicros === null) return false;
  const cost = state.costs.get(group.shareKey);
  return cost !== undefined && cost.sum(now) > costThresholdMicros;
}

export function isPaused({ paused }: State, { pool, zone }: Group): boolean {
  return paused.size > 0 && (paused.has(pool.place) || paused.has(placeKey(zone, "")));
}
