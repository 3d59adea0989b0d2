import type { AttemptFinished, Report } from "../ledger/index.ts";
import { isPlaced, Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";

/** What a report is of. */
export type Reported = Pick<Report, "kind" | "run" | "node" | "attempt">;

/** Why an attempt has no result. A lost one says nothing about its task, so that does not wait. */
export type Cause = "failed" | "lost" | "fatal";

export function causeOf(report: Report): Cause {
  if (report.kind === "AttemptLost") return "lost";
  return report.kind === "AttemptFailed" && report.retry === false ? "fatal" : "failed";
}

export function isCurrent(tasks: Tasks | undefined, report: Reported): boolean {
  if (!tasks?.has(report.node)) return false;
  if (tasks.attemptOf(report.node) !== report.attempt) return false;
  const status = tasks.statusOf(report.node);
  return report.kind === "AttemptStarted" ? status === Status.assigned : isPlaced(status);
}

/** Numbers from outside that the ledger could not hold, or not read back, are not recorded at all. */
export function isWellFormed(report: Report): boolean {
  return (
    Number.isSafeInteger(report.run) &&
    Number.isSafeInteger(report.node) &&
    Number.isSafeInteger(report.attempt) &&
    Number.isSafeInteger(report.startedAt) &&
    (report.kind !== "AttemptFinished" || isWellFinished(report)) &&
    (!("costMicros" in report) || Number.isSafeInteger(report.costMicros))
  );
}

function isWellFinished({ resultBytes, assessment }: AttemptFinished): boolean {
  if (!Number.isSafeInteger(resultBytes)) return false;
  if (!assessment) return true;
  const { confidencePermille, lines } = assessment;
  return isWithin(confidencePermille, 1000) && isWithin(lines, Number.MAX_SAFE_INTEGER);
}

function isWithin(number: number, most: number): boolean {
  return Number.isSafeInteger(number) && number >= 0 && number <= most;
}
