import { Link } from "wouter";
import type { TaskAnswer, WhyAnswer } from "../../../../src/protocol/api-schemas.ts";
import { useWhy } from "../../api/queries.ts";
import { Facts } from "../../parts/facts.tsx";
import { countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";
import { Problem } from "../../parts/problem.tsx";
import { spanText } from "../../time/spans.ts";
import { Candidates } from "./candidates.tsx";
import { Placement } from "./placement.tsx";
import { SoonerList } from "./sooner.tsx";

/** Why it does not run yet, and why it runs, or ran, where it does. */
export function Why({ task }: { readonly task: TaskAnswer }) {
  const { data: why, error, refetch } = useWhy(task.id);
  if (error && !why) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!why) return <p className="quiet">Looking…</p>;
  const { waiting, placed } = why;
  return (
    <div className="why">
      {waiting.length > 0 && <NotYet why={why} />}
      {placed && <Here placed={placed} />}
      {waiting.length === 0 && !placed && (
        <p className="quiet">
          {task.attempt > 0
            ? "It was placed too long ago to be remembered here; the ledger has it."
            : "It was never placed on a worker."}
        </p>
      )}
      {task.attempt > 0 && <Placement task={task} />}
    </div>
  );
}

function NotYet({ why }: { readonly why: WhyAnswer }) {
  const { waiting, ahead, forecast, candidates, chain } = why;
  const [primary, ...others] = waiting;
  return (
    <Panel title="Why not yet">
      <p className="why-primary" data-reason={primary?.code}>
        <b>{primary?.code}</b> {primary?.text}
      </p>
      {others.length > 0 && (
        <ul className="why-others">
          {others.map((reason) => (
            <li key={`${reason.code} ${reason.text}`}>
              <b>{reason.code}</b> {reason.text}
            </li>
          ))}
        </ul>
      )}
      {chain.length > 1 && <Chain chain={chain} />}
      {forecast !== null && (
        <p data-fact="forecast">
          It should start in about <b>{spanText(forecast.starts_in * 1000)}</b>
          {forecast.tasks_ahead > 0 &&
            `: ${countText(forecast.tasks_ahead)} ${forecast.tasks_ahead === 1 ? "task goes" : "tasks go"} first on ${countText(forecast.slots)} slots`}
          , if everything takes as long as was estimated.
        </p>
      )}
      <SoonerList why={why} />
      {ahead.length > 0 && (
        <>
          <h3>Goes before it</h3>
          <ol className="ahead">
            {ahead.map(({ task_id, node }) => (
              <li key={task_id}>
                <Link href={`/tasks/${task_id}`}>{node ?? task_id}</Link>
              </li>
            ))}
          </ol>
        </>
      )}
      {candidates.length > 0 && (
        <>
          <h3>Workers, as they are now</h3>
          <Candidates candidates={candidates} />
        </>
      )}
    </Panel>
  );
}

/** Where what it needs needs others: what holds it up in the end. */
function Chain({ chain }: Pick<WhyAnswer, "chain">) {
  return (
    <p data-fact="chain">
      It hangs on{" "}
      {chain.map(({ node, status }, at) => (
        <span key={node}>
          {at > 0 && ", that on "}
          <b>{node}</b> ({status})
        </span>
      ))}
      .
    </p>
  );
}

function Here({ placed }: { readonly placed: NonNullable<WhyAnswer["placed"]> }) {
  const facts = [
    ["worker", placed.worker_id],
    ["reason", String(placed.reason["type"] ?? "")],
    ["next best", placed.runner_up ?? "none"],
    ...Object.entries(placed.rejected).map(
      ([reason, count]) => [`rejected: ${reason}`, countText(count)] as const,
    ),
  ] as const;
  return (
    <Panel title="Why here">
      <p data-fact="why-here">{placed.text}</p>
      <Facts facts={facts} />
    </Panel>
  );
}
