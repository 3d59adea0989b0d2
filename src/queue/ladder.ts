import { classAt, deadlineNearAt, isDeadlineNear } from "./classes.ts";
import type { Order, QueueConfig } from "./config.ts";
import type { Entry } from "./entry.ts";
import { HrrnQueue } from "./hrrn-queue.ts";
import { OrderedQueue } from "./ordered-queue.ts";
import type { Rung } from "./rung.ts";

/**
 * How a line is divided in one order, so that on each rung a queue knows its first without asking for classes
 * and tiers. Time lifts entries to other rungs, at moments that are known when they come.
 */
export interface Ladder {
  makeRung(): Rung;
  rungAt(entry: Entry, now: number, config: QueueConfig): number;
  /** The next moment at which it may stand on another rung; infinity: never. */
  nextLift(entry: Entry, now: number, config: QueueConfig): number;
}

const NEVER = Number.POSITIVE_INFINITY;

/**
 * In HRRN order rungs are classes: interactive whatever the agent cost, interactive unless it cost too much,
 * batch, background.
 */
const hrrn: Ladder = {
  makeRung: () => new HrrnQueue(),
  rungAt(entry, now, config) {
    if (classAt(entry, now, true, config) === 0) return 0;
    return 1 + classAt(entry, now, false, config);
  },
  nextLift(entry, now, config) {
    const interactiveAt = Math.min(deadlineNearAt(entry, config), starvedAt(entry, config));
    if (interactiveAt <= now) return NEVER;
    const batchAt = entry.class === 2 ? entry.readyAt + config.starveBackgroundMs + 1 : NEVER;
    return batchAt <= now ? interactiveAt : Math.min(batchAt, interactiveAt);
  },
};

/** When the wait alone makes it interactive. */
function starvedAt(entry: Entry, { starveBatchMs, starveBackgroundMs }: QueueConfig): number {
  if (starveBatchMs === null) return NEVER;
  return entry.readyAt + Math.max(starveBatchMs, entry.class === 2 ? starveBackgroundMs : 0) + 1;
}

/**
 * In classic order rungs are start tiers, and once more those below HIGH whose deadline is near. On each the
 * oldest is first: ageing and the maximal wait never bring a younger one before an older one.
 */
const classic: Ladder = {
  makeRung: () => new OrderedQueue((entry) => [entry.readyAt, 0]),
  rungAt: (entry, now, config) =>
    entry.tier > 1 && isDeadlineNear(entry, now, config) ? entry.tier + 3 : entry.tier,
  nextLift(entry, now, config) {
    const at = entry.tier > 1 ? deadlineNearAt(entry, config) : NEVER;
    return at > now ? at : NEVER;
  },
};

/** In graph order nothing moves. A line holds one entry of each run and tier, so the rest of the order is idle. */
const graph: Ladder = {
  makeRung: () => new OrderedQueue((entry) => [entry.tier, entry.seq]),
  rungAt: () => 0,
  nextLift: () => NEVER,
};

export const LADDERS: Readonly<Record<Order, Ladder>> = { graph, hrrn, classic };
