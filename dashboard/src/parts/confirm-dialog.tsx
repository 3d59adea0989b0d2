import { type ReactNode, useState } from "react";
import { Dialog } from "./dialog.tsx";

interface ConfirmDialogProps {
  /** What is asked, which is the name of the dialog too. */
  readonly question: string;
  /** What it means. */
  readonly children: ReactNode;
  readonly confirm: string;
  readonly isDanger?: boolean;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** Asks once before something is done; what the server refuses is said, and may be tried again. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { question, children, confirm, isDanger = false, onConfirm, onClose } = props;
  const [problem, setProblem] = useState("");
  const [isActing, setActing] = useState(false);
  const act = async () => {
    setActing(true);
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      setProblem((error as Error).message);
      setActing(false);
    }
  };
  return (
    <Dialog title={question} onClose={onClose}>
      <h2>{question}</h2>
      <div>{children}</div>
      {problem !== "" && (
        <p role="alert" className="problem">
          {problem}
        </p>
      )}
      <div className="buttons">
        <button type="button" onClick={onClose}>
          Leave it
        </button>
        <button
          type="button"
          className={isDanger ? "danger" : "primary"}
          disabled={isActing}
          onClick={() => void act()}
        >
          {confirm}
        </button>
      </div>
    </Dialog>
  );
}
