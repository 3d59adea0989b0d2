import fc from "fast-check";
import { expect, test } from "vitest";
import { anActivity, anyProject, aProject, CAPACITIES, faultsOf } from "../../tests/any-project.ts";
import { type Activity, compile, lowerBound, type Problem, type Project, Search } from "./index.ts";

function searched(
  problem: Problem,
  seed: number,
  schedules: number,
  bound = lowerBound(problem).length,
): Search {
  const search = new Search(problem, seed);
  for (const _ of search.steps(schedules, bound));
  return search;
}

function startsOf(project: Project, { activity }: Problem, { best }: Search): Map<string, number> {
  return new Map(Array.from(activity, (index, n) => [idAt(project, index), best.starts[n] as number]));
}

function idAt(project: Project, index: number): string {
  return (project.activities[index] as Activity).id;
}

test("[G-13] what the search finds respects what needs what and what there is, and is never below the bound", () => {
  fc.assert(
    fc.property(anyProject(14), fc.nat(), fc.integer({ min: 1, max: 300 }), (project, seed, schedules) => {
      const { problem } = compile(project, CAPACITIES);
      const bound = lowerBound(problem).length;
      const search = searched(problem, seed, schedules, bound);
      expect(faultsOf(project, CAPACITIES, startsOf(project, problem, search))).toEqual([]);
      expect(search.best.makespan).toBeGreaterThanOrEqual(bound);
      expect(search.schedules).toBeLessThanOrEqual(schedules);
    }),
    { seed: 1, numRuns: 200 },
  );
});

test("the same seed and number of schedules give the same schedule, and more are never worse", () => {
  fc.assert(
    fc.property(anyProject(20), fc.nat(), (project, seed) => {
      const { problem } = compile(project, CAPACITIES);
      const first = searched(problem, seed, 120, 0);
      const again = searched(problem, seed, 120, 0);
      const longer = searched(problem, seed, 240, 0);
      expect(again.best).toEqual(first.best);
      expect(again.schedules).toBe(first.schedules);
      expect(longer.best.makespan).toBeLessThanOrEqual(first.best.makespan);
    }),
    { seed: 1, numRuns: 100 },
  );
});

test("a schedule that the rule misses is found", () => {
  // The longest first gives 4 + 4 + 3 and 4 + 3 + 3 + 3; best is 4 + 4 + 4 and 3 + 3 + 3 + 3.
  const durations = [4, 4, 3, 3, 3, 3, 4];
  const project = aProject(durations.map((duration, at) => anActivity(`a${at}`, { duration })));
  const { problem } = compile(project, { slots: 2 });
  expect(searched(problem, 1, 1).best.makespan).toBe(13);
  expect(searched(problem, 1, 2_000).best.makespan).toBe(12);
});

test("nothing to plan is a schedule of no length", () => {
  const { problem } = compile(aProject([anActivity("done", { state: { is: "done" } })]), CAPACITIES);
  const search = searched(problem, 1, 100);
  expect([search.best.makespan, search.schedules]).toEqual([0, 1]);
});

test("the caller is let in often, also while one schedule of 100,000 activities is made", () => {
  const project = aProject(
    Array.from({ length: 100_000 }, (_, at) =>
      anActivity(`a${at}`, {
        duration: 1 + ((at * 7_919) % 13),
        uses: { slots: 1, tokens: (at * 31) % 7 },
        needs: at < 50 ? [] : [`a${at - 50 + ((at * 17) % 50)}`],
      }),
    ),
  );
  const { problem } = compile(project, CAPACITIES);
  let yields = 0;
  const search = new Search(problem, 1);
  for (const _ of search.steps(3, lowerBound(problem).length)) yields++;
  expect(search.best.makespan).toBeLessThan(1.2 * lowerBound(problem).length);
  expect(yields).toBeGreaterThan(20);
});
