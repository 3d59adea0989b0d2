import fc from "fast-check";
import type { Activity, ActivityState, Project } from "../src/plan/index.ts";

/** Of all projects here, unless something else is tried. */
export const CAPACITIES: Readonly<Record<string, number>> = { slots: 3, tokens: 10 };

const OPEN: ActivityState = { is: "open" };

export function anActivity(id: string, options: Partial<Activity> = {}): Activity {
  return {
    id,
    needs: [],
    duration: 1,
    uses: { slots: 1 },
    priority: 2,
    risk: "medium",
    speculate: false,
    state: OPEN,
    ...options,
  };
}

export function aProject(activities: readonly Activity[]): Project {
  return {
    name: "p",
    unit: { name: "units", ticks: 1 },
    activities,
    capacities: CAPACITIES,
    findings: [],
  };
}

const anyState: fc.Arbitrary<ActivityState> = fc.oneof(
  { weight: 8, arbitrary: fc.constant(OPEN) },
  { weight: 1, arbitrary: fc.constant<ActivityState>({ is: "running" }) },
  { weight: 1, arbitrary: fc.constant<ActivityState>({ is: "done" }) },
  { weight: 1, arbitrary: fc.constant<ActivityState>({ is: "held", code: "held", detail: "" }) },
);

/** Done, running and held ones, needs that name nothing or form cycles, and demands that nothing can meet. */
export function anyProject(maxActivities: number): fc.Arbitrary<Project> {
  const shape = fc.record({
    duration: fc.nat(6),
    slots: fc.nat(2),
    tokens: fc.nat(12),
    picks: fc.array(fc.nat(1_000), { maxLength: 2 }),
    state: anyState,
    forward: fc.nat(20).map((draw) => draw === 0),
  });
  return fc.array(shape, { minLength: 1, maxLength: maxActivities }).map((shapes) =>
    aProject(
      shapes.map(({ duration, slots, tokens, picks, state, forward }, at) => {
        const reach = forward ? shapes.length + 1 : at;
        const needs = reach === 0 ? [] : picks.map((pick) => `a${pick % reach}`);
        return anActivity(`a${at}`, { duration, uses: { slots, tokens }, needs, state });
      }),
    ),
  );
}

/** What is wrong with a schedule, looked at moment by moment; it knows nothing of how schedules are made. */
export function faultsOf(
  project: Project,
  capacities: Readonly<Record<string, number>>,
  startOf: ReadonlyMap<string, number>,
): string[] {
  const faults: string[] = [];
  const byId = new Map(project.activities.map((activity) => [activity.id, activity]));
  const planned = project.activities.filter(({ id }) => startOf.has(id));
  const start = ({ id }: Activity) => startOf.get(id) as number;
  const isAt = (activity: Activity, time: number) =>
    start(activity) <= time && time < start(activity) + activity.duration;
  for (const activity of planned) {
    if (start(activity) < 0) faults.push(`${activity.id} starts before 0`);
    if (activity.state.is === "running" && start(activity) !== 0) faults.push(`${activity.id} runs already`);
    if (activity.state.is !== "open") continue;
    for (const need of activity.needs) {
      const needed = byId.get(need);
      if (needed === undefined || needed.state.is === "done") continue;
      if (!startOf.has(need)) faults.push(`${activity.id} is planned without ${need}`);
      else if (start(needed) + needed.duration > start(activity))
        faults.push(`${activity.id} before ${need}`);
    }
    for (const [resource, capacity] of Object.entries(capacities)) {
      const used = planned.filter((other) => isAt(other, start(activity)));
      const sum = used.reduce((total, { uses }) => total + (uses[resource] ?? 0), 0);
      const exceeds = sum > capacity && (activity.uses[resource] ?? 0) > 0 && activity.duration > 0;
      if (exceeds) faults.push(`${sum} ${resource} at ${start(activity)}`);
    }
  }
  return faults;
}
