import { Link } from "wouter";
import type { LedgerEventAnswer } from "../../../../src/protocol/api-schemas.ts";
import type { EventPages } from "../../api/past-queries.ts";
import { useEndlessRows } from "../../parts/endless-rows.ts";
import { useKept } from "../../parts/kept.ts";
import { countText } from "../../parts/numbers.ts";
import { clockText, timeMode } from "../../time/time.tsx";
import { wordsOf } from "./event-words.ts";

interface EventListProps {
  readonly pages: EventPages;
  readonly events: readonly LedgerEventAnswer[];
  readonly at: number | undefined;
  readonly onOpen: (event: LedgerEventAnswer) => void;
}

const ROW_PX = 30;

/** As many rows as are seen; what is scrolled to is asked for. */
export function EventList({ pages, events, at, onOpen }: EventListProps) {
  // Whoever changes it sees it.
  useKept(timeMode);
  const { list, rows, items } = useEndlessRows(events.length, ROW_PX, pages);
  return (
    <div className="task-list">
      <table aria-label="Events" aria-rowcount={events.length}>
        <thead>
          <tr className="event-row event-head">
            {["event", "time", "kind", "about", "what"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={list} className="task-rows" style={{ height: rows.getTotalSize() }}>
          {items.map(({ index, start }) => {
            const event = events[index] as LedgerEventAnswer;
            return (
              <tr
                key={event.seq}
                className="event-row"
                aria-rowindex={index + 1}
                data-seq={event.seq}
                data-current={event.seq === at || undefined}
                style={{ transform: `translateY(${start - rows.options.scrollMargin}px)` }}
              >
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
            );
          })}
        </tbody>
      </table>
      {events.length === 0 && !pages.isFetching && <p className="quiet empty">No event fits.</p>}
    </div>
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
