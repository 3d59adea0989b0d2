import type { TaskAnswer } from "../../../../src/protocol/api-schemas.ts";
import { useLog } from "../../api/queries.ts";
import { Problem } from "../../parts/problem.tsx";

export function Log({ task }: { readonly task: TaskAnswer }) {
  const { data, error, refetch } = useLog(task.id, task.status === "running");
  if (error && !data) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <p className="quiet">Looking…</p>;
  if (data.lines.length === 0) return <p className="quiet">It has printed nothing.</p>;
  return (
    <section className="panel log" aria-label="What it printed">
      <ol>
        {data.lines.map(({ line, at, attempt, stream, text }) => (
          <li key={line} data-stream={stream}>
            <span className="quiet" title={`attempt ${attempt}, ${stream}`}>
              {at.slice(11, 23)}
            </span>{" "}
            {text}
          </li>
        ))}
      </ol>
    </section>
  );
}
