import { useMemo, useState } from "react";
import { Link } from "wouter";
import type { TaskAnswer } from "../../../../src/protocol/api-schemas.ts";
import { useBarrier } from "../../api/barrier.ts";
import type { TaskAction } from "../../api/task-actions.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Status } from "../../parts/status.tsx";
import { useShortcuts } from "../../shell/shortcuts.ts";
import { ActDialog } from "../tasks/act-dialog.tsx";
import { CloneDialog } from "./clone-dialog.tsx";
import { cliOf, curlOf } from "./commands.ts";

type Doing = TaskAction | "clone" | undefined;

/** What the task is, and what can be done about it. */
export function TaskHead({ task }: { readonly task: TaskAnswer }) {
  const [doing, setDoing] = useState<Doing>();
  const why = useBarrier();
  const mayAct = why === undefined;
  const isOpen = mayAct && (task.status === "queued" || task.status === "running");
  const mayRetry =
    mayAct && (task.status === "failed" || task.status === "cancelled") && task.run_id === null;
  const shortcuts = useMemo(
    () => [
      ...(mayRetry ? [{ keys: "r", does: "retry the task", run: () => setDoing("retry") }] : []),
      ...(isOpen ? [{ keys: "c", does: "cancel the task", run: () => setDoing("cancel") }] : []),
    ],
    [mayRetry, isOpen],
  );
  useShortcuts(shortcuts);
  const close = () => setDoing(undefined);
  return (
    <div className="task-title">
      <div>
        <h1>
          {task.node ?? task.task_type} <Status name={task.status} />
        </h1>
        <p className="quiet mono task-id">
          {task.id}
          {task.run_id !== null && (
            <>
              {" in the run "}
              <Link
                href={`/runs/${encodeURIComponent(task.run_id)}?node=${encodeURIComponent(task.node ?? "")}`}
              >
                {task.run_id}
              </Link>
            </>
          )}
        </p>
      </div>
      <div className="buttons">
        <CopyButton text={curlOf(task)}>Copy curl</CopyButton>
        <CopyButton text={cliOf(task)}>Copy command</CopyButton>
        {task.run_id === null && (
          <button type="button" disabled={!mayAct} title={why} onClick={() => setDoing("clone")}>
            Clone…
          </button>
        )}
        <button type="button" disabled={!mayRetry} title={why} onClick={() => setDoing("retry")}>
          Retry
        </button>
        <button
          type="button"
          className="danger"
          disabled={!isOpen}
          title={why}
          onClick={() => setDoing("cancel")}
        >
          Cancel
        </button>
      </div>
      {doing === "clone" && <CloneDialog task={task} onClose={close} />}
      {doing !== undefined && doing !== "clone" && (
        <ActDialog action={doing} ids={[task.id]} onClose={close} />
      )}
    </div>
  );
}
