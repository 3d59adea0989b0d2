import { expect, test } from "vitest";
import type { TaskFailed } from "../ledger/index.ts";
import { errorOfTask } from "./task-errors.ts";

const failed = (code: TaskFailed["code"]): string | undefined =>
  errorOfTask({ code } as TaskFailed)?.errorMessage;

test("[D-06] a node that workers were lost with may have kept them from being heard of, and it is said what to do", () => {
  expect(failed("poison")).toMatch(
    /three workers were lost .* without a pause .*onThread, or .*processor: thread/,
  );
});

test("[D-07] a result that workers did not give may be out of their reach, and it is said where to look", () => {
  expect(failed("corrupt")).toMatch(/did not give the result.*--data-host and --data-url/);
});
