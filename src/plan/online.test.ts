import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anActivity, anyProject, aProject, CAPACITIES, faultsOf } from "../../tests/any-project.ts";
import { hasSharedData, sharedFile, sharedFiles } from "../../tests/shared-data.ts";
import { DEFAULT_SPECULATION } from "../graph/index.ts";
import { readProject } from "../sources/index.ts";
import { type Activity, assemble, compile, Online, type Project, withAlternatives } from "./index.ts";

const HOUR = 3_600_000;

function onlineStarts(project: Project, capacities = project.capacities): Map<string, number> {
  const { problem } = compile(project, capacities);
  const online = new Online(project, problem);
  for (const _ of online.steps(4 * HOUR));
  return new Map(
    Array.from(problem.activity, (index, n) => [project.activities[index]?.id ?? "", online.starts[n] ?? -1]),
  );
}

function inHours(...activities: readonly Activity[]): Project {
  return { ...aProject(activities), unit: { name: "hours", ticks: HOUR } };
}

describe("online", () => {
  test("everything that can be planned has a start that breaks no rule, also beside what runs already", () => {
    fc.assert(
      fc.property(anyProject(14), (project) => {
        const starts = onlineStarts(project);
        const planned = compile(project, CAPACITIES).problem.size;
        expect(starts.size).toBe(planned);
        expect(faultsOf(project, CAPACITIES, starts)).toEqual([]);
      }),
      { seed: 1, numRuns: 400 },
    );
  });

  test("[G-07] alternatives break no rule either, and two slots are spare beside each node that is tried", () => {
    const tried = fc.record({ project: anyProject(10), slots: fc.integer({ min: 2, max: 7 }) });
    fc.assert(
      fc.property(tried, ({ project: any, slots }) => {
        const activities = any.activities.map((one) => ({ ...one, uses: { ...one.uses, slots: 1 } }));
        const project = { ...any, activities };
        const capacities = { ...CAPACITIES, slots };
        const { problem } = compile(project, capacities, "used");
        const online = new Online(project, problem);
        for (const _ of online.steps(4 * HOUR, { ...DEFAULT_SPECULATION, forceSpeculate: true }));
        const starts = new Map(
          Array.from(problem.activity, (index, n) => [activities[index]?.id ?? "", online.starts[n] ?? -1]),
        );
        expect(faultsOf(withAlternatives(project, online.speculated), capacities, starts)).toEqual([]);
        if (slots < 3) expect(online.speculated).toEqual([]);
      }),
      { seed: 3, numRuns: 300 },
    );
  });

  test("[G-07] a node is tried when it starts, with what is then free; what runs already has its slots", () => {
    const project = aProject([
      anActivity("a", { duration: 1 }),
      anActivity("b", { duration: 6, needs: ["a"], risk: "high" }),
      anActivity("c", { duration: 5, needs: ["a"] }),
      anActivity("d", { duration: 5, needs: ["a"] }),
    ]);
    const play = (given: Project): string[] => {
      const online = new Online(given, compile(given, CAPACITIES, "used").problem);
      for (const _ of online.steps(4 * HOUR, DEFAULT_SPECULATION));
      return [...online.speculated.map(({ id, tags }) => `${id} ${tags.length}`), `${online.makespan}`];
    };
    expect(play(project)).toEqual(["b 2", "11"]);
    const running = (duration: number): Project => ({
      ...project,
      activities: [...project.activities, anActivity("r", { duration, state: { is: "running" } })],
    });
    expect(play(running(1))).toEqual(["b 2", "11"]);
    expect(play(running(2))).toEqual(["7"]);
  });

  test("[G-04] what is first in the order of a plan starts now, if it fits at all", () => {
    fc.assert(
      fc.property(anyProject(14), (project) => {
        const compiled = compile(project, CAPACITIES);
        const online = new Online(project, compiled.problem);
        for (const _ of online.steps(4 * HOUR));
        const found = {
          mode: "online",
          starts: online.starts,
          bound: { length: 0, by: { code: "critical-path" } },
          schedules: 1,
        } as const;
        const { order, skipped, makespan } = assemble(project, compiled, found);
        expect(makespan).toBe(online.makespan);
        const isFull = project.activities.some(({ state }) => state.is === "running");
        if (order[0] && !isFull) expect(skipped.has(order[0].id)).toBe(false);
      }),
      { seed: 2, numRuns: 400 },
    );
  });

  test("[G-04] what is critical is so by what remains, not by what was planned at first", () => {
    const project = aProject([
      anActivity("long", { duration: 9, uses: { slots: 3 } }),
      anActivity("urgent", { duration: 1, priority: 0, uses: { slots: 3 } }),
      anActivity("second", { duration: 5, priority: 4, uses: { slots: 3 } }),
    ]);
    expect([...onlineStarts(project)]).toEqual([
      ["long", 0],
      ["urgent", 14],
      ["second", 9],
    ]);
  });

  test("[G-09] what has waited for a day goes before the critical path", () => {
    const stream = Array.from({ length: 12 }, (_, at) =>
      anActivity(`s${at}`, { duration: 4 * HOUR, needs: at === 0 ? [] : [`s${at - 1}`], uses: { slots: 3 } }),
    );
    const project = inHours(
      ...stream,
      anActivity("old", { duration: HOUR, priority: 4, uses: { slots: 3 } }),
    );
    expect(onlineStarts(project).get("old")).toBe(28 * HOUR);
  });

  test("[G-09] what has been ready for a day when the plan begins goes first, and raises add up to nothing", () => {
    const at = (hours: number, priority: 1 | 2 | 3) => ({
      ...{ readyForMs: hours * HOUR, duration: HOUR, priority, uses: { slots: 3 } },
    });
    const long = anActivity("long", { duration: 9 * HOUR, uses: { slots: 3 } });
    const old = inHours(long, anActivity("gate 0", at(25, 3)));
    expect([...onlineStarts(old)]).toEqual([
      ["long", HOUR],
      ["gate 0", 0],
    ]);
    const raised = inHours(long, anActivity("low", at(5, 3)), anActivity("high", at(0, 1)));
    expect(onlineStarts(raised).get("high")).toBe(9 * HOUR);
  });

  test.runIf(hasSharedData)("[G-13] is on average at most 4.6 % above the optimum of PSPLIB's j30", () => {
    const bounds = new TextDecoder().decode(sharedFile("psplib/bounds.csv")).split("\n");
    const optimumOf = new Map(
      bounds.map((line) => line.split(",")).map(([, name, , best]) => [name, Number(best)]),
    );
    // A third of them, of every kind: there are ten of each in a row.
    const paths = sharedFiles("psplib/j30").filter((_, at) => at % 3 === 0);
    const gaps = paths.map((path) => {
      const result = readProject(sharedFile(path), path, { now: 0 });
      if (!result.ok) throw new Error(`${path} cannot be read`);
      const { problem } = compile(result.project, result.project.capacities);
      const online = new Online(result.project, problem);
      for (const _ of online.steps(4 * HOUR));
      return online.makespan / (optimumOf.get(result.project.name) ?? 0) - 1;
    });
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0);
    expect(gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length).toBeLessThan(0.046);
  });
});
