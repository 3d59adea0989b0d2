import fc from "fast-check";
import { expect, test } from "vitest";
import { anActivity, anyProject, aProject, CAPACITIES } from "../../tests/any-project.ts";
import { type Activity, compile, type Project } from "./index.ts";

const idsOf = (project: Project, order: Uint32Array) =>
  [...order].map((index) => (project.activities[index] as Activity).id);

test("[G-01] done activities satisfy what needs them, and needs that name nothing do not block", () => {
  const project = aProject([
    anActivity("b", { needs: ["a", "ghost"] }),
    anActivity("a", { state: { is: "done" } }),
  ]);
  const { problem, skipped, dangling } = compile(project, {});
  expect(idsOf(project, problem.activity)).toEqual(["b"]);
  expect([...skipped]).toEqual([]);
  expect(dangling).toEqual([{ id: "b", needs: "ghost" }]);
});

test("[G-03] every knot of cycles is named, and what hangs on it waits", () => {
  const project = aProject([
    anActivity("free"),
    anActivity("x", { needs: ["z"] }),
    anActivity("y", { needs: ["x"] }),
    anActivity("z", { needs: ["y"] }),
    anActivity("self", { needs: ["self"] }),
    anActivity("after", { needs: ["x", "free"] }),
  ]);
  const { problem, skipped, cycles } = compile(project, {});
  expect(cycles).toEqual([["x", "z", "y"], ["self"]]);
  expect(idsOf(project, problem.activity)).toEqual(["free"]);
  expect(skipped.get("z")).toEqual({ code: "Cycle", cycle: ["x", "z", "y"] });
  expect(skipped.get("self")).toEqual({ code: "Cycle", cycle: ["self"] });
  expect(skipped.get("after")).toEqual({ code: "Dependencies", waitsFor: ["x"] });
});

test("a cycle that something done or running is part of holds nothing up", () => {
  for (const is of ["done", "running"] as const) {
    const project = aProject([
      anActivity("a", { needs: ["b"], state: { is } }),
      anActivity("b", { needs: ["a"] }),
    ]);
    const { skipped, cycles, problem } = compile(project, {});
    expect([cycles, [...skipped]]).toEqual([[], []]);
    expect(idsOf(project, problem.activity)).toEqual(is === "done" ? ["b"] : ["a", "b"]);
  }
});

test("[G-05] what needs more than there is can never run, and an explicit 0 is 0", () => {
  const project = aProject([
    anActivity("huge", { uses: { slots: 1, tokens: 11 } }),
    anActivity("behind", { needs: ["huge"] }),
    anActivity("nothing", { uses: { slots: 1, tokens: 0 } }),
    anActivity("unlimited", { uses: { slots: 1, gpus: 99 } }),
  ]);
  const { problem, skipped } = compile(project, CAPACITIES);
  expect(idsOf(project, problem.activity)).toEqual(["nothing", "unlimited"]);
  expect([...skipped]).toEqual([
    ["huge", { code: "Unsatisfiable", resource: "tokens", needed: 11, capacity: 10 }],
    ["behind", { code: "Dependencies", waitsFor: ["huge"] }],
  ]);
});

test("held activities are left out with all that hangs on them, also over several", () => {
  const project = aProject([
    anActivity("held", { state: { is: "held", code: "needs-human", detail: "tag needs-human" } }),
    anActivity("next", { needs: ["held"] }),
    anActivity("last", { needs: ["next"] }),
  ]);
  const { problem, skipped } = compile(project, CAPACITIES);
  expect(problem.size).toBe(0);
  expect([...skipped.values()]).toEqual([
    { code: "Held", because: "needs-human", detail: "tag needs-human" },
    { code: "Dependencies", waitsFor: ["held"] },
    { code: "Dependencies", waitsFor: ["next"] },
  ]);
});

test("only resources that can run short are looked at", () => {
  const project = aProject([
    anActivity("a", { uses: { slots: 2, tokens: 5 } }),
    anActivity("b", { uses: { slots: 2, tokens: 5 } }),
  ]);
  expect(compile(project, CAPACITIES).problem.resources).toEqual(["slots"]);
});

test("everything is planned, done or skipped, exactly once, and in a topological order with running ones first", () => {
  fc.assert(
    fc.property(anyProject(12), (project) => {
      const { problem, skipped } = compile(project, CAPACITIES);
      const planned = idsOf(project, problem.activity);
      const done = project.activities.filter(({ state }) => state.is === "done").map(({ id }) => id);
      const all = project.activities.map(({ id }) => id);
      expect([...planned, ...skipped.keys(), ...done].sort()).toEqual(all.sort());
      for (let n = 0; n < problem.size; n++) {
        const { state } = project.activities[problem.activity[n] as number] as Activity;
        expect(state.is === "running").toBe(n < problem.running);
        const { start, targets } = problem.needs;
        for (const need of targets.subarray(start[n], start[n + 1])) expect(need).toBeLessThan(n);
      }
    }),
    { seed: 1, numRuns: 500 },
  );
});
