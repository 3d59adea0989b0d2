import type { RunAnswer } from "../../../../src/protocol/api-schemas.ts";
import { actOnRun, type RunAction } from "../../api/run-queries.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { bytesText, countText } from "../../parts/numbers.ts";

interface RunDialogProps {
  readonly action: RunAction;
  readonly run: RunAnswer;
  readonly onClose: () => void;
}

export function RunDialog({ action, run, onClose }: RunDialogProps) {
  const name = action === "cancel" ? "Cancel this run" : "Release its results";
  return (
    <ConfirmDialog
      question={`${name}?`}
      confirm={name}
      isDanger={action === "cancel"}
      onConfirm={() => actOnRun(action, run.id)}
      onClose={onClose}
    >
      <p>
        {action === "cancel"
          ? `${countText(run.counts.queued)} nodes wait and ${countText(run.counts.running)} run.`
          : `Workers free ${bytesText(run.data?.held_bytes ?? 0)}; small results stay with their tasks.`}
      </p>
    </ConfirmDialog>
  );
}
