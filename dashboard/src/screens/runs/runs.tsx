import { useEffect, useRef } from "react";
import { Link } from "wouter";
import type { RunLine } from "../../../../src/protocol/api-schemas.ts";
import { useRunPages } from "../../api/run-queries.ts";
import { CountsBar } from "../../parts/counts-bar.tsx";
import { countText } from "../../parts/numbers.ts";
import { Problem } from "../../parts/problem.tsx";
import { Status } from "../../parts/status.tsx";
import { numbers, TableHead } from "../../parts/table-head.tsx";
import { useTitle } from "../../shell/title.ts";
import { Time, Took } from "../../time/time.tsx";

const COLUMNS = ["status", "run", "nodes", "agent", "submitted", numbers("took")];

/** Runs, newest first; more are asked for as they are scrolled to. */
export function Runs() {
  useTitle("Runs");
  const {
    data: runs,
    error,
    refetch,
    isPending,
    hasNextPage,
    isFetchingNextPage,
    fetchNextPage,
  } = useRunPages();
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = end.current;
    if (!element || !hasNextPage || isFetchingNextPage) return undefined;
    const observer = new IntersectionObserver(([seen]) => {
      if (seen?.isIntersecting) void fetchNextPage();
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return (
    <div className="runs">
      <h1 className="visually-hidden">Runs</h1>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      <p className="quiet" role="status">
        {isPending ? "Looking…" : `${countText(runs?.length ?? 0)}${hasNextPage ? "+" : ""} runs`}
      </p>
      <div className="row-table run-list">
        <table aria-label="Runs">
          <TableHead columns={COLUMNS} />
          <tbody>
            {runs?.map((run) => (
              <RunRow key={run.id} run={run} />
            ))}
          </tbody>
        </table>
        {runs?.length === 0 && (
          <p className="quiet empty">
            Nobody has submitted a run: <code>orrery run FILE --server {location.origin}</code>
          </p>
        )}
        <div ref={end} />
      </div>
    </div>
  );
}

function RunRow({ run }: { readonly run: RunLine }) {
  return (
    <tr data-run={run.id}>
      <td>
        <Status name={run.status} />
      </td>
      <td className="run-name">
        <Link href={`/runs/${encodeURIComponent(run.id)}`}>
          {run.name} <span className="mono quiet">{run.id.slice(-8)}</span>
        </Link>
      </td>
      <td>
        {run.counts ? <CountsBar counts={Object.entries(run.counts)} /> : `${countText(run.nodes)} nodes`}
      </td>
      <td>{run.agent_id}</td>
      <td>
        <Time at={run.submitted_at} />
      </td>
      <td className="number">
        <Took from={run.submitted_at} to={run.completed_at} />
      </td>
    </tr>
  );
}
