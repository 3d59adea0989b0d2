import type { TaskAnswer } from "../../../../src/protocol/api-schemas.ts";

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

/** One word for a POSIX shell, whatever is in it. */
function quoted(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
