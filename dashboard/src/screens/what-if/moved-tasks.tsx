import { Link } from "wouter";
import type { WhatIfAnswer } from "../../../../src/protocol/api-schemas.ts";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";
import { TableHead } from "../../parts/table-head.tsx";
import { spanText } from "../../time/spans.ts";

type Moved = WhatIfAnswer["moved"]["tasks"][number];

/** The tasks that would go otherwise, those by most first. */
export function MovedTasks({ answer }: { readonly answer: WhatIfAnswer }) {
  const { total, sooner, later, elsewhere, tasks } = answer.moved;
  const from = Date.parse(answer.now);
  if (total === 0)
    return (
      <Panel title="Tasks that would move">
        <p className="quiet">None: everything would go as it does.</p>
      </Panel>
    );
  return (
    <Panel
      title="Tasks that would move"
      aside={
        <span className="quiet">
          {countText(total)}: {countText(sooner)} sooner, {countText(later)} later, {countText(elsewhere)}{" "}
          elsewhere
        </span>
      }
    >
      <div className="scroll-x">
        <table className="data">
          <TableHead columns={["task", "agent", "begins, as it is", "changed", "difference", "worker"]} />
          <tbody>
            {tasks.map((task) => (
              <Row key={task.task_id} task={task} from={from} />
            ))}
          </tbody>
        </table>
      </div>
      {total > tasks.length && <p className="quiet">The first {countText(tasks.length)} are shown.</p>}
    </Panel>
  );
}

function Row({ task, from }: { readonly task: Moved; readonly from: number }) {
  const { as_is: before, changed: after } = task;
  const begins = (played: Moved["changed"]) =>
    played ? `after ${spanText(Date.parse(played.started_at) - from)}` : "not";
  const workers = [...new Set([before?.worker, after?.worker].filter((one) => one !== undefined))];
  return (
    <tr>
      <td>
        <Link href={`/tasks/${task.task_id}`}>{task.node ?? task.type}</Link>
      </td>
      <td>{task.agent}</td>
      <td>{begins(before)}</td>
      <td>{begins(after)}</td>
      <td>
        {before && after ? shiftText(Date.parse(after.started_at) - Date.parse(before.started_at)) : "—"}
      </td>
      <td>{workers.join(" → ")}</td>
    </tr>
  );
}

function shiftText(ms: number): string {
  if (ms === 0) return "same time";
  return ms < 0 ? `${spanText(-ms)} sooner` : `${spanText(ms)} later`;
}
