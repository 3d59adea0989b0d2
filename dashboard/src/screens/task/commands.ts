import type { TaskAnswer } from "../../../../src/protocol/api-schemas.ts";
import { quoted } from "../../parts/shell-word.ts";

/** What submits a task like this one: for a shell that knows the key as ORRERY_API_KEY. */
export function curlOf({ executor_id, task_type, payload, priority_tier, zone }: TaskAnswer): string {
  const body = JSON.stringify({ executor: executor_id, task_type, priority: priority_tier, payload });
  return [
    `curl -H "Authorization: Bearer $ORRERY_API_KEY" -H ${quoted(`X-Zone-ID: ${zone}`)}`,
    `-H 'Content-Type: application/json' -d ${quoted(body)} ${location.origin}/api/v2/scheduler/submit`,
  ].join(" ");
}

export function cliOf({ executor_id, task_type, payload, priority_tier }: TaskAnswer): string {
  const options = ["--executor", quoted(executor_id), "--priority", priority_tier];
  return `orrery submit ${quoted(task_type)} ${options.join(" ")} --payload ${quoted(JSON.stringify(payload))} --server ${location.origin}`;
}
