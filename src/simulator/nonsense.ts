import type { State, Stimulus } from "../scheduler/index.ts";

/** What no worker and no client of ours would say, but a wrong one may. */
export function nonsense(state: State, choice: number): Stimulus {
  const run = [...state.runs.values()][choice % Math.max(1, state.runs.size)];
  const number = run?.number ?? 99;
  const size = run?.graph.size ?? 0;
  const node = choice % Math.max(1, size);
  const finished = { kind: "AttemptFinished", startedAt: 0, resultHash: "", resultBytes: 0 } as const;
  const stimuli: readonly Stimulus[] = [
    { kind: "DrainRequested", worker: 99 },
    { kind: "WorkerLost", worker: 99, code: "lease" },
    { kind: "WorkerLoadReported", worker: 99, loadPermille: 1_000, saysOverloaded: true },
    { kind: "CancelRequested", run: 99, node: -1 },
    { kind: "CancelRequested", run: number, node: size },
    { ...finished, run: 99, node: 0, attempt: 1 },
    { ...finished, run: number, node: size, attempt: 1 },
    { ...finished, run: number, node, attempt: 0 },
    { ...finished, run: number, node, attempt: (run?.attempt[node] ?? 0) + 1 },
  ];
  return stimuli[choice % stimuli.length] as Stimulus;
}
