import { nodeOfKey, runOfKey } from "../placement/index.ts";
import { Limit, type LimitSnapshot } from "../queue/index.ts";
import { zonedKey } from "./group.ts";
import type { State } from "./state.ts";

/** A limit without settings. */
export const NEVER_SET = new Limit().toSnapshot();

/** Whether the snapshot of a limit says no more than what runs under it. */
export function isNeverSet({ running: _, ...limit }: LimitSnapshot): boolean {
  return Object.entries(limit).every(([name, value]) => NEVER_SET[name as keyof LimitSnapshot] === value);
}

/** Returns how much runs under each name, in the amounts that tasks count with, by `zonedKey`. Looks at all that workers have. */
export function runningByName(state: State): Map<string, number> {
  const sums = new Map<string, number>();
  for (const worker of state.fleet.known()) {
    for (const key of worker.held.keys()) {
      const { zone, limitNames, amounts } = state.tasks(runOfKey(key)).groupOf(nodeOfKey(key));
      for (let at = 0; at < limitNames.length; at++) {
        const name = zonedKey(zone, limitNames[at] as string);
        sums.set(name, (sums.get(name) ?? 0) + (amounts[at] as number));
      }
    }
  }
  return sums;
}
