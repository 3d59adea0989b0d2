import { backlog, type State } from "../scheduler/index.ts";
import type { Caller, Overview } from "./api.ts";
import { slotsOf } from "./levels.ts";
import type { RecentActivity } from "./recent-activity.ts";
import { visibleAgents } from "./zone-views.ts";

/** Agents that are listed, those with most running first. */
const LISTED = 10;

/** A zone at a glance. It looks at groups, agents and workers, never at every task. */
export function overviewOf(state: State, caller: Caller, now: number, recent: RecentActivity): Overview {
  const { zone } = caller;
  const { classes, byReason } = backlog(state, now, zone);
  const ended = state.totals.get(zone) ?? { completed: 0, failed: 0, cancelled: 0 };
  const serving = state.fleet.present().filter(({ spec }) => spec.zone === zone || spec.zones.includes(zone));
  return {
    zone,
    now,
    classes: classes.map(({ ready, running, oldestReadyAt }) => ({
      ready,
      running,
      oldestWaitMs: oldestReadyAt < 0 ? 0 : Math.max(0, now - oldestReadyAt),
    })),
    waiting: byReason,
    ended: { ...ended },
    activity: recent.of(zone),
    commitMs: recent.commitMs(),
    workers: serving.length,
    slots: slotsOf(serving),
    agents: visibleAgents(state, caller, now)
      .sort((a, b) => b.running - a.running)
      .slice(0, LISTED)
      .map(({ agent, running, max }) => ({ agent, running, maxConcurrent: max })),
  };
}
