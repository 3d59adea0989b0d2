import fc from "fast-check";
import { expect, test } from "vitest";
import { anyProject, CAPACITIES, faultsOf } from "../../tests/any-project.ts";
import {
  assemble,
  compile,
  levelsOf,
  ParallelScheduler,
  type Plan,
  type Problem,
  type Project,
  Schedules,
  wholeOrder,
} from "./index.ts";

/** As the live scheduler would: whatever fits starts. */
function online(project: Project, problem: Problem): Float64Array {
  const scheduler = new ParallelScheduler(problem);
  scheduler.schedule(wholeOrder(project, problem, levelsOf(problem)));
  return scheduler.starts;
}

/** One after the other in the order of the file, each as early as it fits: later ones fill gaps, but may not delay. */
function inFileOrder(_project: Project, problem: Problem): Float64Array {
  const schedule = { starts: new Float64Array(problem.size), makespan: 0 };
  const keys = Float64Array.from(problem.activity);
  for (const _ of new Schedules(problem).fromFront(keys, schedule));
  return schedule.starts;
}

function planned(project: Project, starts: typeof online): Plan {
  const compiled = compile(project, CAPACITIES);
  const found = { mode: "plan", bound: { length: 0, by: { code: "critical-path" } }, schedules: 1 } as const;
  return assemble(project, compiled, { ...found, starts: starts(project, compiled.problem) });
}

test("what is passed over says the truth about what it lacks, whoever made the schedule", () => {
  fc.assert(
    fc.property(anyProject(12), fc.constantFrom(online, inFileOrder), (project, starts) => {
      const plan = planned(project, starts);
      const now = plan.schedule.filter(({ start, finish }) => start === 0 && finish > 0);
      const free = (resource: string): number =>
        now.reduce((left, { resources }) => left - (resources[resource] ?? 0), CAPACITIES[resource] ?? 0);
      for (const { id } of plan.order) {
        const skip = plan.skipped.get(id);
        const uses = project.activities.find((one) => one.id === id)?.uses ?? {};
        if (skip?.code === "no_slots") expect(uses["slots"]).toBeGreaterThan(free("slots"));
        if (skip?.code === "no_slots") expect(skip.free).toBe(Math.max(0, free("slots")));
        if (skip?.code === "token_limit") {
          expect(uses["tokens"]).toBe(skip.needed);
          expect(skip.needed).toBeGreaterThan(free("tokens"));
        }
        if (skip?.code === "Reserved") expect(startsInItsWay(project, plan, id, skip.for)).toBe(true);
      }
    }),
    { seed: 1, numRuns: 1_500 },
  );
});

test("of several that are short now, the one is named that it waits for in the end", () => {
  fc.assert(
    fc.property(anyProject(12), fc.constantFrom(online, inFileOrder), (project, starts) => {
      const plan = planned(project, starts);
      for (const { id, start } of plan.schedule) {
        const skip = plan.skipped.get(id);
        if (skip?.code !== "no_slots" && skip?.code !== "token_limit") continue;
        const named = skip.code === "no_slots" ? "slots" : "tokens";
        const lacking = (just: number): string[] => lackingAt(project, plan, id, just);
        const still = lacking(0).filter((resource) => lacking(start - 0.5).includes(resource));
        if (still.length > 0) expect(still).toContain(named);
      }
    }),
    { seed: 3, numRuns: 1_500 },
  );
});

function lackingAt(project: Project, plan: Plan, id: string, moment: number): string[] {
  const uses = project.activities.find((one) => one.id === id)?.uses ?? {};
  const held = plan.schedule.filter(({ start, finish }) => start <= moment && moment < finish);
  return Object.keys(CAPACITIES).filter((resource) => {
    const used = held.reduce((sum, { resources }) => sum + (resources[resource] ?? 0), 0);
    return used + (uses[resource] ?? 0) > (CAPACITIES[resource] ?? 0);
  });
}

/** Whether it could not run from 0 on because of the other: so says a look at every moment. */
function startsInItsWay(project: Project, plan: Plan, id: string, other: string): boolean {
  const blocking = plan.schedule.find((one) => one.id === other);
  const startOf = new Map(plan.schedule.map((one) => [one.id, one.id === id ? 0 : one.start]));
  const duration = project.activities.find((one) => one.id === id)?.duration ?? 0;
  const faults = faultsOf(project, CAPACITIES, startOf);
  return blocking !== undefined && blocking.start > 0 && blocking.start < duration && faults.length > 0;
}

test("[G-06] online nothing is kept free: what fits has started", () => {
  fc.assert(
    fc.property(anyProject(12), (project) => {
      const { skipped, order, schedule } = planned(project, online);
      const codes = order.flatMap(({ id }) => skipped.get(id)?.code ?? []);
      expect(codes.filter((code) => code !== "no_slots" && code !== "token_limit")).toEqual([]);
      const startOf = new Map(schedule.map(({ id, start }) => [id, start]));
      expect(faultsOf(project, CAPACITIES, startOf)).toEqual([]);
    }),
    { seed: 2, numRuns: 500 },
  );
});
