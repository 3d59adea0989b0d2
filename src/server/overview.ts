import { backlog, type State } from "../scheduler/index.ts";
import type { Caller, Overview } from "./api.ts";
import { slotsOf } from "./levels.ts";
import { isVisible } from "./live-task.ts";
import type { RecentActivity } from "./recent-activity.ts";
import { visibleAgents } from "./zone-views.ts";

/** Agents that are listed, those with most running first; and runs. */
const LISTED = 10;

/** A zone at a glance. It looks at groups, agents and workers, never at every task. */
export function overviewOf(
  state: State,
  caller: Caller,
  now: number,
  recent: Pick<RecentActivity, "of" | "commitMs">,
): Overview {
  const { zone } = caller;
  const { classes, byReason } = backlog(state, now, zone);
  const ended = state.totals.get(zone) ?? { completed: 0, failed: 0, cancelled: 0 };
  const serving = state.fleet.present().filter(({ spec }) => spec.zone === zone || spec.zones.includes(zone));
  return {
    zone,
    now: state.timeOfDay(now),
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
    dataRuns: dataRunsOf(state, caller),
  };
}

/** The latest first; each with what its tasks added to it. */
function dataRunsOf(state: State, caller: Caller): Overview["dataRuns"] {
  const sums = new Map<string, { name: string; held: number; moved: number; freed: number }>();
  for (const run of [...state.dataRuns].reverse()) {
    if (run.outcome !== undefined || run.parent || !isVisible(caller, run)) continue;
    sums.set(run.id, { name: run.name, held: 0, moved: 0, freed: 0 });
    if (sums.size === LISTED) break;
  }
  for (const { rootId, data, resultBytes } of sums.size > 0 ? state.dataRuns : []) {
    const sum = sums.get(rootId);
    if (!sum || !data) continue;
    const { held, moved, freed } = data.bytes(resultBytes);
    sum.held += held;
    sum.moved += moved;
    sum.freed += freed;
  }
  return Array.from(sums, ([id, { name, ...data }]) => ({ id, name, data }));
}
