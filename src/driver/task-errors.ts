import type { LedgerEvent, TaskFailed } from "../ledger/index.ts";
import type { TaskProgress } from "../store/index.ts";

/** What a row says of how a task, or its last attempt, ended without a result. */
type TaskError = Pick<TaskProgress, "errorCode" | "errorMessage">;

/** An attempt ended, and no report said how. */
export const LOST: TaskError = { errorCode: "lost", errorMessage: "its worker was lost" };

export function errorOfAttempt(event: LedgerEvent): TaskError {
  switch (event.kind) {
    case "AttemptFailed":
      return { errorCode: event.code, errorMessage: event.message };
    case "AttemptTimedOut":
      return { errorCode: "timeout", errorMessage: "it ran longer than its time limit" };
    case "AttemptLost":
      return { errorCode: "lost", errorMessage: "its worker no longer knew of it" };
    default:
      return { errorCode: "", errorMessage: "" };
  }
}

/** Where a task failed for another reason than its last attempt. */
export function errorOfTask({ code }: TaskFailed): TaskError | undefined {
  switch (code) {
    case "expired":
      return { errorCode: code, errorMessage: "its deadline passed before it began" };
    case "escalated":
      return {
        errorCode: code,
        errorMessage: "none of its alternatives is good enough: a person has to look",
      };
    case "poison":
      return {
        errorCode: code,
        errorMessage:
          "three workers were lost while they ran it: it is the likely cause, by ending them, or by computing without a pause on their main thread, which kept them from being heard of (then mark it with onThread, or give it processor: thread)",
      };
    case "expansion":
      return { errorCode: code, errorMessage: "the run that it expanded into did not complete" };
    case "link":
      return { errorCode: code, errorMessage: "the node that it stands for did not complete" };
    case "corrupt":
      return {
        errorCode: code,
        errorMessage:
          "three times its worker did not give the result that it had said it made, or gave another one: if workers cannot reach each other, look at --data-host and --data-url",
      };
    default:
      return undefined;
  }
}

export function errorOfSkipped(because: string): TaskError {
  return { errorCode: "skipped", errorMessage: `${because} did not complete` };
}
