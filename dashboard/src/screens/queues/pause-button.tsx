import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { setPaused } from "../../api/queue-queries.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";

interface PauseButtonProps {
  /** Undefined: the whole zone. */
  readonly executor?: string;
  readonly zone: string;
  readonly isPaused: boolean;
}

export function PauseButton({ executor, zone, isPaused }: PauseButtonProps) {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState("");
  const set = async (paused: boolean) => {
    await setPaused(executor, paused);
    setProblem("");
    await client.invalidateQueries({ queryKey: ["queues"] });
  };
  const what = executor === undefined ? `the zone ${zone}` : executor;
  const word = isPaused ? "Resume" : "Pause…";
  return (
    <>
      <button
        type="button"
        aria-label={`${isPaused ? "Resume" : "Pause"} ${what}`}
        title={problem}
        onClick={() =>
          isPaused
            ? void set(false).catch((error: unknown) => setProblem((error as Error).message))
            : setAsking(true)
        }
      >
        {problem === "" ? word : `✕ ${word}`}
      </button>
      {isAsking && (
        <ConfirmDialog
          question={`Pause ${what}?`}
          confirm="Pause it"
          isDanger
          onConfirm={() => set(true)}
          onClose={() => setAsking(false)}
        >
          <p>What runs goes on. Nothing else starts until it is resumed; what is submitted waits.</p>
        </ConfirmDialog>
      )}
    </>
  );
}
