import { Link } from "wouter";
import { useMoment } from "../../api/moment.ts";
import { useLive } from "../../live/live.ts";
import { Panel } from "../../parts/panel.tsx";
import { Time } from "../../time/time.tsx";

const SHOWN = 50;

/** What happened since this page was opened. */
export function Latest() {
  const { latest } = useLive();
  // What is told by the stream is of now; the ledger's own screen has what was.
  if (useMoment() !== undefined) return null;
  return (
    <Panel title="Latest events" className="latest">
      {latest.length === 0 ? (
        <p className="quiet">Nothing has happened since this page was opened.</p>
      ) : (
        <ol>
          {latest.slice(0, SHOWN).map(({ id, kind, at, task_id, run_id, data }) => (
            <li key={id} data-event={id}>
              <Time at={at} />
              <span className="event-kind">{kind}</span>
              {task_id !== null ? (
                <Link href={`/tasks/${task_id}`}>{String(data["node"] ?? task_id.slice(-12))}</Link>
              ) : (
                <span className="quiet">{run_id}</span>
              )}
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}
