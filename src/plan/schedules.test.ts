import fc from "fast-check";
import { expect, test } from "vitest";
import { anyProject, CAPACITIES, faultsOf } from "../../tests/any-project.ts";
import {
  type Activity,
  compile,
  ParallelScheduler,
  type Problem,
  type Project,
  type Schedule,
  Schedules,
} from "./index.ts";

const SEED = { seed: 1, numRuns: 500 };
const anyKeys = fc.array(fc.nat(9), { minLength: 1 });

function keysOf(problem: Problem, draws: readonly number[]): Float64Array {
  return Float64Array.from({ length: problem.size }, (_, n) => draws[n % draws.length] as number);
}

function faults(project: Project, { activity }: Problem, starts: Float64Array): string[] {
  const idOf = (index: number) => (project.activities[index] as Activity).id;
  const startOf = new Map(Array.from(activity, (index, n) => [idOf(index), starts[n] as number]));
  return faultsOf(project, CAPACITIES, startOf);
}

function emptySchedule({ size }: Problem): Schedule {
  return { starts: new Float64Array(size), makespan: 0 };
}

function finished(steps: Generator<void, void>): void {
  while (steps.next().done !== true);
}

test("a parallel schedule respects what needs what and what there is, in whatever order", () => {
  fc.assert(
    fc.property(anyProject(14), anyKeys, (project, draws) => {
      const { problem } = compile(project, CAPACITIES);
      const keys = keysOf(problem, draws);
      const order = Uint32Array.from(keys.keys()).sort((a, b) => (keys[a] as number) - (keys[b] as number));
      const scheduler = new ParallelScheduler(problem);
      scheduler.schedule(order);
      expect(faults(project, problem, scheduler.starts)).toEqual([]);
    }),
    SEED,
  );
});

test("so do serial schedules, from the front and justified to the back", () => {
  fc.assert(
    fc.property(anyProject(14), anyKeys, (project, draws) => {
      const { problem } = compile(project, CAPACITIES);
      const schedules = new Schedules(problem);
      const schedule = emptySchedule(problem);
      finished(schedules.fromFront(keysOf(problem, draws), schedule));
      expect(faults(project, problem, schedule.starts)).toEqual([]);
      const { makespan } = schedule;
      const finishes = schedule.starts.map((start, n) => start + (problem.durations[n] as number));
      finished(schedules.fromBack(finishes, makespan, schedule));
      const begin = problem.running > 0 ? makespan : schedule.makespan;
      // What runs already is as far to the right as the rest in a schedule from the back.
      const starts = schedule.starts.map((start, n) =>
        n < problem.running ? 0 : start + begin - schedule.makespan,
      );
      expect(faults(project, problem, starts)).toEqual([]);
    }),
    SEED,
  );
});

test("justification never lengthens a schedule", () => {
  fc.assert(
    fc.property(anyProject(14), anyKeys, (project, draws) => {
      const { problem } = compile(project, CAPACITIES);
      const schedules = new Schedules(problem);
      const schedule = emptySchedule(problem);
      finished(schedules.fromFront(keysOf(problem, draws), schedule));
      let { makespan } = schedule;
      for (let round = 0; round < 3; round++) {
        const finishes = schedule.starts.map((start, n) => start + (problem.durations[n] as number));
        finished(schedules.fromBack(finishes, makespan, schedule));
        expect(schedule.makespan).toBeLessThanOrEqual(makespan);
        finished(schedules.fromFront(schedule.starts.slice(), schedule));
        expect(schedule.makespan).toBeLessThanOrEqual(makespan);
        makespan = schedule.makespan;
      }
    }),
    SEED,
  );
});
