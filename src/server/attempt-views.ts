import type { State } from "../scheduler/index.ts";
import type { AttemptsView, AttemptView, Caller } from "./api.ts";
import { isVisible } from "./live-task.ts";
import type { RecentAttempt, RecentAttempts } from "./recent-attempts.ts";

const DEFAULT_SPAN_MS = 300_000;

/**
 * What the workers did for a zone since a moment, and do now, oldest first. Of other zones nothing is told; of other agents,
 * to whom that may not be told, only that a slot was theirs.
 */
export function attemptsOf(
  state: State,
  caller: Caller,
  recent: Pick<RecentAttempts, "latest" | "wholeFrom">,
  asked: number | undefined,
  most: number,
  now: number,
): AttemptsView {
  const since = asked ?? Math.max(0, now - DEFAULT_SPAN_MS);
  const found: RecentAttempt[] = [];
  let from = Math.max(since, recent.wholeFrom);
  for (const attempt of recent.latest()) {
    if (attempt.toldAt >= 0 && attempt.toldAt < since) break;
    if (attempt.zone !== caller.zone) continue;
    if (found.length === most) {
      from = Math.max(from, attempt.toldAt);
      break;
    }
    found.push(attempt);
  }
  const attempts = found
    .sort((a, b) => a.assignedAt - b.assignedAt || a.worker - b.worker || a.lane - b.lane)
    .map((attempt) => viewOf(state, caller, attempt));
  return { now, from, attempts };
}

function viewOf(state: State, caller: Caller, attempt: RecentAttempt): AttemptView {
  const { worker, lane, assignedAt, startedAt, endedAt } = attempt;
  const where = { worker: state.worker(worker).id, lane, assignedAt, startedAt, endedAt };
  if (!isVisible(caller, attempt)) return { ...where, task: undefined, transfers: [] };
  const { taskId, node, attempt: number, type, outcome, transfers } = attempt;
  return {
    ...where,
    task: { id: taskId, node, attempt: number, type, outcome },
    transfers: transfers.map(([, from, beganMs, tookMicros]) => ({
      from: state.worker(from).id,
      at: Math.max(0, startedAt + beganMs),
      tookMs: tookMicros / 1000,
    })),
  };
}
