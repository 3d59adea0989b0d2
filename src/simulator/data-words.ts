import type { Stimulus } from "../scheduler/index.ts";
import type { Model } from "./model.ts";
import type { ModelTask } from "./model-tasks.ts";

/** Somebody releases a run, or says that a result is not where it should be; also what is wrong, or no news. */
export function aboutData(model: Model, choice: number): Stimulus | undefined {
  const runs = [...model.runs.values()];
  const run = runs[choice % Math.max(1, runs.length)];
  if (!run) return undefined;
  const some = (tasks: readonly ModelTask[]) => tasks[(choice >>> 8) % Math.max(1, tasks.length)];
  const held = some(run.tasks.filter(({ holders }) => holders.length > 0));
  const ahead = some(run.tasks.filter(({ isAhead }) => isAhead));
  const of = { run: run.number, node: held?.node ?? 0, worker: held?.holders[0]?.number ?? 0 };
  const early = { run: run.number, node: ahead?.node ?? 0, attempt: ahead?.attempt ?? 1, startedAt: 0 };
  const stimuli: readonly Stimulus[] = [
    { kind: "RunReleased", run: run.number },
    { kind: "RunReleased", run: run.number },
    { kind: "RunReleased", run: 99 },
    { kind: "ChunkLost", ...of },
    { kind: "ChunkLost", ...of },
    { kind: "ChunkLost", ...of, run: 99 },
    { kind: "ChunkLost", ...of, node: run.tasks.length },
    { kind: "ChunkLost", ...of, worker: 99 },
    { kind: "AttemptFinished", ...early, resultHash: "early", resultBytes: 1 },
  ];
  return stimuli[(choice >>> 4) % stimuli.length];
}
