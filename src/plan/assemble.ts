import { holdsUp, longestChain, slackOf } from "./critical-path.ts";
import { type Occupant, packLanes } from "./lanes.ts";
import { type Levels, levelsOf } from "./levels.ts";
import type { Bound } from "./lower-bound.ts";
import { PassedOver } from "./passed-over.ts";
import type { Plan, Scheduled, Skip } from "./plan.ts";
import type { Compiled, Problem } from "./problem.ts";
import type { Activity, Project } from "./project.ts";
import { readyOrder } from "./ready-order.ts";
import type { Speculated } from "./speculated.ts";

/** What a scheduler came to. */
export interface Found {
  readonly mode: Plan["mode"];
  /** Of each activity of the problem. */
  readonly starts: Float64Array;
  readonly bound: Bound;
  readonly schedules: number;
  readonly speculated?: readonly Speculated[];
}

/** All that a plan says, from the starts alone. */
export function assemble(project: Project, compiled: Compiled, found: Found): Plan {
  const { problem, cycles, dangling } = compiled;
  const levels = levelsOf(problem);
  const chain = longestChain(project, problem, levels);
  const idOf = (n: number): string => activityAt(project, problem, n).id;
  const byStart = startOrder(problem, levels, found.starts);
  const order = readyOrder(project, problem, levels);
  const schedule = scheduleOf(project, problem, levels, found, byStart, new Set(chain));
  const makespan = schedule.reduce((latest, { finish }) => Math.max(latest, finish), 0);
  const { mode, bound, schedules } = found;
  return {
    mode,
    makespan,
    lowerBound: bound.length,
    lowerBoundBy: bound.by,
    gap: bound.length === 0 ? 0 : (makespan - bound.length) / bound.length,
    schedule,
    order: order.map(({ n, reason }) => ({ id: idOf(n), reason })),
    criticalPath: { ids: chain.map(idOf), length: levels.longest },
    ready: readyIds(project, compiled),
    skipped: skippedOf(project, compiled, found.starts, byStart),
    cycles,
    dangling,
    schedules,
  };
}

function activityAt(project: Project, problem: Problem, n: number): Activity {
  return project.activities[problem.activity[n] as number] as Activity;
}

/** Of those that start together, what runs already first, then what most hangs on. */
function startOrder(problem: Problem, levels: Levels, starts: Float64Array): number[] {
  const isOpen = (n: number): number => (n < problem.running ? 0 : 1);
  return Array.from({ length: problem.size }, (_, n) => n).sort(
    (a, b) =>
      (starts[a] as number) - (starts[b] as number) ||
      isOpen(a) - isOpen(b) ||
      holdsUp(problem, levels, b) - holdsUp(problem, levels, a) ||
      (problem.activity[a] as number) - (problem.activity[b] as number),
  );
}

function scheduleOf(
  project: Project,
  problem: Problem,
  levels: Levels,
  { starts, speculated = [] }: Found,
  byStart: readonly number[],
  critical: ReadonlySet<number>,
): Scheduled[] {
  const tagsOf = new Map(speculated.map(({ id, tags }) => [id, tags]));
  const spanOf = (n: number): Occupant => {
    const start = starts[n] as number;
    return { start, finish: start + (problem.durations[n] as number) };
  };
  const timesOf = (n: number): number => tagsOf.get(activityAt(project, problem, n).id)?.length ?? 1;
  const lanes = packLanes(
    byStart.flatMap((n) => (tagsOf.size === 0 ? spanOf(n) : new Array(timesOf(n)).fill(spanOf(n)))),
  );
  let taken = 0;
  const schedule = byStart.map((n): Scheduled => {
    const { id, uses: resources } = activityAt(project, problem, n);
    const slack = slackOf(problem, levels, n);
    const tags = tagsOf.get(id);
    const lane = lanes[taken] as number;
    const one = { id, ...spanOf(n), lane, resources, critical: critical.has(n), slack };
    const alternatives = tags?.map((tag, at) => ({ tag, lane: lanes[taken + at] as number }));
    taken += tags?.length ?? 1;
    return alternatives ? { ...one, alternatives } : one;
  });
  // What starts together has taken lanes in its order, but not always rising ones; zero durations can share one.
  return schedule.sort((a, b) => a.start - b.start || a.lane - b.lane);
}

/** In the order of the file. What is larger than all there is can be ready too: nothing else stands in its way. */
function readyIds({ activities }: Project, { problem, skipped }: Compiled): string[] {
  const { activity, needs, running, size } = problem;
  const ready: number[] = [];
  for (let n = running; n < size; n++) {
    if (needs.start[n] === needs.start[n + 1]) ready.push(activity[n] as number);
  }
  const isTooLarge = ({ id }: Activity): boolean => skipped.get(id)?.code === "Unsatisfiable";
  if (skipped.size > 0 && activities.some(isTooLarge)) {
    const stateOf = new Map(activities.map(({ id, state }) => [id, state.is]));
    const isFree = (need: string): boolean => (stateOf.get(need) ?? "done") === "done";
    for (const [index, one] of activities.entries()) {
      if (isTooLarge(one) && one.needs.every(isFree)) ready.push(index);
    }
  }
  return ready.sort((a, b) => a - b).map((index) => (activities[index] as Activity).id);
}

function skippedOf(
  project: Project,
  { problem, skipped }: Compiled,
  starts: Float64Array,
  byStart: readonly number[],
): Map<string, Skip> {
  const { needs, running, size } = problem;
  const passedOver = new PassedOver(project, problem, starts, byStart);
  const skips = new Map(skipped);
  for (let n = running; n < size; n++) {
    const { id } = activityAt(project, problem, n);
    const waitsFor: string[] = [];
    for (let edge = needs.start[n] as number; edge < (needs.start[n + 1] as number); edge++) {
      waitsFor.push(activityAt(project, problem, needs.targets[edge] as number).id);
    }
    if (waitsFor.length > 0) skips.set(id, { code: "Dependencies", waitsFor });
    else if ((starts[n] as number) > 0) skips.set(id, passedOver.reasonFor(n));
  }
  return skips;
}
