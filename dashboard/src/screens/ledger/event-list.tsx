import { Link } from "wouter";
import type { LedgerEventAnswer } from "../../../../src/protocol/api-schemas.ts";
import type { EventPages } from "../../api/past-queries.ts";
import { useKept } from "../../parts/kept.ts";
import { LongTable, useLongRows } from "../../parts/long-table.tsx";
import { countText } from "../../parts/numbers.ts";
import { TableHead } from "../../parts/table-head.tsx";
import { clockText, timeMode } from "../../time/time.tsx";
import { wordsOf } from "./event-words.ts";

interface EventListProps {
  readonly pages: EventPages;
  readonly events: readonly LedgerEventAnswer[];
  readonly at: number | undefined;
  readonly onOpen: (event: LedgerEventAnswer) => void;
}

const ROW_PX = 30;

export function EventList({ pages, events, at, onOpen }: EventListProps) {
  // Whoever changes it sees it.
  useKept(timeMode);
  const rows = useLongRows(events, ROW_PX, pages);
  return (
    <LongTable
      label="Events"
      className="event-list"
      head={<TableHead columns={["event", "time", "kind", "about", "what"]} />}
      rows={rows}
      empty="No event fits."
    >
      {(event, place) => (
        <tr key={event.seq} {...place} data-seq={event.seq} data-current={event.seq === at || undefined}>
          <td>
            <button type="button" className="event-seq mono" onClick={() => onOpen(event)}>
              {countText(event.seq)}
            </button>
          </td>
          <td>
            <time dateTime={event.at} title={event.at}>
              {clockText(event.at)}
            </time>
          </td>
          <th scope="row">{event.kind}</th>
          <td>
            <About event={event} />
          </td>
          <td className="event-words">{wordsOf(event)}</td>
        </tr>
      )}
    </LongTable>
  );
}

export function About({ event }: { readonly event: LedgerEventAnswer }) {
  const { task_id, run_id, worker_id, zone } = event;
  if (task_id !== null)
    return (
      <Link href={`/tasks/${task_id}`} className="mono">
        …{task_id.slice(-12)}
      </Link>
    );
  if (run_id !== null) return <Link href={`/runs/${encodeURIComponent(run_id)}`}>{run_id}</Link>;
  if (worker_id !== null) return <Link href={`/workers/${encodeURIComponent(worker_id)}`}>{worker_id}</Link>;
  return <span className="quiet">{zone ?? "–"}</span>;
}
