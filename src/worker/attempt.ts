import type { Work } from "../protocol/index.ts";
import { BUILT_IN } from "./builtin.ts";
import { type CommandOutcome, type CommandRequest, type RunningCommand, startCommand } from "./command.ts";

/** Starts what a task asks for: a command in a child process, or a built-in task type in this one. */
export function startWork(work: Work, request: Omit<CommandRequest, "command">): RunningCommand {
  if (work.kind === "command") return startCommand({ ...request, command: work.command });
  return startBuiltIn(work.type, work.payload, request.timeoutMs);
}

function startBuiltIn(type: string, payload: unknown, timeoutMs: number): RunningCommand {
  const cancelled = new AbortController();
  const limit = timeoutMs > 0 ? [AbortSignal.timeout(timeoutMs)] : [];
  const signal = AbortSignal.any([cancelled.signal, ...limit]);
  const run = async (): Promise<CommandOutcome> => {
    try {
      await BUILT_IN[type]?.(payload, { signal });
      return { type: "finished", resultHash: "", resultBytes: 0 };
    } catch (error) {
      if (cancelled.signal.aborted) return { type: "cancelled" };
      if (signal.aborted) return { type: "timed-out" };
      return {
        type: "failed",
        code: "exit",
        exitCode: null,
        signal: null,
        message: (error as Error).message,
      };
    }
  };
  const cancel = (): void => cancelled.abort();
  return { pid: undefined, done: run(), cancel, kill: cancel };
}
