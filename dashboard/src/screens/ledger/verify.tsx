import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { replay } from "../../api/past-queries.ts";
import { useLedgerHead } from "../../api/queries.ts";
import { Refused } from "../../api/request.ts";
import { LedgerBadges } from "../../parts/ledger-badges.tsx";
import { countText } from "../../parts/numbers.ts";

const AGAIN_MS = 300;

type Step = { readonly words: string; readonly progress: number | undefined } | undefined;

/** Whether the ledger is as it was written, and makes the state that the scheduler has. */
export function Verify() {
  const { data: head } = useLedgerHead();
  const client = useQueryClient();
  const [step, setStep] = useState<Step>();
  const [problem, setProblem] = useState("");
  const stop = useRef(new AbortController());
  useEffect(() => {
    const controller = new AbortController();
    stop.current = controller;
    return () => controller.abort();
  }, []);
  const verify = async () => {
    setProblem("");
    try {
      await replayed(stop.current.signal, setStep);
      await client.invalidateQueries({ queryKey: ["ledger"] });
    } catch (error) {
      if (!stop.current.signal.aborted) setProblem((error as Error).message);
    }
    setStep(undefined);
  };
  if (!head) return null;
  return (
    <div className="ledger-verify">
      <span>
        head{" "}
        <span className="mono" title={head.hash}>
          {head.hash.slice(0, 12)}…
        </span>
      </span>
      <LedgerBadges head={head} />
      {head.verified_to < head.seq && !head.damage && <progress value={head.verified_to / head.seq} />}
      <button type="button" onClick={() => void verify()} disabled={step !== undefined}>
        Replay and compare
      </button>
      <span role="status">
        {step && (
          <>
            {step.progress !== undefined && <progress value={step.progress} />} {step.words}
          </>
        )}
        {problem !== "" && <span className="failed">{problem}</span>}
      </span>
    </div>
  );
}

async function replayed(signal: AbortSignal, tell: (step: Step) => void): Promise<void> {
  tell({ words: "Replaying…", progress: undefined });
  for (;;) {
    try {
      const { replay: found } = await replay(signal);
      if (!found)
        throw new Error(
          "The state is too large to be compared while the server works; orrery verify does it from a file.",
        );
      return tell({ words: `Compared at event ${countText(found.seq)}`, progress: 1 });
    } catch (error) {
      if (!(error instanceof Refused) || error.progress === undefined) throw error;
      tell({ words: error.message, progress: error.progress });
      await new Promise((resolve) => window.setTimeout(resolve, AGAIN_MS));
    }
  }
}
