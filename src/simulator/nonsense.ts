import type { Stimulus } from "../scheduler/index.ts";
import type { Model } from "./model.ts";

/** What no worker and no client of ours would say, but a wrong one may. */
export function nonsense(model: Model, choice: number): Stimulus {
  const run = [...model.runs.values()][choice % Math.max(1, model.runs.size)];
  const single = [...model.singles.values()][choice % Math.max(1, model.singles.size)];
  const number = run?.number ?? 99;
  const size = run?.tasks.length ?? 0;
  const node = choice % Math.max(1, size);
  const finished = { kind: "AttemptFinished", startedAt: 0, resultHash: "", resultBytes: 0 } as const;
  const stimuli: readonly Stimulus[] = [
    { kind: "DrainRequested", worker: 99 },
    { kind: "WorkerLost", worker: 99, code: "lease" },
    { kind: "WorkerLoadReported", worker: 99, loadPermille: 1_000, saysOverloaded: true },
    { kind: "CancelRequested", run: 99, node: -1 },
    { kind: "CancelRequested", run: number, node: size },
    { kind: "CancelRequested", run: -1, node: -1 },
    { kind: "CancelRequested", run: -1, node: 9_999 },
    { ...finished, run: 99, node: 0, attempt: 1 },
    { ...finished, run: number, node: size, attempt: 1 },
    { ...finished, run: number, node, attempt: 0 },
    { ...finished, run: number, node, attempt: (run?.tasks[node]?.attempt ?? 0) + 1 },
    { ...finished, run: -1, node: 9_999, attempt: 1 },
    { ...finished, run: -1, node: single?.node ?? -1, attempt: (single?.attempt ?? 0) + 1 },
  ];
  return stimuli[choice % stimuli.length] as Stimulus;
}
