import type { TaskAnswer } from "../../../../src/protocol/api-schemas.ts";
import { useHistory } from "../../api/queries.ts";
import { useNow } from "../../time/clock.ts";
import { spanText } from "../../time/spans.ts";
import { type Segment, segmentsOf } from "./segments.ts";

const WORDS = { waiting: "waiting", dispatching: "on its way", running: "running" } as const;
/** What is shorter is still seen. */
const LEAST_SHARE = 0.004;

/** A bar of the task's time, by what it was spent on, and the same as a table. */
export function Timeline({ task }: { readonly task: TaskAnswer }) {
  const { data } = useHistory(task.id);
  const now = useNow();
  const segments = segmentsOf(task, data?.events ?? []);
  const spanOf = ({ from, to }: Segment) => Math.max(0, (to ?? now) - from);
  const whole = Math.max(
    1,
    segments.reduce((sum, one) => sum + spanOf(one), 0),
  );
  return (
    <section className="panel timeline" aria-label="Where its time went">
      <div className="timeline-bar" aria-hidden="true">
        {segments.map((one) => (
          <span
            key={`${one.kind} ${one.from} ${one.attempt}`}
            data-kind={one.kind}
            data-outcome={one.outcome}
            title={`${titleOf(one)}: ${spanText(spanOf(one))}`}
            style={{ flexGrow: Math.max(LEAST_SHARE, spanOf(one) / whole) }}
          />
        ))}
      </div>
      <ol className="timeline-legend">
        {segments.map((one) => (
          <li key={`${one.kind} ${one.from} ${one.attempt}`} data-kind={one.kind} data-outcome={one.outcome}>
            <span className="swatch" aria-hidden="true" />
            {titleOf(one)} <b>{spanText(spanOf(one))}</b>
          </li>
        ))}
      </ol>
    </section>
  );
}

function titleOf({ kind, attempt, worker, outcome }: Segment): string {
  const where = worker ? ` on ${worker}` : "";
  if (kind === "waiting") return attempt > 0 ? `waiting after attempt ${attempt}` : WORDS.waiting;
  return outcome ? `attempt ${attempt}${where}, ${outcome}` : `attempt ${attempt} ${WORDS[kind]}${where}`;
}
