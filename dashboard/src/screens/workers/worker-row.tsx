import { Link } from "wouter";
import type { WorkerAnswer } from "../../../../src/protocol/api-schemas.ts";
import { bytesText, coresText, countText } from "../../parts/numbers.ts";
import { rejectionText } from "../../parts/rejections.ts";
import { DrainButton } from "./drain-button.tsx";
import { WorkerStatus } from "./worker-status.tsx";

/** Tasks that are named in a row. */
const NAMED = 3;

export function WorkerRow({ worker }: { readonly worker: WorkerAnswer }) {
  const { id, status, slots, held, io_slots, io_held, running, rejects, chunks } = worker;
  const inSlots = held - io_held;
  const rejected = Object.entries(rejects);
  return (
    <tr data-worker={id}>
      <th scope="row">
        <Link href={`/workers/${encodeURIComponent(id)}`}>{id}</Link>
        {worker.zone === "" && <span className="quiet"> from another zone</span>}
      </th>
      <td>
        <WorkerStatus status={status} />
      </td>
      <td className="worker-slots">
        <meter
          value={Math.min(inSlots, slots)}
          max={slots}
          aria-label={`${inSlots} of ${slots} slots are taken`}
        />
        <span className="number">
          {countText(inSlots)}/{countText(slots)}
        </span>
        {io_slots > 0 && (
          <span className="quiet" title="For nodes that mostly wait, beside the slots">
            {" "}
            I/O {countText(io_held)}/{countText(io_slots)}
          </span>
        )}
      </td>
      <td className="number">
        {coresText(worker.free_cpu_millicores)}
        <span className="quiet"> of {coresText(worker.cpu_millicores)}</span>
      </td>
      <td className="number">
        {bytesText(worker.free_memory_bytes)}
        <span className="quiet"> of {bytesText(worker.memory_bytes)}</span>
      </td>
      <td className="worker-running">
        {running.slice(0, NAMED).map((task) => (
          <Link key={task.id} href={`/tasks/${task.id}`}>
            {task.node ?? task.task_type}
          </Link>
        ))}
        {held > Math.min(NAMED, running.length) && (
          <span className="quiet">{countText(held - Math.min(NAMED, running.length))} more</span>
        )}
        {held === 0 && <span className="quiet">–</span>}
      </td>
      <td className="worker-rejects">
        {rejected.length === 0 ? (
          <span className="quiet">–</span>
        ) : (
          rejected.map(([reason, count]) => (
            <span key={reason} title={`It ${rejectionText(reason)}`}>
              {reason} <b>{countText(count)}</b>
            </span>
          ))
        )}
      </td>
      <td className="number">{chunks ? bytesText(chunks.held_bytes + chunks.spilled_bytes) : "–"}</td>
      <td className="number">
        <DrainButton worker={worker} />
      </td>
    </tr>
  );
}
