import fc from "fast-check";
import { expect, test } from "vitest";
import { anActivity, anyProject, aProject, CAPACITIES } from "../../tests/any-project.ts";
import { type Activity, compile, lowerBound, type Problem } from "./index.ts";

test("the longest chain and the work of each resource are bounds", () => {
  const four = ["a", "b", "c", "d"].map((id) => anActivity(id, { duration: 5, uses: { slots: 1 } }));
  expect(lowerBound(compile(aProject(four), CAPACITIES).problem).length).toBe(7);
  const chain = four.map((one, at) => ({ ...one, needs: four.slice(0, at).map(({ id }) => id) }));
  expect(lowerBound(compile(aProject(chain), CAPACITIES).problem).length).toBe(20);
  const late = [
    anActivity("first", { duration: 3, uses: {} }),
    ...four.map((one) => ({ ...one, needs: ["first"] })),
  ];
  const early = [...late, anActivity("last", { duration: 4, uses: {}, needs: four.map(({ id }) => id) })];
  expect(lowerBound(compile(aProject(late), CAPACITIES).problem).length).toBe(10);
  expect(lowerBound(compile(aProject(early), CAPACITIES).problem).length).toBe(14);
});

test("what cannot run together takes its turns, and what follows from that is a bound too", () => {
  // No two of them fit together, though the work of all would fit into 15.
  const wide = ["a", "b", "c"].map((id) => anActivity(id, { duration: 7, uses: { tokens: 6 } }));
  expect(lowerBound(compile(aProject(wide), CAPACITIES).problem).length).toBe(21);
  // All four take turns, and something follows whichever is last.
  const first = anActivity("first", { duration: 3, uses: { tokens: 6 } });
  const behind = anActivity("behind", { duration: 20, uses: {}, needs: ["first"] });
  const end = anActivity("end", { duration: 2, uses: {}, needs: ["a", "b", "c"] });
  const project = aProject([...wide, first, behind, end]);
  expect(lowerBound(compile(project, CAPACITIES).problem).length).toBe(26);
});

test("what runs already, also more than there should be of it, is waited for", () => {
  const running = ["r1", "r2", "r3", "r4", "r5", "r6"].map((id, at) =>
    anActivity(id, { duration: 4 + at, uses: { slots: 1 }, state: { is: "running" } }),
  );
  const open = ["a", "b", "c"].map((id) => anActivity(id, { duration: 6, uses: { slots: 1 } }));
  // There are three slots: one is free when four of the six have ended, at 7.
  expect(lowerBound(compile(aProject([...running, ...open]), CAPACITIES).problem).length).toBe(13);
});

test("a bound says what makes it: the first that would have to change", () => {
  const byOf = (...activities: readonly Activity[]) =>
    lowerBound(compile(aProject(activities), CAPACITIES).problem).by;
  const of = (id: string, options: Partial<Activity>) => anActivity(id, { duration: 5, ...options });
  const pair = (uses: Activity["uses"]) => [of("a", { uses }), of("b", { uses })];
  expect(byOf(...pair({}))).toEqual({ code: "critical-path" });
  expect(byOf(...pair({ slots: 3 }))).toEqual({ code: "resource", resource: "slots" });
  expect(byOf(...pair({ tokens: 10 }))).toEqual({ code: "resource", resource: "tokens" });
  expect(byOf(...pair({ tokens: 6 }))).toEqual({ code: "refutation" });
  const running = of("r", { uses: { slots: 3 }, state: { is: "running" } });
  expect(byOf(running, of("a", {}))).toEqual({ code: "running" });
});

test("[G-13] no schedule is shorter than the lower bound", () => {
  fc.assert(
    fc.property(anyProject(6), (project) => {
      const { problem } = compile(project, CAPACITIES);
      expect(lowerBound(problem).length).toBeLessThanOrEqual(shortest(problem));
    }),
    { seed: 1, numRuns: 2_000 },
  );
});

/** The shortest makespan, by trying every order in which activities can be placed one by one as early as they fit. */
function shortest(problem: Problem): number {
  const { size, running, durations, needs } = problem;
  const starts = new Array<number>(size).fill(-1);
  for (let n = 0; n < running; n++) starts[n] = 0;
  const finish = (n: number) => (starts[n] as number) + (durations[n] as number);
  let best = Number.POSITIVE_INFINITY;
  const place = (placed: number) => {
    if (placed === size)
      best = Math.min(
        best,
        starts.reduce((end, _, n) => Math.max(end, finish(n)), 0),
      );
    for (let n = 0; n < size; n++) {
      const before = [...needs.targets.subarray(needs.start[n], needs.start[n + 1])];
      if (starts[n] !== -1 || before.some((need) => starts[need] === -1)) continue;
      let start = before.reduce((end, need) => Math.max(end, finish(need)), 0);
      while (!fits(problem, starts, n, start)) start++;
      starts[n] = start;
      place(placed + 1);
      starts[n] = -1;
    }
  };
  place(running);
  return best;
}

function fits(problem: Problem, starts: readonly number[], n: number, start: number): boolean {
  const { durations, demands, capacities } = problem;
  const demand = (of: number, r: number) => demands[of * capacities.length + r] as number;
  for (let time = start; time < start + (durations[n] as number); time++) {
    for (let r = 0; r < capacities.length; r++) {
      const used = starts.reduce((sum, at, other) => {
        const runs = at !== -1 && at <= time && time < at + (durations[other] as number);
        return sum + (runs ? demand(other, r) : 0);
      }, 0);
      if (demand(n, r) > 0 && used + demand(n, r) > (capacities[r] as number)) return false;
    }
  }
  return true;
}
