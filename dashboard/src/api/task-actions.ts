import type { BulkAnswer, BulkBody, Cancelled, TaskAnswer } from "../../../src/protocol/api-schemas.ts";
import { post } from "./request.ts";

export type TaskAction = BulkBody["action"];

export function actOn(action: TaskAction, id: string): Promise<Cancelled | TaskAnswer> {
  return post(`/task/${encodeURIComponent(id)}/${action}`);
}

export interface BulkProgress {
  readonly matching: number;
  readonly done: number;
  readonly isAll: boolean;
}

/** Counts, or does it, until all that fit were seen or the signal says stop. */
export async function actOnAll(
  action: TaskAction,
  filter: string,
  isDryRun: boolean,
  signal: AbortSignal,
  onProgress: (progress: BulkProgress) => void,
): Promise<void> {
  let [matching, done] = [0, 0];
  for (let cursor: string | undefined; ; ) {
    const body: BulkBody = { action, filter, dry_run: isDryRun, ...(cursor !== undefined && { cursor }) };
    const answer = await post<BulkAnswer>("/tasks/bulk", { body, signal });
    matching += answer.matching;
    done += answer.done;
    onProgress({ matching, done, isAll: answer.next === null });
    if (answer.next === null) return;
    cursor = answer.next;
  }
}
