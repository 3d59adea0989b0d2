import type { Worker } from "../placement/index.ts";
import { type Backlog, backlog, type State } from "../scheduler/index.ts";

/** What instruments show of a state, over all zones. */
export interface Levels extends Backlog {
  readonly now: number;
  /** The time of day minus the ledger's time. */
  readonly clockOffsetMs: number;
  readonly workersByStatus: Readonly<Record<string, number>>;
  readonly slots: Slots;
}

/** What workers could run at once. `closed`: of those that take nothing new. */
export interface Slots {
  readonly busy: number;
  readonly free: number;
  readonly closed: number;
}

/** Workers that are known but have none of a status count as none of it, rather than not at all. */
const STATUSES = ["Idle", "Busy", "Overloaded", "Draining", "Unreachable"] as const;

export function levelsOf(state: State, now: number): Levels {
  const workersByStatus: Record<string, number> = Object.fromEntries(STATUSES.map((status) => [status, 0]));
  const workers = state.fleet.present();
  for (const { status } of workers) workersByStatus[status] = (workersByStatus[status] ?? 0) + 1;
  const { clockOffsetMs } = state;
  return { ...backlog(state, now), now, clockOffsetMs, workersByStatus, slots: slotsOf(workers) };
}

export function slotsOf(workers: readonly Worker[]): Slots {
  const slots = { busy: 0, free: 0, closed: 0 };
  for (const { status, spec, inSlots } of workers) {
    if (status === "Unreachable") continue;
    const busy = Math.min(spec.slots, inSlots);
    slots.busy += busy;
    slots[status === "Idle" || status === "Busy" ? "free" : "closed"] += spec.slots - busy;
  }
  return slots;
}
