import { Link } from "wouter";
import type { RunAnswer } from "../../../../src/protocol/api-schemas.ts";
import { CountsBar } from "../../parts/counts-bar.tsx";
import { Facts } from "../../parts/facts.tsx";
import { tasksWith } from "../../parts/filter-link.ts";
import { bytesText, countText } from "../../parts/numbers.ts";
import { spanText } from "../../time/spans.ts";
import { Time } from "../../time/time.tsx";
import { estimatedAndRealMs, type RunModel } from "./model.ts";

interface RunFactsProps {
  readonly run: RunAnswer;
  /** Undefined while it is being asked for. */
  readonly model: RunModel | undefined;
  /** In milliseconds after the run was submitted. */
  readonly now: number;
}

/** A run in numbers: what was planned beside what came of it. */
export function RunFacts({ run, model, now }: RunFactsProps) {
  const { submitted_at, completed_at, data, stuck, counts } = run;
  const took = completed_at === null ? now : Date.parse(completed_at) - Date.parse(submitted_at);
  const expected = model?.expectedEnd;
  const { estimated, real } = model ? estimatedAndRealMs(model) : { estimated: 0, real: 0 };
  const facts = [
    [
      "agent",
      <Link key="agent" href={tasksWith("agent", run.agent_id)}>
        {run.agent_id}
      </Link>,
    ],
    ["submitted", <Time key="submitted" at={submitted_at} />],
    [completed_at === null ? "runs for" : "took", spanText(took)],
    ["ended", completed_at && <Time at={completed_at} />],
    [
      "should end",
      expected === undefined ? null : (
        <Time key="expected" at={new Date(Date.parse(submitted_at) + expected).toISOString()} />
      ),
    ],
    ["estimated and real", real > 0 && `${spanText(estimated)} and ${spanText(real)} of work`],
    [
      "critical path",
      model && model.criticalPath.length > 0 && `${countText(model.criticalPath.length)} nodes`,
    ],
    ["data moved", data && bytesText(data.moved_bytes)],
    ["held on workers", data && bytesText(data.held_bytes)],
    ["freed", data && bytesText(data.freed_bytes)],
  ] as const;
  return (
    <section className="panel run-facts" aria-label="Facts">
      <CountsBar counts={Object.entries(counts)} />
      <Facts facts={facts} />
      {stuck.length > 0 && (
        <ul className="stuck" aria-label="Stuck nodes">
          {stuck.map(({ node, nodes, text }) => (
            <li key={node}>
              <span aria-hidden="true">⚠</span>{" "}
              <Link href={`/runs/${encodeURIComponent(run.id)}?node=${encodeURIComponent(node)}`}>
                {node}
              </Link>
              {nodes > 1 && ` and ${countText(nodes - 1)} more`}: {text}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
