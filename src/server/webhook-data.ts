import type { Fact } from "../driver/index.ts";
import type { SchedulerConfig } from "../ledger/index.ts";
import type { Ended, Webhooks } from "../webhooks/index.ts";
import { handleIn } from "./held-result.ts";
import { runSummary, taskSummary } from "./http/answers.ts";
import { tierOf } from "./live-task.ts";

const ENDS: ReadonlySet<string> = new Set([
  "AttemptFinished",
  "TaskFailed",
  "TaskCancelled",
  "TasksSkipped",
  "RunEnded",
]);

/** What a committed turn means to webhooks. */
export function noteEnds(webhooks: Webhooks, facts: readonly Fact[]): void {
  if (webhooks.isIdle) return;
  for (const { event, about } of facts) if (about && ENDS.has(event.kind)) webhooks.noteEnd(about.zone);
}

/** What is told of something that ended: what its lists show, and of its result the hash and the size. */
export function webhookData(ended: Ended, withResult: boolean, config: SchedulerConfig): unknown {
  if (ended.kind === "run") return runSummary(ended.row);
  const { row } = ended;
  const { result, resultHash, resultBytes } = row;
  const held = handleIn(result);
  return {
    ...taskSummary({ ...row, effectiveTier: tierOf({ config }, row, row.endedAt) }),
    result_hash: resultHash === "" ? null : resultHash,
    result_bytes: held?.bytes ?? resultBytes,
    ...(withResult && !held && result !== undefined && { result: JSON.parse(result) as unknown }),
  };
}
