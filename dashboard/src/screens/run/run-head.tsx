import { useMemo, useState } from "react";
import { Link } from "wouter";
import type { RunAnswer } from "../../../../src/protocol/api-schemas.ts";
import { useBarrier } from "../../api/barrier.ts";
import type { RunAction } from "../../api/run-queries.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Status } from "../../parts/status.tsx";
import { useShortcuts } from "../../shell/shortcuts.ts";
import { cliOf, curlOf } from "./run-commands.ts";
import { RunDialog } from "./run-dialog.tsx";
import type { RunShape } from "./shape.ts";

interface RunHeadProps {
  readonly run: RunAnswer;
  readonly parent: RunShape["parent"];
  readonly exports: React.ReactNode;
}

/** What the run is, and what can be done about it. */
export function RunHead({ run, parent, exports }: RunHeadProps) {
  const [doing, setDoing] = useState<RunAction>();
  const why = useBarrier();
  const mayAct = why === undefined;
  const mayCancel = mayAct && run.status === "running";
  const mayRelease = mayAct && (run.data?.held_bytes ?? 0) > 0;
  useShortcuts(
    useMemo(
      () => (mayCancel ? [{ keys: "c", does: "cancel the run", run: () => setDoing("cancel") }] : []),
      [mayCancel],
    ),
  );
  return (
    <div className="task-title">
      <div>
        <h1>
          {run.name} <Status name={run.status} />
        </h1>
        <p className="quiet mono task-id">
          {run.id}
          {parent && (
            <>
              {" added by "}
              <Link
                href={`/runs/${encodeURIComponent(parent.run_id)}?node=${encodeURIComponent(parent.node)}`}
              >
                {parent.node}
              </Link>
            </>
          )}
        </p>
      </div>
      <div className="buttons">
        <CopyButton text={curlOf(run)}>Copy curl</CopyButton>
        <CopyButton text={cliOf(run)}>Copy command</CopyButton>
        {exports}
        {run.data && (
          <button type="button" disabled={!mayRelease} title={why} onClick={() => setDoing("release")}>
            Release
          </button>
        )}
        <button
          type="button"
          className="danger"
          disabled={!mayCancel}
          title={why}
          onClick={() => setDoing("cancel")}
        >
          Cancel
        </button>
      </div>
      {doing && <RunDialog action={doing} run={run} onClose={() => setDoing(undefined)} />}
    </div>
  );
}
