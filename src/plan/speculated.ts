import {
  type SpeculationCause,
  type SpeculationSettings,
  speculationOf,
  speculationTag,
} from "../graph/index.ts";
import { slackOf } from "./critical-path.ts";
import { levelsOf } from "./levels.ts";
import { compile, type Problem } from "./problem.ts";
import type { Activity, Project } from "./project.ts";
import { readyOrder } from "./ready-order.ts";

/** A node that would start in several alternatives. */
export interface Speculated {
  readonly id: string;
  readonly because: SpeculationCause;
  /** `speculate:primary` and so on, one for each. */
  readonly tags: readonly string[];
}

export interface SpeculatedProject {
  /** As it was, but what would be speculated takes what all of its alternatives take. */
  readonly project: Project;
  readonly speculated: readonly Speculated[];
}

/** Decides for what could start now, in its order, what would be speculated with what is then left. */
export function speculate(
  project: Project,
  capacities: Readonly<Record<string, number>>,
  settings: SpeculationSettings,
): SpeculatedProject {
  if (!maySpeculate(project, settings)) return { project, speculated: [] };
  const { problem } = compile(project, capacities);
  const levels = levelsOf(problem);
  const free = new Map(Object.entries(capacities));
  for (let n = 0; n < problem.running; n++) take(free, activityAt(project, problem, n), 1);
  const speculated: Speculated[] = [];
  for (const { n } of readyOrder(project, problem, levels)) {
    const activity = activityAt(project, problem, n);
    if (timesFree(free, activity.uses) < 1) continue;
    const decision = decide(activity, slackOf(problem, levels, n) === 0, settings, free);
    take(free, activity, decision?.tags.length ?? 1);
    if (decision) speculated.push(decision);
  }
  return { project: withAlternatives(project, speculated), speculated };
}

/** What is speculated takes what all of its alternatives take. */
export function withAlternatives(project: Project, speculated: readonly Speculated[]): Project {
  if (speculated.length === 0) return project;
  const timesOf = new Map(speculated.map(({ id, tags }) => [id, tags.length]));
  const activities = project.activities.map((activity) => {
    const times = timesOf.get(activity.id);
    return times === undefined ? activity : { ...activity, uses: multiplied(activity.uses, times) };
  });
  return { ...project, activities };
}

/** A glance that spares most projects the rest. Only what takes a slot is run by somebody, and could be run twice. */
export function maySpeculate({ activities }: Project, settings: SpeculationSettings): boolean {
  if (!settings.enabled) return false;
  return activities.some(
    ({ speculate: asks, risk, uses, state }) =>
      state.is === "open" &&
      (uses[SLOTS] ?? 0) > 0 &&
      (asks || settings.forceSpeculate || settings.autoTriggerRiskLevels.includes(risk)),
  );
}

export const SLOTS = "slots";

function decide(
  activity: Activity,
  critical: boolean,
  settings: SpeculationSettings,
  free: ReadonlyMap<string, number>,
): Speculated | undefined {
  const { slots = 0, tokens = 0, ...others } = activity.uses;
  if (slots === 0) return undefined;
  const spare = { slots: freeOf(free, "slots"), tokens: freeOf(free, "tokens") };
  const decision = speculationOf({ ...activity, critical, slots, tokens }, settings, spare);
  const alternatives = Math.min(decision.alternatives, timesFree(free, others));
  if (alternatives < 2 || !("because" in decision)) return undefined;
  const tags = Array.from({ length: alternatives }, (_, at) => speculationTag(at));
  return { id: activity.id, because: decision.because, tags };
}

function activityAt(project: Project, problem: Problem, n: number): Activity {
  return project.activities[problem.activity[n] as number] as Activity;
}

function freeOf(free: ReadonlyMap<string, number>, resource: string): number {
  return free.get(resource) ?? Number.POSITIVE_INFINITY;
}

function timesFree(free: ReadonlyMap<string, number>, uses: Activity["uses"]): number {
  return Object.entries(uses).reduce((times, [resource, amount]) => {
    return amount === 0 ? times : Math.min(times, Math.floor(freeOf(free, resource) / amount));
  }, Number.POSITIVE_INFINITY);
}

function take(free: Map<string, number>, { uses, duration }: Activity, times: number): void {
  if (duration === 0) return;
  for (const [resource, amount] of Object.entries(uses)) {
    if (free.has(resource)) free.set(resource, freeOf(free, resource) - amount * times);
  }
}

function multiplied(uses: Activity["uses"], times: number): Activity["uses"] {
  return Object.fromEntries(Object.entries(uses).map(([resource, amount]) => [resource, amount * times]));
}
