import { describe, expect, test } from "vitest";
import { readProject } from "./index.ts";

function read(value: unknown, name = "flow.json"): ReturnType<typeof readProject> {
  const text = typeof value === "string" ? value : JSON.stringify(value, undefined, 1);
  return readProject(new TextEncoder().encode(text), name, { now: 0 });
}

function project(value: unknown): Extract<ReturnType<typeof readProject>, { ok: true }>["project"] {
  const result = read(value);
  if (!result.ok) throw new Error(result.problems[0]?.message);
  return result.project;
}

const APART = {
  name: "press",
  schemaVersion: "1.5",
  workflow: {
    specification: {
      tasks: [
        { name: "split", id: "s1", parents: [], children: ["p1", "p2"] },
        { name: "page", id: "p1", parents: ["s1"], children: ["b1"] },
        { name: "page", id: "p2", parents: ["s1"] },
        { name: "bind", id: "b1", parents: ["p2"], children: [] },
      ],
      files: [],
    },
    execution: {
      tasks: [
        { id: "s1", runtimeInSeconds: 1.5 },
        { id: "p1", runtimeInSeconds: 20, coreCount: 4, memoryInBytes: 1024 },
        { id: "p2", runtimeInSeconds: 0.0004, coreCount: 0.5 },
        { id: "b1", runtimeInSeconds: 3 },
      ],
    },
  },
};

describe("a workflow in WfFormat", () => {
  test("with graph and measurements apart (1.5) is read; parents and children both say who comes first", () => {
    const { name, unit, activities, findings } = project(APART);
    expect({ name, unit, findings }).toEqual({
      name: "press",
      unit: { name: "seconds", ticks: 1000 },
      findings: [],
    });
    expect(
      activities.map(({ id, title, needs, duration, uses }) => ({ id, title, needs, duration, uses })),
    ).toEqual([
      { id: "s1", title: "split", needs: [], duration: 1500, uses: { slots: 1 } },
      { id: "p1", title: "page", needs: ["s1"], duration: 20_000, uses: { slots: 1, cpu: 4 } },
      { id: "p2", title: "page", needs: ["s1"], duration: 0, uses: { slots: 1, cpu: 1 } },
      { id: "b1", title: "bind", needs: ["p1", "p2"], duration: 3000, uses: { slots: 1 } },
    ]);
  });

  test.each(["tasks", "jobs"])("with everything in one list of %s (1.0 to 1.4) is read by names", (key) => {
    const list = [
      { name: "split_1", type: "compute", runtime: 12.16, parents: [], cores: 2 },
      { name: "bind_1", type: "compute", runtimeInSeconds: 2, parents: ["split_1"] },
    ];
    const { activities } = project({ workflow: { [key]: list } });
    expect(activities.map(({ id, needs, duration, uses }) => ({ id, needs, duration, uses }))).toEqual([
      { id: "split_1", needs: [], duration: 12_160, uses: { slots: 1, cpu: 2 } },
      { id: "bind_1", needs: ["split_1"], duration: 2000, uses: { slots: 1 } },
    ]);
  });

  test("is survived where measurements, cores or children are wrong, and that is said with the line", () => {
    const tasks = [
      { id: "a", children: ["nobody"], parents: ["elsewhere"] },
      { id: "b", runtimeInSeconds: -1, coreCount: "many" },
      { id: "c", runtimeInSeconds: 1, parents: "a", coreCount: 0 },
    ];
    const { activities, findings } = project(`{"workflow":{"specification":{"tasks":[
${tasks.map((task) => JSON.stringify(task)).join(",\n")}]}}}`);
    expect(activities.map(({ duration }) => duration)).toEqual([1000, 1000, 1000]);
    expect(activities[0]?.needs).toEqual(["elsewhere"]);
    expect(findings.map(({ line, id, code }) => [line, id, code])).toEqual([
      [2, "a", "unknown-child"],
      [2, "a", "no-runtime"],
      [3, "b", "no-runtime"],
      [3, "b", "bad-cores"],
      [4, "c", "bad-parents"],
      [4, "c", "bad-cores"],
    ]);
  });

  test("keeps ids apart where names are shared, and a name that is an id is the id", () => {
    const tasks = [
      { id: "x", name: "same" },
      { id: "y", name: "same" },
      { id: "same", name: "x" },
      { id: "z", name: "z", parents: ["same", "x"] },
    ];
    expect(project({ workflow: { tasks } }).activities[3]?.needs).toEqual(["same", "x"]);
  });

  const damaged = [
    { what: "no tasks", text: '{"workflow":{}}', line: 1, says: "must have specification.tasks" },
    {
      what: "a task that is no map",
      text: '{"workflow":{"tasks":[\n1]}}',
      line: 2,
      says: "task 1 must be a map",
    },
    {
      what: "an id twice",
      text: '{"workflow":{"tasks":[{"id":"a"},\n{"id":"b"},\n{"id":"a"}]}}',
      line: 3,
      says: 'task id "a" is used twice, first on line 1',
    },
  ];
  test.each(damaged)("with $what is refused with its line", ({ text, line, says }) => {
    const result = read(text);
    expect(result.ok ? [] : result.problems).toContainEqual(
      expect.objectContaining({ line, message: expect.stringContaining(says) }),
    );
  });
});
