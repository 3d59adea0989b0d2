import { Link } from "wouter";
import type { QueuesAnswer } from "../../../../src/protocol/api-schemas.ts";
import { tasksWith } from "../../parts/filter-link.ts";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";
import { ACTIONS, numbers, TableHead } from "../../parts/table-head.tsx";
import { spanText } from "../../time/spans.ts";
import { PauseButton } from "./pause-button.tsx";
import { QueueState } from "./queue-state.tsx";

interface ExecutorsProps {
  readonly answer: QueuesAnswer;
  readonly mayEdit: boolean;
}

/** What waits and runs, by who should run it. */
export function Executors({ answer: { zone, paused, queues }, mayEdit }: ExecutorsProps) {
  return (
    <Panel title="Executors" aside={<span className="quiet">what could start, and what runs</span>}>
      {queues.length === 0 ? (
        <p className="quiet">No executor has work or a worker.</p>
      ) : (
        <div className="scroll">
          <table className="data queue-table">
            <TableHead
              columns={[
                "executor",
                "state",
                numbers("ready"),
                numbers("oldest waits"),
                numbers("running"),
                numbers("workers"),
                ...(mayEdit ? [ACTIONS] : []),
              ]}
            />
            <tbody>
              {queues.map((queue) => (
                <tr key={queue.executor} data-executor={queue.executor}>
                  <th scope="row">
                    <Link href={tasksWith("executor", queue.executor)}>{queue.executor}</Link>
                  </th>
                  <td>
                    <QueueState isPaused={queue.paused} isZonePaused={paused} workers={queue.workers} />
                  </td>
                  <td className="number">{countText(queue.ready)}</td>
                  <td className="number">
                    {queue.oldest_wait > 0 ? spanText(queue.oldest_wait * 1000) : "–"}
                  </td>
                  <td className="number">{countText(queue.running)}</td>
                  <td className="number">{countText(queue.workers)}</td>
                  {mayEdit && (
                    <td className="number">
                      <PauseButton executor={queue.executor} zone={zone} isPaused={queue.paused} />
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}
