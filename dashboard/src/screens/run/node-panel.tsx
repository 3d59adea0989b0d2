import { Link } from "wouter";
import type { TaskAnswer } from "../../../../src/protocol/api-schemas.ts";
import { useWhy } from "../../api/queries.ts";
import { useNode } from "../../api/run-queries.ts";
import { Facts } from "../../parts/facts.tsx";
import { bytesText } from "../../parts/numbers.ts";
import { Status } from "../../parts/status.tsx";
import { spanText } from "../../time/spans.ts";
import { Time } from "../../time/time.tsx";
import { Alternatives } from "./alternatives.tsx";
import { type RunModel, ranMsOf, readyAtOf } from "./model.ts";
import { NodeLinks } from "./node-links.tsx";
import { estimateMsOf, typeOf } from "./shape.ts";
import { isOver, statusOf } from "./standing.ts";

interface NodePanelProps {
  readonly model: RunModel;
  readonly node: number;
  readonly now: number;
  readonly onSelect: (node: number | undefined) => void;
}

/** What is known of one node, and where to go on from it. */
export function NodePanel({ model, node, now, onSelect }: NodePanelProps) {
  const { run, shape, standing, submittedAt } = model;
  const name = shape.ids[node] ?? "";
  const { data: task } = useNode(run.id, name);
  const status = statusOf(standing, node);
  const instant = (at: number | undefined) =>
    at === undefined || at < 0 ? null : new Date(submittedAt + at).toISOString();
  const started = instant(standing.started[node]);
  const ended = instant(standing.ended[node]);
  const planned = instant(isOver(status) ? -1 : model.plannedStart[node]);
  const ran = ranMsOf(model, node, now);
  const readyAt = readyAtOf(model, node);
  const waitedTo = [standing.started[node], standing.ended[node], now].find(
    (at) => at !== undefined && at >= 0,
  );
  const error = standing.errors.get(node);
  const added = standing.added.get(node);
  const bytes = standing.bytes[node] as number;
  const facts = [
    ["type", typeOf(shape, node)],
    ["attempts", String(standing.attempt[node] ?? 0)],
    ["worker", standing.workers[standing.worker[node] ?? -1]],
    ["waited when ready", readyAt !== undefined && waitedTo !== undefined && spanText(waitedTo - readyAt)],
    ["started", started && <Time at={started} />],
    ["ended", ended && <Time at={ended} />],
    ["planned start", started === null && planned && <Time at={planned} />],
    ["estimate", spanText(estimateMsOf(shape, node))],
    [isOver(status) ? "ran" : "runs since", ran !== undefined && spanText(ran)],
    ["result", bytes > 0 && bytesText(bytes)],
  ] as const;
  return (
    <aside className="panel node-panel" aria-label="The selected node" data-node={name}>
      <div className="panel-head">
        <h2>{name}</h2>
        <button type="button" className="icon-button" aria-label="Close" onClick={() => onSelect(undefined)}>
          ✕
        </button>
      </div>
      <p>
        <Status name={status} />
        {model.isCritical[node] === 1 && <span className="quiet"> · holds up the end</span>}
      </p>
      {error && (
        <p className="failed task-error">
          {error.code}: {error.message}
        </p>
      )}
      {task && <FirstReason task={task} />}
      <Facts facts={facts} />
      {task?.speculation && <Alternatives speculation={task.speculation} />}
      {added !== undefined && (
        <p>
          It added nodes: <Link href={`/runs/${added}`}>the run of these</Link>
        </p>
      )}
      {task && (
        <p>
          <Link href={`/tasks/${task.id}`} data-link="task">
            All about this task
          </Link>
        </p>
      )}
      <NodeLinks title="Needs" nodes={[...shape.needs.of(node)]} model={model} onSelect={onSelect} />
      <NodeLinks title="Needed by" nodes={[...shape.dependents.of(node)]} model={model} onSelect={onSelect} />
    </aside>
  );
}

/** Why it waits, or why it ran where it did, in one line. */
function FirstReason({ task }: { readonly task: TaskAnswer }) {
  const { data: why } = useWhy(task.id);
  const [waiting] = why?.waiting ?? [];
  if (waiting)
    return (
      <p data-fact="why">
        <b>{waiting.code}</b> {waiting.text}
      </p>
    );
  return why?.placed ? (
    <p data-fact="why" className="quiet">
      {why.placed.text}
    </p>
  ) : null;
}
