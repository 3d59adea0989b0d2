import { describe, expect, test } from "vitest";
import { makeInstance, shapes } from "../bench/plan/instances.mjs";
import { compile, lowerBound, Online, type Problem, type Project, Search } from "../src/plan/index.ts";
import { readProject } from "../src/sources/index.ts";
import { anActivity, aProject } from "./any-project.ts";
import { hasSharedData, sharedFile, sharedFiles } from "./shared-data.ts";

interface Instance {
  readonly project: Project;
  readonly problem: Problem;
}

function searched(problem: Problem, schedules: number): number {
  const search = new Search(problem, 1);
  for (const _ of search.steps(schedules, lowerBound(problem).length));
  return search.best.makespan;
}

function online({ project, problem }: Instance): number {
  const scheduler = new Online(project, problem);
  for (const _ of scheduler.steps(Number.MAX_SAFE_INTEGER));
  return scheduler.makespan;
}

function percentAbove(instances: readonly (readonly [makespan: number, least: number])[]): number {
  const sum = instances.reduce((total, [makespan, least]) => total + makespan / least - 1, 0);
  return (100 * sum) / instances.length;
}

describe.skipIf(!hasSharedData)("[G-13] the 480 projects of PSPLIB's j30, whose optima are known", () => {
  const optima = new Map(
    new TextDecoder()
      .decode(hasSharedData ? sharedFile("psplib/bounds.csv") : new Uint8Array())
      .split("\n")
      .map((line) => [line.split(",")[1], Number(line.split(",")[3])]),
  );
  const instances = (hasSharedData ? sharedFiles("psplib/j30") : []).map((path) => {
    const read = readProject(sharedFile(path), path, { now: 0 });
    if (!read.ok) throw new Error(path);
    const { problem } = compile(read.project, read.project.capacities);
    const optimum = optima.get(path.replace(/^.*\/|\.sm$/g, "")) as number;
    return { project: read.project, problem, optimum };
  });

  test("no lower bound is above the optimum", () => {
    expect(instances.length).toBe(480);
    expect(instances.filter(({ problem, optimum }) => lowerBound(problem).length > optimum)).toEqual([]);
  });

  test("the live scheduler is at most 4.5 % above the optimum on average", () => {
    const gap = percentAbove(instances.map((one) => [online(one), one.optimum]));
    expect(gap).toBeGreaterThan(0);
    expect(gap).toBeLessThanOrEqual(4.5);
  });

  test("2,000 schedules come within 0.5 % of it, and never below", () => {
    const some = instances.filter((_, at) => at % 8 === 0);
    const found = some.map(({ problem, optimum }) => [searched(problem, 2_000), optimum] as const);
    expect(found.filter(([makespan, optimum]) => makespan < optimum)).toEqual([]);
    expect(percentAbove(found)).toBeLessThanOrEqual(0.5);
  });
});

test.each([60, 120])(
  "a search shortens what the live scheduler does, also of %i activities nobody tuned it to",
  (size) => {
    const instances = [...shapes(size)]
      .filter((_, at) => at % 5 === 0)
      .map((shape, seed) => {
        const { tasks, capacities } = makeInstance(shape, seed);
        const project = aProject(tasks.map(({ id, ...task }) => anActivity(id, task)));
        return { project, problem: compile(project, capacities).problem };
      });
    const gains = instances.map((one) => [online(one), searched(one.problem, 600)] as const);
    // Of these by 4.4 and 8.6 %.
    expect(percentAbove(gains)).toBeGreaterThan(3);
  },
);
