import { useState } from "react";
import { actOn, type TaskAction } from "../../api/task-actions.ts";
import { Dialog } from "../../parts/dialog.tsx";

interface ActDialogProps {
  readonly action: TaskAction;
  readonly ids: readonly string[];
  readonly onClose: () => void;
}

/** Asks once, and says of which tasks nothing came. */
export function ActDialog({ action, ids, onClose }: ActDialogProps) {
  const [problems, setProblems] = useState<readonly string[]>([]);
  const [isActing, setActing] = useState(false);
  const what = ids.length === 1 ? "this task" : `these ${ids.length} tasks`;
  const act = async () => {
    setActing(true);
    const outcomes = await Promise.allSettled(ids.map((id) => actOn(action, id)));
    const failed = outcomes.flatMap((one, at) =>
      one.status === "rejected" ? `${ids[at]?.slice(-8)}: ${(one.reason as Error).message}` : [],
    );
    if (failed.length === 0) onClose();
    setProblems(failed);
    setActing(false);
  };
  return (
    <Dialog title={`${action} ${what}`} onClose={onClose}>
      <p>
        {action === "cancel" ? "Cancel" : "Retry"} {what}?
      </p>
      {problems.length > 0 && (
        <ul role="alert" className="problem">
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
      <div className="buttons">
        <button type="button" onClick={onClose}>
          Leave {ids.length === 1 ? "it" : "them"}
        </button>
        <button
          type="button"
          className={action === "cancel" ? "danger" : "primary"}
          disabled={isActing}
          onClick={() => void act()}
        >
          {action === "cancel" ? "Cancel" : "Retry"} {what}
        </button>
      </div>
    </Dialog>
  );
}
