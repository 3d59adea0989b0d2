import { Link } from "wouter";
import type { OverviewAnswer } from "../../../../src/protocol/api-schemas.ts";
import { countText } from "../../parts/numbers.ts";
import { Status } from "../../parts/status.tsx";

/** How many tasks there are by status; each leads to them. */
export function Totals({ overview }: { readonly overview: OverviewAnswer }) {
  const { waiting, classes, ended } = overview;
  const totals = {
    queued: Object.values(waiting).reduce((sum, count) => sum + count, 0),
    running: classes.reduce((sum, { running }) => sum + running, 0),
    ...ended,
  };
  return (
    <ul className="totals" aria-label="Tasks by status">
      {Object.entries(totals).map(([status, count]) => (
        <li key={status}>
          <Link href={`/tasks?filter=status:${status}`} data-total={status}>
            <strong>{countText(count)}</strong>
            <Status name={status} />
          </Link>
        </li>
      ))}
    </ul>
  );
}
