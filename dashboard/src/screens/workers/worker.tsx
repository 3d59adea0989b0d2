import { Link } from "wouter";
import type { WorkerAnswer } from "../../../../src/protocol/api-schemas.ts";
import { useAttempts, useWorkers } from "../../api/fleet-queries.ts";
import { Facts } from "../../parts/facts.tsx";
import { bytesText, coresText, countText } from "../../parts/numbers.ts";
import { Panel } from "../../parts/panel.tsx";
import { Problem } from "../../parts/problem.tsx";
import { rejectionText } from "../../parts/rejections.ts";
import { useTitle } from "../../shell/title.ts";
import { useNow } from "../../time/clock.ts";
import { spanText } from "../../time/spans.ts";
import { DrainButton } from "./drain-button.tsx";
import { TaskStream } from "./task-stream.tsx";
import { WorkerStatus } from "./worker-status.tsx";

/** One worker. Its name is as the address has it, of which a browser reads some signs back and others not. */
export function Worker({ name }: { readonly name: string }) {
  const { data, error, refetch } = useWorkers();
  const { data: attempts } = useAttempts();
  const worker = data?.workers.find(({ id }) => decodeURI(encodeURIComponent(id)) === name);
  useTitle(worker?.id ?? "Worker");
  if (error && !data) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <p className="quiet loading">Looking…</p>;
  if (!worker)
    return (
      <p className="quiet">
        There is no worker of this name here, or it has left. <Link href="/workers">All workers</Link>
      </p>
    );
  return (
    <div className="workers">
      <div className="task-title">
        <h1>
          {worker.id} <WorkerStatus status={worker.status} />
        </h1>
        <div className="buttons">
          <DrainButton worker={worker} />
        </div>
      </div>
      {attempts && <TaskStream attempts={attempts} workers={data.workers} only={worker.id} />}
      <div className="workers-grid">
        <Running worker={worker} />
        <Room worker={worker} />
        <Rejects rejects={worker.rejects} />
        <Chunks worker={worker} />
        <Serves worker={worker} />
      </div>
    </div>
  );
}

function Running({ worker: { running, held } }: { readonly worker: WorkerAnswer }) {
  const now = useNow();
  return (
    <Panel title="Runs now" aside={<span className="quiet">{countText(held)} tasks</span>}>
      {running.length === 0 ? (
        <p className="quiet">{held === 0 ? "Nothing." : "Nothing that you may see."}</p>
      ) : (
        <table className="data">
          <tbody>
            {running.map((task) => (
              <tr key={task.id}>
                <th scope="row">
                  <Link href={`/tasks/${task.id}`}>{task.node ?? task.task_type}</Link>
                </th>
                <td className="quiet">attempt {task.attempt}</td>
                <td className="number">{sinceText(task, now)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

/** That it began is heard a moment later. */
function sinceText({ since, started }: WorkerAnswer["running"][number], now: number): string {
  const ms = now - Date.parse(since);
  if (ms < 1000) return "just now";
  return `${started ? "" : "up to "}${spanText(ms)}`;
}

function Room({ worker }: { readonly worker: WorkerAnswer }) {
  const { slots, held, io_slots, io_held } = worker;
  const { cpu_millicores, free_cpu_millicores, memory_bytes, free_memory_bytes } = worker;
  const inSlots = held - io_held;
  const parts = [
    ["slots", Math.min(inSlots, slots), slots, `${countText(inSlots)} of ${countText(slots)}`],
    ["I/O slots", io_held, io_slots, `${countText(io_held)} of ${countText(io_slots)}`],
    [
      "cores",
      cpu_millicores - free_cpu_millicores,
      cpu_millicores,
      `${coresText(cpu_millicores - free_cpu_millicores)} of ${coresText(cpu_millicores)}`,
    ],
    [
      "memory",
      memory_bytes - free_memory_bytes,
      memory_bytes,
      `${bytesText(memory_bytes - free_memory_bytes)} of ${bytesText(memory_bytes)}`,
    ],
  ] as const;
  return (
    <Panel title="Taken" aside={<span className="quiet">of what tasks ask for</span>}>
      <table className="data">
        <tbody>
          {parts.map(([name, taken, all, text]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className="share">
                <meter value={taken} max={Math.max(1, all)} aria-label={`${name}: ${text}`} />
              </td>
              <td className="number">{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function Rejects({ rejects }: Pick<WorkerAnswer, "rejects">) {
  const reasons = Object.entries(rejects);
  return (
    <Panel title="Cannot take" aside={<span className="quiet">of what is ready and meant for it</span>}>
      {reasons.length === 0 ? (
        <p className="quiet">Nothing that is ready is meant for it and cannot go there.</p>
      ) : (
        <table className="data">
          <tbody>
            {reasons.map(([reason, count]) => (
              <tr key={reason} data-rejection={reason}>
                <th scope="row">It {rejectionText(reason)}</th>
                <td className="number">{countText(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

function Chunks({ worker: { chunks } }: { readonly worker: WorkerAnswer }) {
  return (
    <Panel title="Results for other nodes">
      {chunks ? (
        <Facts
          facts={[
            ["in memory", bytesText(chunks.held_bytes)],
            ["on disk", bytesText(chunks.spilled_bytes)],
            ["brought here", bytesText(chunks.moved_bytes)],
            ["freed", bytesText(chunks.freed_bytes)],
          ]}
        />
      ) : (
        <p className="quiet">It holds none, or has not said how many.</p>
      )}
    </Panel>
  );
}

function Serves({ worker }: { readonly worker: WorkerAnswer }) {
  const rows = [
    ["executors", worker.executors],
    ["zones", worker.zone === "" ? worker.zones : [worker.zone, ...worker.zones]],
    ["capabilities", worker.capabilities],
    ["task types", worker.task_types],
  ] as const;
  return (
    <Panel title="Serves">
      <dl className="serves">
        {rows.map(([name, values]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{values.length === 0 ? "–" : [...new Set(values)].join(", ")}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
