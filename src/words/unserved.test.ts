import { expect, test } from "vitest";
import { BUILT_IN_HANDLERS } from "../worker/index.ts";
import { describeUnserved, workerCommand } from "./unserved.ts";

test("a task that nobody could run says how to start a worker for it", () => {
  expect(describeUnserved({ executor: "gpu", type: "resize", known: undefined })).toBe(
    "No worker serves the executor gpu in this zone. Start one: orrery worker --executor gpu --tasks FILE, with a FILE that exports resize.",
  );
  expect(describeUnserved({ executor: "default", type: "resize", known: new Set(["noop", "echo"]) })).toBe(
    "No worker of the executor default knows the task type resize; those that are there know echo, noop. Start one that does: orrery worker --tasks FILE, with a FILE that exports resize.",
  );
  expect(describeUnserved({ executor: "local", type: "command", known: new Set() })).toBe(
    "No worker of the executor local knows the task type command; those that are there know none. Start one that does: orrery worker --shell.",
  );
});

test("what is to be typed is one word of a shell, and has nothing that a terminal would act on", () => {
  expect(workerCommand()).toBe("orrery worker --tasks FILE");
  expect(workerCommand("it's mine", "noop")).toBe("orrery worker --executor 'it'\\''s mine'");
  expect(describeUnserved({ executor: "a\u001b[2J", type: "b\u001b", known: undefined })).not.toContain(
    "\u001b",
  );
});

test("a type that every worker knows needs no file", () => {
  for (const type of Object.keys(BUILT_IN_HANDLERS))
    expect(workerCommand("x", type)).toBe("orrery worker --executor x");
});
