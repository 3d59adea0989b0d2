import type { Plan, Project, Scheduled, Speculated } from "../plan/index.ts";
import { inUnit } from "./plan-words.ts";

/** A plan with all that is told of it. */
export interface PlanReport {
  readonly project: Project;
  readonly plan: Plan;
  readonly capacities: Readonly<Record<string, number>>;
  readonly speculated: readonly Speculated[];
  /** How long all would take without those alternatives, where there are any. */
  readonly makespanWithout: number | undefined;
  /** Live, more nodes may be tried in several alternatives when they start. */
  readonly mayDecideLater: boolean;
  readonly seed: number;
}

/** What is drawn as one bar: a node, or one of its alternatives. */
export interface Bar extends Scheduled {
  readonly tag?: string;
}

export function barsOf({ schedule }: Plan): Bar[] {
  return schedule.flatMap(
    (one): Bar | Bar[] => one.alternatives?.map((each) => ({ ...one, ...each })) ?? one,
  );
}

/** When the last that each node needs ends. */
export function readyTimes({ plan, project }: PlanReport): Map<string, number> {
  const finishes = new Map(plan.schedule.map(({ id, finish }) => [id, finish]));
  const latest = (needs: readonly string[]): number =>
    needs.reduce((at, need) => Math.max(at, finishes.get(need) ?? 0), 0);
  return new Map(project.activities.map(({ id, needs }) => [id, latest(needs)]));
}

/** For programs: times as numbers in the project's unit. */
export function planJson({ project, plan, speculated, makespanWithout, seed }: PlanReport): object {
  const time = (ticks: number): number => inUnit(ticks, project.unit);
  const startOf = new Map(plan.schedule.map(({ id, start }) => [id, start]));
  return {
    mode: plan.mode,
    unit: project.unit.name,
    makespan: time(plan.makespan),
    lowerBound: time(plan.lowerBound),
    lowerBoundBy: plan.lowerBoundBy,
    gap: plan.gap,
    schedule: plan.schedule.map(({ id, start, finish, lane, resources, alternatives }) => ({
      id,
      start: time(start),
      finish: time(finish),
      lane,
      resources,
      ...(alternatives ? { alternatives } : {}),
    })),
    order: plan.order.map(({ id, reason: { code, slack, holdsUp } }) => ({
      id,
      reason: { code, slack: time(slack), holdsUp: time(holdsUp) },
    })),
    criticalPath: { ids: plan.criticalPath.ids, length: time(plan.criticalPath.length) },
    ready: plan.ready,
    skipped: Object.fromEntries(plan.skipped),
    speculation: speculated.map(({ id, because, tags }) => ({
      id,
      start: time(startOf.get(id) ?? 0),
      alternatives: tags.length,
      because,
      tags,
    })),
    makespanWithoutSpeculation: makespanWithout === undefined ? null : time(makespanWithout),
    cycles: plan.cycles,
    dangling: plan.dangling,
    findings: project.findings,
    schedules: plan.schedules,
    seed,
  };
}

/** Two plans side by side, and who starts at another time in the second. */
export function planDiffJson(before: PlanReport, after: PlanReport): object {
  const time = (ticks: number | undefined): number | null =>
    ticks === undefined ? null : inUnit(ticks, after.project.unit);
  return {
    before: planJson(before),
    after: planJson(after),
    moved: movedNodes(before.plan, after.plan).map(({ id, startBefore, startAfter }) => ({
      id,
      startBefore: time(startBefore),
      startAfter: time(startAfter),
    })),
    sooner: time(before.plan.makespan - after.plan.makespan),
  };
}

/** `undefined`: it is not planned. */
export interface Moved {
  readonly id: string;
  readonly startBefore: number | undefined;
  readonly startAfter: number | undefined;
}

/** By when they start in the second plan. */
export function movedNodes(before: Plan, after: Plan): Moved[] {
  const startBefore = new Map(before.schedule.map(({ id, start }) => [id, start]));
  const startAfter = new Map(after.schedule.map(({ id, start }) => [id, start]));
  const ids = [...startAfter.keys(), ...[...startBefore.keys()].filter((id) => !startAfter.has(id))];
  return ids
    .map((id) => ({ id, startBefore: startBefore.get(id), startAfter: startAfter.get(id) }))
    .filter((moved) => moved.startBefore !== moved.startAfter);
}
