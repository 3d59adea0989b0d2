import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anActivity, anyProject, aProject, CAPACITIES } from "../../tests/any-project.ts";
import { type Activity, assemble, compile, type Plan, type Project } from "./index.ts";

type Shape = Partial<Activity> & { readonly start?: number };

/** A plan of activities with the starts that they are given; 0 where none is. */
function planOf(shapes: Readonly<Record<string, Shape>>, capacities = CAPACITIES): Plan {
  const project = aProject(Object.entries(shapes).map(([id, { start: _, ...rest }]) => anActivity(id, rest)));
  return planned(project, (id) => shapes[id]?.start ?? 0, capacities);
}

function planned(project: Project, startOf: (id: string) => number, capacities = CAPACITIES): Plan {
  const compiled = compile(project, capacities);
  const { activity } = compiled.problem;
  const starts = Float64Array.from(activity, (index) => startOf(project.activities[index]?.id ?? ""));
  return assemble(project, compiled, {
    mode: "plan",
    starts,
    bound: { length: 10, by: { code: "critical-path" } },
    schedules: 1,
  });
}

/** The project of the specification, in hours. */
const EXAMPLE: Readonly<Record<string, Shape>> = {
  "#1": { duration: 4 },
  "#2": { duration: 2, needs: ["#1"], start: 4 },
  "#3": { duration: 8 },
  "#4": { duration: 4, needs: ["#3"], start: 8 },
  "#5": { duration: 2, needs: ["#2"], start: 6 },
  "#6": { duration: 1, needs: ["#2"], start: 6 },
  "#7": { duration: 2 },
};

describe("the example of the specification", () => {
  const plan = planOf(EXAMPLE);

  test("[G-02] has the critical path #3 → #4, 12 hours", () => {
    expect(plan.criticalPath).toEqual({ ids: ["#3", "#4"], length: 12 });
    expect(plan).toMatchObject({ makespan: 12, lowerBound: 10, gap: 0.2 });
  });

  test("[G-04] goes #3, #1, #7, and says why", () => {
    expect(plan.order).toEqual([
      { id: "#3", reason: { code: "critical-path", slack: 0, holdsUp: 12 } },
      { id: "#1", reason: { code: "holds-up", slack: 4, holdsUp: 8 } },
      { id: "#7", reason: { code: "only", slack: 10, holdsUp: 2 } },
    ]);
    expect(plan.ready).toEqual(["#1", "#3", "#7"]);
  });

  test("has the slack of every node, and lanes from the first that is free", () => {
    expect(Object.fromEntries(plan.schedule.map(({ id, slack }) => [id, slack]))).toEqual({
      ...{ "#1": 4, "#2": 4, "#3": 0, "#4": 0, "#5": 4, "#6": 5, "#7": 10 },
    });
    expect(plan.schedule.map(({ id, lane }) => [id, lane])).toEqual([
      ...[
        ["#3", 0],
        ["#1", 1],
        ["#7", 2],
        ["#2", 1],
        ["#5", 1],
        ["#6", 2],
        ["#4", 0],
      ],
    ]);
    expect(plan.schedule[0]).toEqual({
      ...{ id: "#3", start: 0, finish: 8, lane: 0 },
      ...{ resources: { slots: 1 }, critical: true, slack: 0 },
    });
  });

  test("says of what does not start now what it waits for", () => {
    expect(Object.fromEntries(plan.skipped)).toEqual({
      "#2": { code: "Dependencies", waitsFor: ["#1"] },
      "#4": { code: "Dependencies", waitsFor: ["#3"] },
      "#5": { code: "Dependencies", waitsFor: ["#2"] },
      "#6": { code: "Dependencies", waitsFor: ["#2"] },
    });
  });
});

describe("[G-04] the order", () => {
  const orderOf = (shapes: Readonly<Record<string, Shape>>): string =>
    planOf(shapes)
      .order.map(({ id, reason }) => `${id} ${reason.code}`)
      .join(", ");

  test("is by critical path, priority, risk, what is held up, and submission, in this order", () => {
    expect(orderOf({ a: { priority: 0 }, b: { duration: 2, priority: 4 } })).toBe("b critical-path, a only");
    expect(orderOf({ a: { risk: "critical" }, b: { priority: 1 }, long: { duration: 9 } })).toBe(
      "long critical-path, b priority, a only",
    );
    expect(orderOf({ a: { duration: 2 }, b: { risk: "high" }, long: { duration: 9 } })).toBe(
      "long critical-path, b risk, a only",
    );
    expect(orderOf({ a: {}, b: { duration: 2 }, long: { duration: 9 } })).toBe(
      "long critical-path, b holds-up, a only",
    );
    expect(orderOf({ b: {}, a: {} })).toBe("b submitted, a only");
  });

  test("has neither what runs nor what waits", () => {
    expect(orderOf({ run: { state: { is: "running" } }, wait: { needs: ["run"], start: 1 }, a: {} })).toBe(
      "a only",
    );
  });
});

describe("[G-05] what is ready and does not start now says what it lacks:", () => {
  const skipOf = (shapes: Readonly<Record<string, Shape>>, id: string): unknown =>
    planOf(shapes).skipped.get(id);
  const slots = (count: number): Shape => ({ uses: { slots: count } });

  test("slots", () => {
    const shapes = {
      a: slots(2),
      run: { ...slots(1), state: { is: "running" } as const },
      b: { ...slots(1), start: 1 },
    };
    expect(skipOf(shapes, "b")).toEqual({ code: "no_slots", free: 0 });
  });

  test("tokens, also where there are slots, and smaller work goes ahead", () => {
    const tokens = (count: number, start = 0): Shape => ({ uses: { slots: 1, tokens: count }, start });
    const shapes = { a: tokens(7), large: tokens(5, 1), small: tokens(3) };
    expect(skipOf(shapes, "large")).toEqual({ code: "token_limit", resource: "tokens", needed: 5, free: 0 });
    expect(planOf(shapes).skipped.has("small")).toBe(false);
  });

  test("any other resource", () => {
    const gpus = (start: number): Shape => ({ uses: { gpu: 2 }, start });
    expect(planOf({ a: gpus(0), b: gpus(1) }, { gpu: 3 }).skipped.get("b")).toEqual({
      ...{ code: "resource_limit", resource: "gpu", needed: 2, free: 1 },
    });
  });

  test("room for as long as it takes, which is kept for another", () => {
    const shapes = {
      first: { duration: 2, ...slots(2) },
      big: { duration: 5, needs: ["first"], ...slots(3), start: 2 },
      long: { duration: 3, ...slots(1), start: 7 },
    };
    expect(skipOf(shapes, "long")).toEqual({ code: "Reserved", for: "big" });
  });

  test("more than there is at all: never, and nevertheless ready", () => {
    const plan = planOf({ huge: { uses: { tokens: 11 } }, after: { needs: ["huge"] }, ok: {} });
    expect(plan.skipped.get("huge")).toEqual({
      ...{ code: "Unsatisfiable", resource: "tokens", needed: 11, capacity: 10 },
    });
    expect(plan.skipped.get("after")).toEqual({ code: "Dependencies", waitsFor: ["huge"] });
    expect(plan.ready).toEqual(["huge", "ok"]);
    expect(plan.schedule.map(({ id }) => id)).toEqual(["ok"]);
  });
});

describe("what cannot be planned", () => {
  test("[G-03] cycles are named, and what is not in them is planned", () => {
    const plan = planOf({ a: { needs: ["b"] }, b: { needs: ["a"] }, c: {}, d: { needs: ["d"] } });
    expect(plan.cycles).toEqual([["a", "b"], ["d"]]);
    expect(plan.skipped.get("b")).toEqual({ code: "Cycle", cycle: ["a", "b"] });
    expect(plan.schedule.map(({ id }) => id)).toEqual(["c"]);
  });

  test("[G-01] a blocker that does not exist is reported and does not block; done ones neither", () => {
    const plan = planOf({ a: { needs: ["ghost", "b"] }, b: { state: { is: "done" } } });
    expect(plan.dangling).toEqual([{ id: "a", needs: "ghost" }]);
    expect(plan.ready).toEqual(["a"]);
  });

  test("what is held is not, nor what hangs on it", () => {
    const plan = planOf({
      a: { state: { is: "held", code: "needs-human", detail: "tag" } },
      b: { needs: ["a"] },
    });
    expect(plan.skipped.get("a")).toEqual({ code: "Held", because: "needs-human", detail: "tag" });
    expect(plan).toMatchObject({
      makespan: 0,
      ready: [],
      schedule: [],
      criticalPath: { ids: [], length: 0 },
    });
  });

  test("of nothing a plan is empty", () => {
    expect(planOf({})).toMatchObject({ makespan: 0, schedule: [], order: [], cycles: [] });
  });
});

/** One after the other, each when all before have ended: a schedule that is always allowed. */
function oneByOne(project: Project): Plan {
  const startOf = new Map<string, number>();
  const { problem } = compile(project, CAPACITIES);
  let now = 0;
  for (let n = 0; n < problem.size; n++) {
    const { id, duration, state } = project.activities[problem.activity[n] as number] as Activity;
    startOf.set(id, state.is === "running" ? 0 : now);
    now = state.is === "running" ? Math.max(now, duration) : now + duration;
  }
  return planned(project, (id) => startOf.get(id) ?? 0);
}

test("every activity that is not done is planned, skipped, or both; what starts now is not skipped", () => {
  fc.assert(
    fc.property(anyProject(12), (project) => {
      const plan = oneByOne(project);
      const startOf = new Map(plan.schedule.map(({ id, start }) => [id, start]));
      for (const { id, state } of project.activities) {
        const isKnown = startOf.has(id) || plan.skipped.has(id);
        expect(isKnown).toBe(state.is !== "done");
        if (state.is === "running") expect(startOf.get(id)).toBe(0);
        if (startOf.get(id) === 0 && plan.ready.includes(id)) expect(plan.skipped.has(id)).toBe(false);
      }
      expect([...plan.ready].filter((id) => startOf.has(id)).sort()).toEqual(
        plan.order.map(({ id }) => id).sort(),
      );
    }),
    { seed: 1, numRuns: 500 },
  );
});

test("two that run at the same time have different lanes, and no lane is opened while one is free", () => {
  fc.assert(
    fc.property(anyProject(12), (project) => {
      const { schedule } = oneByOne(project);
      for (const [at, a] of schedule.entries()) {
        const overlapping = schedule.filter((b) => b !== a && b.start <= a.start && a.start < b.finish);
        if (a.finish > a.start) for (const b of overlapping) expect(b.lane).not.toBe(a.lane);
        expect(a.lane).toBeLessThanOrEqual(overlapping.length);
        const next = schedule[at + 1];
        if (next) expect(a.start < next.start || a.lane <= next.lane).toBe(true);
      }
    }),
    { seed: 2, numRuns: 500 },
  );
});
