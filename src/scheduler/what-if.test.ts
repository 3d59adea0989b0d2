import { describe, expect, test } from "vitest";
import { aNode, joins, Loop, submits, submitsTask } from "../../tests/builders.ts";
import {
  type Alteration,
  alteredCourse,
  asEstimated,
  type Course,
  movedTasks,
  type Outcome,
  outcomeOf,
  scoreOf,
  takeSnapshot,
  unknownWorkers,
} from "./index.ts";

const MOST = 100_000;
const SECOND = 1000;

/** Ten tasks of a second each, and one worker with two slots. */
function tenTasks(): Course {
  const loop = new Loop({ fairShare: null, order: "graph" });
  const nodes = Array.from({ length: 10 }, (_, at) => aNode(`n${at}`, { estimateMs: SECOND }));
  loop.turn(1, joins("w", { slots: 2, cpuMillicores: 8000, memoryBytes: 8000 }), submits("r", nodes));
  return { snapshot: takeSnapshot(loop.state), happenings: [] };
}

const played = (course: Course, ...alterations: readonly Alteration[]): Outcome =>
  outcomeOf(alteredCourse(course, alterations), asEstimated, MOST);

const makespanOf = (outcome: Outcome): number => scoreOf(outcome, "here").makespanMs;

describe("[P-15] what if, from the moment of a fork on,", () => {
  test("nothing were otherwise: everything goes as it would, and nothing has moved", () => {
    const course = tenTasks();
    const outcome = played(course);
    expect(outcome.isWhole).toBe(true);
    const { ended, unfinished, makespanMs, waits, utilisation, fairness } = scoreOf(outcome, "here");
    expect({ ended, unfinished, makespanMs }).toEqual({ ended: 10, unfinished: 0, makespanMs: 5 * SECOND });
    expect(waits).toEqual({ meanMs: 2000, p50Ms: 2000, p95Ms: 4000, maxMs: 4000 });
    expect([utilisation, fairness]).toEqual([1, 1]);
    expect(movedTasks(outcome, played(course), "here")).toEqual([]);
    expect(scoreOf(outcome, "elsewhere")).toMatchObject({ ended: 0, makespanMs: 0, utilisation: 0 });
  });

  test("there were more workers, or fewer, or they had other slots", () => {
    const course = tenTasks();
    const before = played(course);
    const more = played(course, { kind: "more-workers", like: "w", count: 4 });
    expect(makespanOf(more)).toBe(SECOND);
    expect(new Set([...more.tasks.values()].map(({ worker }) => worker))).toEqual(
      new Set(["w", "w (2)", "w (3)", "w (4)", "w (5)"]),
    );
    // Two had begun before.
    expect(movedTasks(before, more, "here")).toHaveLength(8);
    expect(makespanOf(played(course, { kind: "slots", worker: "w", slots: 5 }))).toBe(2 * SECOND);
    const none = scoreOf(played(course, { kind: "without-worker", worker: "w" }), "here");
    expect(none).toMatchObject({ unfinished: 10, utilisation: 0 });
    expect(unknownWorkers(course.snapshot, [{ kind: "slots", worker: "x", slots: 1 }])).toEqual(["x"]);
  });

  test("who came later came as well, and those who left, left", () => {
    const { snapshot } = tenTasks();
    const late = {
      at: SECOND,
      stimuli: [joins("late", { slots: 8, cpuMillicores: 8000, memoryBytes: 8000 })],
    };
    // By number: of those that are added, none is it.
    const left = { at: 1500, stimuli: [{ kind: "WorkerLost", worker: 1, code: "left" } as const] };
    const course = { snapshot, happenings: [late, left] };
    const before = played(course);
    const workersOf = ({ tasks }: Outcome) => new Set([...tasks.values()].map(({ worker }) => worker));
    expect(workersOf(before)).toEqual(new Set(["w"]));
    const more = played(course, { kind: "more-workers", like: "w", count: 1 });
    expect(workersOf(more)).toEqual(new Set(["w", "w (2)"]));
    expect(makespanOf(more)).toBeLessThan(makespanOf(before));
    const stays = played({ snapshot, happenings: [late] }, { kind: "without-worker", worker: "w" });
    expect(workersOf(stays)).toEqual(new Set(["late"]));
  });

  test("some tasks had another priority: those that wait, and those to come", () => {
    const loop = new Loop({ fairShare: null, order: "classic" });
    const of = (id: string, agent: string) =>
      submits(id, [aNode("n", { estimateMs: SECOND, priority: 3 })], { agent });
    loop.turn(1, joins("w", { cpuMillicores: 8000, memoryBytes: 8000 }), of("first", "ann"));
    loop.turn(2, of("second", "ann"), of("third", "bob"));
    const happenings = [{ at: 10, stimuli: [of("fourth", "bob")] }];
    const course = { snapshot: takeSnapshot(loop.state), happenings };
    const order = ({ tasks }: Outcome) =>
      [...tasks.values()].sort((a, b) => a.startedAt - b.startedAt).map(({ runId }) => runId);
    expect(order(played(course))).toEqual(["first", "second", "third", "fourth"]);
    const raised = played(course, { kind: "priority", of: { zone: "here", agent: "bob" }, priority: 1 });
    expect(order(raised)).toEqual(["first", "third", "fourth", "second"]);
    expect(movedTasks(played(course), raised, "here").map(({ name }) => name.runId)).toEqual([
      "second",
      ...["third", "fourth"].sort(),
    ]);
    expect(scoreOf(raised, "here").agents.map(({ agent }) => agent)).toEqual(["ann", "bob"]);
    expect(scoreOf(raised, "here").fairness).toBeLessThan(1);
  });

  test("tasks of no run had another priority, but for what is on a worker", () => {
    const loop = new Loop({ fairShare: null, order: "classic" });
    const task = (id: string, type: string) => submitsTask(id, { estimateMs: SECOND, priority: 3, type });
    loop.turn(1, joins("w", { cpuMillicores: 8000, memoryBytes: 8000 }), task("a", "slow"));
    loop.turn(2, task("b", "slow"), task("c", "quick"));
    const course = {
      snapshot: takeSnapshot(loop.state),
      happenings: [{ at: 10, stimuli: [task("d", "quick")] }],
    };
    const order = ({ tasks }: Outcome) =>
      [...tasks.values()].sort((a, b) => a.startedAt - b.startedAt).map(({ id }) => id);
    expect(order(played(course))).toEqual(["a", "b", "c", "d"]);
    const raise = { kind: "priority", of: { zone: "here", type: "quick" }, priority: 0 } as const;
    expect(order(played(course, raise))).toEqual(["a", "c", "d", "b"]);
    expect(order(played(course, { ...raise, of: { zone: "there" } }))).toEqual(["a", "b", "c", "d"]);
  });

  test("settings and limits were others", () => {
    const course = tenTasks();
    const shared = played(course, { kind: "agent-limit", zone: "here", agent: "ann", max: 1 });
    expect(makespanOf(shared)).toBe(9 * SECOND);
    expect(makespanOf(played(course, { kind: "settings", settings: { fairShare: 1 } }))).toBe(9 * SECOND);
    const later = { ...course, happenings: [{ at: 3 * SECOND, stimuli: [] }] };
    expect(makespanOf(played(later, { kind: "settings", settings: { fairShare: 1 } }))).toBe(9 * SECOND);
  });

  test("too much were asked: what was played is told, and that it was not all", () => {
    const outcome = outcomeOf(tenTasks(), asEstimated, 6);
    expect(outcome.isWhole).toBe(false);
    expect(scoreOf(outcome, "here").unfinished).toBeGreaterThan(0);
  });
});
