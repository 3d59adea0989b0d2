import { useState } from "react";
import type { TaskAnswer } from "../../../../src/protocol/api-schemas.ts";
import { usePlacement } from "../../api/past-queries.ts";
import { useMay } from "../../api/queries.ts";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";
import { Problem } from "../../parts/problem.tsx";
import { Time } from "../../time/time.tsx";
import { Candidates } from "./candidates.tsx";

/** Every worker that it could have gone to, in the state that the choice was made in; for operators. */
export function Placement({ task }: { readonly task: TaskAnswer }) {
  const mayLook = useMay("operator");
  const [isOpen, setOpen] = useState(false);
  const [attempt, setAttempt] = useState(task.attempt);
  const { data, error, refetch } = usePlacement(task.id, attempt, isOpen && mayLook);
  if (!mayLook) return null;
  if (!isOpen)
    return (
      <button type="button" className="why-more" onClick={() => setOpen(true)} data-action="placement">
        Show every worker that was considered
      </button>
    );
  const attempts = Array.from({ length: task.attempt }, (_, place) => task.attempt - place);
  const choice = attempts.length > 1 && (
    <label>
      attempt{" "}
      <select value={attempt} onChange={({ target }) => setAttempt(Number(target.value))}>
        {attempts.slice(0, 100).map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  );
  return (
    <Panel title="Who was considered" aside={choice || undefined}>
      {error && !data && <Problem error={error} onRetry={() => void refetch()} />}
      {!data && !error && <p className="quiet">Replaying to when it was placed…</p>}
      {data && (
        <>
          <p data-fact="decided-by">
            Attempt {data.attempt} went to <b>{data.worker_id}</b> <Time at={data.at} />, by event{" "}
            {countText(data.seq)}. What decided: {data.decided_by}.
          </p>
          <Candidates candidates={data.candidates} chosen={data.worker_id} />
        </>
      )}
    </Panel>
  );
}
