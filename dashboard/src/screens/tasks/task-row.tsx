import { Link } from "wouter";
import type { TaskSummary } from "../../../../src/protocol/api-schemas.ts";
import type { RowPlace } from "../../parts/long-table.tsx";
import { Status } from "../../parts/status.tsx";
import { useNow } from "../../time/clock.ts";
import { spanText } from "../../time/spans.ts";
import { Time, Took } from "../../time/time.tsx";

interface TaskRowProps {
  readonly task: TaskSummary;
  readonly place: RowPlace;
  readonly isCurrent: boolean;
  readonly isSelected: boolean;
  readonly onToggle: () => void;
}

export function TaskRow({ task, place, isCurrent, isSelected, onToggle }: TaskRowProps) {
  return (
    <tr
      {...place}
      data-task={task.id}
      data-current={isCurrent || undefined}
      data-selected={isSelected || undefined}
    >
      <td>
        <input
          type="checkbox"
          checked={isSelected}
          onChange={onToggle}
          aria-label={`select ${task.task_type} ${task.id}`}
        />
      </td>
      <td>
        <Status name={task.status} />
      </td>
      <td className="task-name">
        <Link href={`/tasks/${task.id}`}>
          {task.node ?? task.task_type} <span className="mono quiet">{task.id.slice(-8)}</span>
        </Link>
      </td>
      <td>{task.agent_id}</td>
      <td>{task.priority_class}</td>
      <td>
        <Time at={task.enqueued_at} />
      </td>
      <td className="number">
        <Waited task={task} />
      </td>
      <td className="number">
        {task.started_at === null ? "–" : <Took from={task.started_at} to={task.completed_at} />}
      </td>
      <td className="task-end" title={task.error_message ?? undefined}>
        {task.error_code === null ? task.worker_id : <span className="failed">{task.error_code}</span>}
      </td>
    </tr>
  );
}

function Waited({ task }: { readonly task: TaskSummary }) {
  const now = useNow();
  const since = Math.max(Date.parse(task.enqueued_at), Date.parse(task.run_at ?? task.enqueued_at));
  const until = task.started_at ?? task.completed_at;
  return spanText((until === null ? now : Date.parse(until)) - since);
}
