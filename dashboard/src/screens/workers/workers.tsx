import type { Attempts } from "../../api/attempts.ts";
import { useAttempts, useWorkers } from "../../api/fleet-queries.ts";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";
import { Problem } from "../../parts/problem.tsx";
import { ACTIONS, numbers, TableHead } from "../../parts/table-head.tsx";
import { useTitle } from "../../shell/title.ts";
import { TaskStream } from "./task-stream.tsx";
import { WorkerRow } from "./worker-row.tsx";

/** Rows beyond these make a page that nobody reads; the command line lists them all. */
const MOST_ROWS = 500;

/** Who runs what, and what came of it. */
export function Workers() {
  useTitle("Workers");
  const { data, error, isPending, refetch } = useWorkers();
  const attempts = useAttempts();
  if (error && !data) return <Problem error={error} onRetry={() => void refetch()} />;
  const workers = data?.workers ?? [];
  return (
    <div className="workers" aria-busy={isPending}>
      <h1 className="visually-hidden">Workers</h1>
      {attempts.error && !attempts.data && (
        <Problem error={attempts.error} onRetry={() => void attempts.refetch()} />
      )}
      <TaskStream attempts={attempts.data ?? NOTHING} workers={workers} />
      <Panel
        title="Workers"
        aside={<span className="quiet">{isPending ? "Looking…" : `${countText(workers.length)} here`}</span>}
      >
        {!isPending && workers.length === 0 ? (
          <p className="quiet">
            Nobody runs anything yet: <code>orrery worker --tasks FILE</code>
          </p>
        ) : (
          <div className="scroll">
            <table className="data worker-table">
              <TableHead
                columns={[
                  "worker",
                  "status",
                  "slots",
                  numbers("cores free"),
                  numbers("memory free"),
                  "runs",
                  { name: "cannot take", title: "Of what is ready and meant for it, by the first reason" },
                  numbers("results held"),
                  ACTIONS,
                ]}
              />
              <tbody>
                {workers.slice(0, MOST_ROWS).map((worker) => (
                  <WorkerRow key={worker.id} worker={worker} />
                ))}
              </tbody>
            </table>
            {workers.length > MOST_ROWS && (
              <p className="quiet">
                The first {MOST_ROWS}; <code>orrery workers</code> lists all.
              </p>
            )}
          </div>
        )}
      </Panel>
    </div>
  );
}

/** Shown for the moment before the first answer. */
const NOTHING: Attempts = { now: Date.now(), askedAt: Date.now(), from: 0, rows: [] };
