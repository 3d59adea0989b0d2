import { Link } from "wouter";
import type { TaskAnswer } from "../../../../src/protocol/api-schemas.ts";
import { Facts } from "../../parts/facts.tsx";
import { tasksWith } from "../../parts/filter-link.ts";
import { spanText } from "../../time/spans.ts";
import { Time } from "../../time/time.tsx";

/** What a row says, where it says anything. */
export function TaskFacts({ task }: { readonly task: TaskAnswer }) {
  const by = (key: Parameters<typeof tasksWith>[0], value: string) => (
    <Link href={tasksWith(key, value)}>{value}</Link>
  );
  const facts = [
    ["type", by("type", task.task_type)],
    ["executor", by("executor", task.executor_id)],
    ["agent", by("agent", task.agent_id)],
    ["class", `${task.priority_class} (${task.priority_tier})`],
    ["submitted", <Time key="submitted" at={task.enqueued_at} />],
    ["started", task.started_at && <Time at={task.started_at} />],
    ["ended", task.completed_at && <Time at={task.completed_at} />],
    ["attempts", String(task.attempt)],
    ["worker", task.worker_id],
    ["estimate", spanText(task.estimated_service_time * 1000)],
    ["deadline", task.deadline && <Time at={task.deadline} />],
    ["not before", task.run_at && <Time at={task.run_at} />],
    ["cost", task.cost === "0" ? null : task.cost],
  ] as const;
  return (
    <section className="panel" aria-label="Facts">
      <Facts facts={facts} />
      {task.error_code !== null && (
        <p className="failed task-error">
          {task.error_code}: {task.error_message}
        </p>
      )}
      {task.progress && task.status === "running" && (
        <p>
          <meter value={task.progress.fraction ?? 0} max={1} aria-label="Progress" /> {task.progress.message}
        </p>
      )}
    </section>
  );
}
