import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anActivity, anyProject, aProject, CAPACITIES } from "../../tests/any-project.ts";
import { DEFAULT_SPECULATION } from "../graph/index.ts";
import { type Activity, compile, speculate } from "./index.ts";

const CAPACITY = { slots: 4, tokens: 10 };

function speculated(
  activities: readonly Activity[],
  settings = {},
  capacities: Record<string, number> = CAPACITY,
) {
  const result = speculate(aProject(activities), capacities, { ...DEFAULT_SPECULATION, ...settings });
  const uses = Object.fromEntries(result.project.activities.map((activity) => [activity.id, activity.uses]));
  return { uses, ids: result.speculated.map(({ id, tags }) => `${id} ${tags.length}`) };
}

describe("[G-07] what would be speculated", () => {
  const asks = (id: string, options: Partial<Activity> = {}): Activity =>
    anActivity(id, { speculate: true, uses: { slots: 1, tokens: 2 }, ...options });

  test("takes slots and tokens for every alternative, so that the plan keeps them free", () => {
    expect(speculated([asks("a")])).toEqual({ ids: ["a 2"], uses: { a: { slots: 2, tokens: 4 } } });
  });

  test("is decided in the order in which nodes go, with what those before leave", () => {
    expect(speculated([asks("late"), asks("first", { duration: 5 })]).ids).toEqual(["first 2"]);
    expect(speculated([asks("a"), asks("b")], {}, { slots: 6, tokens: 10 }).ids).toEqual(["a 2", "b 2"]);
  });

  test("leaves what runs already its slots", () => {
    const running = anActivity("r", { state: { is: "running" }, uses: { slots: 2 } });
    expect(speculated([running, asks("a")]).ids).toEqual([]);
  });

  test("counts every resource that an alternative takes", () => {
    const uses = { slots: 1, gpu: 1 };
    expect(speculated([asks("a", { uses })], {}, { ...CAPACITY, gpu: 1 }).ids).toEqual([]);
    expect(speculated([asks("a", { uses })], {}, { ...CAPACITY, gpu: 2 }).ids).toEqual(["a 2"]);
  });

  test("is only what is ready, and what takes a slot", () => {
    expect(speculated([anActivity("a"), asks("b", { needs: ["a"] })]).ids).toEqual([]);
    expect(speculated([asks("a", { uses: { tokens: 1 } })]).ids).toEqual([]);
  });

  test("is risky and on the critical path where it does not ask itself", () => {
    const risky = (id: string, duration: number) => anActivity(id, { risk: "high", duration });
    expect(speculated([risky("short", 1), risky("long", 2)]).ids).toEqual(["long 2"]);
  });

  test("never makes a project impossible that was possible", () => {
    fc.assert(
      fc.property(anyProject(10), (project) => {
        const settings = { ...DEFAULT_SPECULATION, forceSpeculate: true };
        const { project: changed } = speculate(project, CAPACITIES, settings);
        expect(compile(changed, CAPACITIES).skipped).toEqual(compile(project, CAPACITIES).skipped);
      }),
      { seed: 1 },
    );
  });
});
