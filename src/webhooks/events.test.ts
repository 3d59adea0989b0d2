import { expect, test } from "vitest";
import { taskOf } from "../../tests/any-rows.ts";
import { taskIdOf } from "../core/index.ts";
import { QUEUED } from "../store/index.ts";
import { type Ended, eventTypeOf } from "./events.ts";

const RUN = { id: "r1", node: "build" };

function ended(id: string, run: typeof RUN | undefined, attempt: number): Ended {
  const row = {
    ...taskOf(id, { run }),
    ...QUEUED,
    status: "completed",
    attempt,
    endedAt: 5,
    resultBytes: 0,
  } as const;
  return { kind: "task", row };
}

test("the end of a task and of a node is told, that of an alternative is not, nor what was done before", () => {
  expect(eventTypeOf(ended("t1", undefined, 1))).toBe("task.completed");
  expect(eventTypeOf(ended(taskIdOf(RUN.id, RUN.node), RUN, 1))).toBe("task.completed");
  expect(eventTypeOf(ended(taskIdOf(RUN.id, RUN.node), RUN, 0))).toBeUndefined();
  expect(eventTypeOf(ended("t2", { ...RUN, node: "build speculate:alt1" }, 1))).toBeUndefined();
});
