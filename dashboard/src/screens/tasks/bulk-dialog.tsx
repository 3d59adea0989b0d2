import { useEffect, useRef, useState } from "react";
import { actOnAll, type BulkProgress, type TaskAction } from "../../api/task-actions.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { countText } from "../../parts/numbers.ts";

interface BulkDialogProps {
  readonly action: TaskAction;
  readonly filter: string;
  readonly onClose: () => void;
}

const NOTHING: BulkProgress = { matching: 0, done: 0, isAll: false };
const CONCERNS = { cancel: "that wait or run", retry: "that failed or were cancelled" } as const;

/** Counts all that fit before anything is done, and then shows how far it is. */
export function BulkDialog({ action, filter, onClose }: BulkDialogProps) {
  const [counted, setCounted] = useState(NOTHING);
  const [acted, setActed] = useState<BulkProgress>();
  const [problem, setProblem] = useState("");
  const stop = useRef(new AbortController());
  const note = (error: unknown) => {
    if ((error as Error).name !== "AbortError") setProblem((error as Error).message);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is counted once, for what it was opened with
  useEffect(() => {
    const counting = new AbortController();
    actOnAll(action, filter, true, counting.signal, setCounted).catch(note);
    return () => {
      counting.abort();
      stop.current.abort();
    };
  }, []);
  const act = () => {
    stop.current = new AbortController();
    setActed(NOTHING);
    actOnAll(action, filter, false, stop.current.signal, setActed).catch(note);
  };
  const verb = action === "cancel" ? "Cancel" : "Retry";
  return (
    <Dialog title={`${verb} all matching`} onClose={onClose}>
      <h2>{verb} all matching</h2>
      <p>
        Tasks {CONCERNS[action]} with <code>{filter === "" ? "no filter: all of the zone" : filter}</code>
      </p>
      <p role="status" data-count={counted.isAll ? counted.matching : undefined}>
        {counted.isAll ? "" : "Counting… at least "}
        <strong>{countText(counted.matching)}</strong> match.
        {acted && ` ${countText(acted.done)} done${acted.isAll ? "." : "…"}`}
        {acted?.isAll &&
          acted.done < acted.matching &&
          ` ${countText(acted.matching - acted.done)} could not be: they are nodes of a run, or had moved on.`}
      </p>
      {problem !== "" && (
        <p role="alert" className="problem">
          {problem}
        </p>
      )}
      <div className="buttons">
        <button type="button" onClick={onClose}>
          {acted && !acted.isAll ? "Stop" : "Close"}
        </button>
        {!acted && (
          <button
            type="button"
            className={action === "cancel" ? "danger" : "primary"}
            disabled={!counted.isAll || counted.matching === 0}
            onClick={act}
          >
            {verb} {countText(counted.matching)}
          </button>
        )}
      </div>
    </Dialog>
  );
}
