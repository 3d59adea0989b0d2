import { expect, test } from "vitest";
import { readProject } from "./index.ts";

function read(text: string, name: string): ReturnType<typeof readProject> {
  return readProject(new TextEncoder().encode(text), name, { now: 0 });
}

const YAML = `
name: press
nodes:
  split: {run: "split", estimate: 90s, priority: high}
  page: {run: "page", needs: [split], limits: [licence], tokens: 20000, risk: high, speculate: true}
  bind: {run: "bind", needs: page, size: S, hold: true}
`;

test("a graph file gives its nodes with estimates, limits and holds", () => {
  const result = read(YAML, "press.yaml");
  if (!result.ok) throw new Error(result.problems[0]?.message);
  const { name, unit, activities } = result.project;
  expect({ name, unit }).toEqual({ name: "press", unit: { name: "seconds", ticks: 1000 } });
  expect(
    activities.map(({ id, needs, duration, uses, priority, state }) => [
      id,
      needs,
      duration,
      uses,
      priority,
      state.is,
    ]),
  ).toEqual([
    ["split", [], 90_000, { slots: 1 }, 1, "open"],
    ["page", ["split"], 30_000, { slots: 1, licence: 1, tokens: 20_000 }, 2, "open"],
    ["bind", ["page"], 7_200_000, { slots: 1 }, 2, "held"],
  ]);
  expect(activities[1]).toMatchObject({ risk: "high", speculate: true });
});

test("a graph file is recognised by what it says, and refused in its own words", () => {
  expect(read(YAML, "press").ok).toBe(true);
  expect(read(`# for the press\n---\n${YAML}`, "press").ok).toBe(true);
  const prose = read(`# A readme\n\nWrite\n${YAML}`, "README.md");
  expect(prose.ok ? [] : prose.problems).toMatchObject([{ message: expect.stringContaining("known are") }]);
  expect(read('{"nodes": {"a": {"run": "true"}}}', "press").ok).toBe(true);
  const result = read('{"nodes": {"a": {"run": 7}}}', "press.json");
  expect(result.ok ? [] : result.problems).toMatchObject([{ line: 1, path: "nodes.a.run" }]);
});
