import { hasBit } from "../core/index.ts";
import { nodeOfKey, runOfKey, type TaskKey } from "../placement/index.ts";
import type { Limit } from "../queue/index.ts";
import type { Group, Pool } from "./group.ts";
import type { State } from "./state.ts";

/**
 * What is kept of a zone's limits for a task that smaller ones went ahead of for too long. One task of a zone at a time,
 * under all of its limits: two that each kept what the other needs would wait for ever.
 */
export interface Kept {
  readonly key: TaskKey;
  readonly group: Group;
}

/**
 * After a task for which room was kept, none is kept in its zone for so many times as long as that task should take. In a long
 * backlog everything has waited for long; room that is kept stands idle, and this bounds how much of the time it does.
 */
export const ROOM_PAUSE = 8;

/**
 * For whom room is kept in this turn. Nothing is while the task could not start anyway: no worker could take it, or a limit
 * was set below what it needs. What that depends on does not change within a dispatch.
 */
export function keepRoom(state: State): void {
  // To clear a map that is empty makes a new one all the same.
  if (state.kept.size > 0) state.kept.clear();
  if (state.roomFor.size === 0) return;
  for (const [zone, key] of state.roomFor) {
    const group = state.tasks(runOfKey(key)).groupOf(nodeOfKey(key));
    if (fitsAtAll(group) && hasWorker(state, group.pool)) state.kept.set(zone, { key, group });
  }
}

/** What others have to leave of a limit. */
export function keptOf(state: State, { zone }: Group, limit: Limit, key: TaskKey | undefined): number {
  const kept = state.kept.get(zone);
  if (!kept || kept.key === key) return 0;
  const at = kept.group.limits.indexOf(limit);
  return at === -1 ? 0 : (kept.group.amounts[at] as number);
}

/** Whether too much runs under its limits and nothing else about them stands in its way. */
export function lacksOnlyRoom({ limits, amounts }: Group, now: number): boolean {
  if (limits.some((limit) => limit.nextAt(now) !== undefined)) return false;
  return limits.some((limit, at) => !limit.hasRoom(amounts[at] as number));
}

/** Whether some task of its zone can start where the group cannot: it needs less of what there is too little of. */
export function isPassedOver(state: State, { zone, limits, amounts }: Group): boolean {
  const lacking = limits.filter((limit, at) => !limit.hasRoom(amounts[at] as number));
  for (const { demand, groups } of state.pools.values()) {
    if (demand.needs.zone !== zone) continue;
    for (const other of groups.values()) {
      for (const limit of lacking) {
        const at = other.limits.indexOf(limit);
        if (at !== -1 && (other.amounts[at] as number) < (amounts[limits.indexOf(limit)] as number))
          return true;
      }
    }
  }
  return false;
}

/** A worker that is kept free for a task under the same limits would wait for what is kept here, and the other way round. */
export function meetsReserved(state: State, { zone, limits }: Group): boolean {
  for (const key of state.fleet.reservations.keys()) {
    const other = state.tasks(runOfKey(key)).groupOf(nodeOfKey(key));
    if (other.zone === zone && other.limits.some((limit) => limits.includes(limit))) return true;
  }
  return false;
}

export function fitsAtAll({ limits, amounts }: Group): boolean {
  return limits.every((limit, at) => (amounts[at] as number) <= limit.max);
}

export function hasWorker({ fleet }: State, { demand }: Pool): boolean {
  fleet.refresh(demand);
  const { cpuMillicores, memoryBytes } = demand.needs;
  return fleet.sorted.some(
    ({ spec }, ordinal) =>
      hasBit(demand.serves, ordinal) &&
      hasBit(fleet.open, ordinal) &&
      spec.cpuMillicores >= cpuMillicores &&
      spec.memoryBytes >= memoryBytes,
  );
}
