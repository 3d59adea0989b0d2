import { useState } from "react";
import type { RunAnswer } from "../../../../src/protocol/api-schemas.ts";
import { actOnRun, type RunAction } from "../../api/run-queries.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { bytesText, countText } from "../../parts/numbers.ts";

interface RunDialogProps {
  readonly action: RunAction;
  readonly run: RunAnswer;
  readonly onClose: () => void;
}

/** Asks once, and says what did not work. */
export function RunDialog({ action, run, onClose }: RunDialogProps) {
  const [problem, setProblem] = useState("");
  const [isActing, setActing] = useState(false);
  const act = async () => {
    setActing(true);
    try {
      await actOnRun(action, run.id);
      onClose();
    } catch (error) {
      setProblem((error as Error).message);
      setActing(false);
    }
  };
  const name = action === "cancel" ? "Cancel this run" : "Release its results";
  return (
    <Dialog title={name} onClose={onClose}>
      <p>
        {action === "cancel"
          ? `Cancel the run? ${countText(run.counts.queued)} nodes wait and ${countText(run.counts.running)} run.`
          : `Release the results? Workers free ${bytesText(run.data?.held_bytes ?? 0)}; small results stay with their tasks.`}
      </p>
      <p role="alert" className="problem">
        {problem}
      </p>
      <div className="buttons">
        <button type="button" onClick={onClose}>
          Leave it
        </button>
        <button
          type="button"
          className={action === "cancel" ? "danger" : "primary"}
          disabled={isActing}
          onClick={() => void act()}
        >
          {name}
        </button>
      </div>
    </Dialog>
  );
}
