import { expect, test } from "vitest";
import { anActivity, aProject } from "../../tests/any-project.ts";
import { type Activity, assemble, compile, raiseStarving } from "./index.ts";
import { urgencyOf } from "./starvation.ts";

const HOUR = 3_600_000;
const ready = (id: string, hours: number, priority: 0 | 1 | 2 | 3 | 4 = 2) =>
  anActivity(id, { readyForMs: hours * HOUR, priority });

function orderOf(...activities: readonly ReturnType<typeof ready>[]): string {
  const project = raiseStarving(aProject(activities), 4 * HOUR);
  const compiled = compile(project, {});
  const starts = new Float64Array(compiled.problem.size);
  const { order } = assemble(project, compiled, {
    mode: "online",
    starts,
    bound: { length: 1, by: { code: "critical-path" } },
    schedules: 1,
  });
  return order.map(({ id, reason }) => `${id} ${reason.code}`).join(", ");
}

test("[G-09] after the threshold a node is raised by one level, and no more however long it waits", () => {
  const priorityAfter = (hours: number, priority: 0 | 3): number => {
    const [activity] = raiseStarving(aProject([ready("a", hours, priority)]), 4 * HOUR).activities;
    return urgencyOf(activity as Activity);
  };
  expect([0, 4, 4.1, 9, 24, 24.1].map((hours) => priorityAfter(hours, 3))).toEqual([3, 3, 2, 2, 2, 0]);
  expect([5, 25].map((hours) => priorityAfter(hours, 0))).toEqual([0, 0]);
});

test("[G-09] after six times the threshold it goes before the critical path", () => {
  const long = anActivity("long", { duration: 9, priority: 0 });
  expect(orderOf(ready("old", 25, 4), long)).toBe("old starved, long only");
  expect(orderOf(ready("young", 24, 4), long)).toBe("long critical-path, young only");
});

test("[G-04] all else being equal, who has been ready for longer goes first", () => {
  expect(orderOf(ready("late", 1), ready("early", 3))).toBe("early age, late only");
});
