import { expect, test } from "vitest";
import { endedAt, runOf, submitted, taskOf } from "../../tests/any-rows.ts";
import { collectGarbage } from "../../tests/heap.ts";
import { MemoryRows } from "./memory-rows.ts";
import { NO_CHANGES, QUEUED, type RowChanges, type SubmittedTask } from "./rows.ts";

const KEPT = 10_000;

function tasksOf(name: string, count: number, changed: Partial<SubmittedTask> = {}): SubmittedTask[] {
  return Array.from({ length: count }, (_, at) => taskOf(`${name}${at}`, changed));
}

function ended(...tasks: readonly SubmittedTask[]): RowChanges {
  return { ...NO_CHANGES, submitted: tasks.map((task) => ({ task, progress: endedAt(100) })) };
}

function progressed(id: string, progress = endedAt(100)): RowChanges {
  return { ...NO_CHANGES, progressed: [{ id, progress }] };
}

test("what ended in an open run is kept, however much it is, and what ended in it first goes first after that", () => {
  const rows = new MemoryRows();
  const run = { id: "r", node: "n" };
  rows.change({ ...submitted(taskOf("a-last", { run })), runs: [runOf("r")] });
  rows.change(ended(...tasksOf("of-run", KEPT, { run })));
  rows.change(progressed("a-last"));
  rows.change(ended(...tasksOf("alone", KEPT)));
  expect(rows.tasks({ zone: "main" }, undefined, 3 * KEPT)).toHaveLength(2 * KEPT + 1);
  rows.change({ ...NO_CHANGES, runsEnded: [{ id: "r", outcome: "completed", endedAt: 200 }] });
  const left = rows.tasks({ zone: "main" }, undefined, 3 * KEPT);
  expect(left).toHaveLength(KEPT);
  expect(left.filter((task) => task.run?.id !== "r")).toEqual([]);
  expect(rows.tasks({ zone: "main", runId: "r" }, undefined, 3 * KEPT)).toEqual(left);
  expect(rows.task("of-run0")).toBeUndefined();
  expect(rows.task("a-last")).toBeDefined();
});

test("a task that was put back is not forgotten, and is the newest when it ends again", () => {
  const rows = new MemoryRows();
  rows.change(ended(taskOf("first"), taskOf("second")));
  rows.change(progressed("first", { ...QUEUED, attempt: 1, seq: 3 }));
  rows.change(ended(...tasksOf("t", KEPT)));
  expect(rows.task("first")).toBeDefined();
  expect(rows.task("second")).toBeUndefined();
  rows.change(progressed("first"));
  expect(rows.task("first")).toBeDefined();
  expect(rows.task("t0")).toBeUndefined();
  rows.change(ended(...tasksOf("u", KEPT - 1)));
  expect(rows.task("first")).toBeDefined();
  rows.change(ended(taskOf("last")));
  expect(rows.task("first")).toBeUndefined();
});

test("a task may come again after it was forgotten, and is listed once", () => {
  const rows = new MemoryRows();
  rows.change(ended(taskOf("t")));
  rows.change(ended(...tasksOf("other", KEPT, { zone: "east" })));
  expect(rows.task("t")).toBeUndefined();
  rows.change(submitted(taskOf("t")));
  expect(rows.tasks({ zone: "main" }, undefined, 10)).toHaveLength(1);
  expect(() => rows.change(submitted(taskOf("new"), taskOf("t")))).toThrow("a task is submitted twice");
  expect(rows.task("new")).toBeUndefined();
});

test("what was forgotten is held by nothing", async () => {
  const rows = new MemoryRows();
  const run = { id: "r", node: "n" };
  const held = (() => {
    const tasks = [...tasksOf("alone", 100), ...tasksOf("of-run", 100, { run })];
    rows.change({ ...ended(...tasks), runs: [runOf("r", { outcome: "completed", endedAt: 100 })] });
    return tasks.map((task) => new WeakRef(task));
  })();
  rows.change(ended(...tasksOf("t", KEPT)));
  await collectGarbage();
  expect(held.filter((task) => task.deref())).toEqual([]);
  expect(rows.tasks({ zone: "main" }, undefined, 2 * KEPT)).toHaveLength(KEPT);
});
