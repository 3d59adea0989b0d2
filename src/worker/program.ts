import { type CommandOutcome, type CommandRequest, startCommand } from "./command.ts";
import { MAX_RESULT_BYTES, resultTooLarge } from "./result.ts";
import type { AttemptContext } from "./task-context.ts";

export interface ProgramRequest extends Pick<CommandRequest, "command" | "input"> {
  /** Variables on top of those that the worker passes on. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Its stdout goes to the log as well. */
  readonly followed?: boolean;
}

/** A program that did not end well. */
class ProgramError extends Error {
  override readonly name: string = "ProgramError";
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

const MAX_LAST_WORDS = 500;
const NOT_FOUND = 127;

/** What the program wrote to stdout. Throws when it fails, writes too much, or was stopped by the signal. */
export async function runProgram(request: ProgramRequest, context: AttemptContext): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const running = startProgram(request, context, (chunk) => {
    bytes += chunk.length;
    if (bytes <= MAX_RESULT_BYTES) chunks.push(chunk);
    else running.cancel();
    return undefined;
  });
  const problem = await running.problem;
  context.signal.throwIfAborted();
  if (bytes > MAX_RESULT_BYTES) throw resultTooLarge();
  if (problem) throw problem;
  return Buffer.concat(chunks).toString("utf8");
}

/** What it writes to stdout, as it is taken: a program that writes faster waits. Throws at the end, as above. */
export async function* programBytes(
  request: ProgramRequest,
  context: AttemptContext,
): AsyncGenerator<Buffer> {
  let isAbandoned = false;
  let offered: { readonly chunk: Buffer; taken(): void } | undefined;
  let wake = (): void => {};
  const running = startProgram(request, context, (chunk) => {
    if (isAbandoned) return undefined;
    return new Promise<void>((taken) => {
      offered = { chunk, taken };
      wake();
    });
  });
  let isOver = false;
  const over = running.problem.finally(() => {
    isOver = true;
    wake();
  });
  try {
    for (;;) {
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (offered || isOver) resolve();
      });
      // Assigned by what was started above, which the compiler does not see.
      const next = offered as { readonly chunk: Buffer; taken(): void } | undefined;
      if (!next) break;
      offered = undefined;
      yield next.chunk;
      next.taken();
    }
    const problem = await over;
    context.signal.throwIfAborted();
    if (problem) throw problem;
  } finally {
    isAbandoned = true;
    running.cancel();
    (offered as { taken(): void } | undefined)?.taken();
  }
}

interface RunningProgram {
  cancel(): void;
  /** Why it did not end well, when it has ended. */
  readonly problem: Promise<ProgramError | undefined>;
}

function startProgram(
  request: ProgramRequest,
  context: AttemptContext,
  onStdout: (chunk: Buffer) => Promise<void> | undefined,
): RunningProgram {
  context.signal.throwIfAborted();
  let lastWords = "";
  const running = startCommand({
    command: request.command,
    ...(request.input === undefined ? {} : { input: request.input }),
    cwd: request.cwd ?? process.cwd(),
    env: { ...context.environment, ...request.env, ...environmentOf(context) },
    // The attempt keeps the time, and says so by its signal.
    timeoutMs: 0,
    graceMs: context.graceMs,
    onOutput(stream, text) {
      if (stream === "stderr") lastWords = text.trim().split("\n").at(-1) || lastWords;
      if (stream === "stderr" || request.followed) context.output(stream, text);
    },
    onStdout,
  });
  const stop = (): void => running.cancel();
  context.signal.addEventListener("abort", stop, { once: true });
  const problem = running.done.then((outcome) => {
    context.signal.removeEventListener("abort", stop);
    return outcome.type === "finished" ? undefined : failure(request, outcome, lastWords);
  });
  return { cancel: stop, problem };
}

function failure({ command }: ProgramRequest, outcome: CommandOutcome, lastWords: string): ProgramError {
  if (outcome.type !== "failed") return new ProgramError(`it was ${outcome.type}`, outcome.type);
  if (typeof command !== "string" && outcome.exitCode === NOT_FOUND) {
    return new ProgramError(`cannot run ${command[0]}: ${lastWords || "not found"}`, "spawn");
  }
  const said = lastWords === "" ? "" : `: ${lastWords.slice(0, MAX_LAST_WORDS)}`;
  return new ProgramError(`${outcome.message}${said}`, outcome.code);
}

function environmentOf(context: AttemptContext): Record<string, string> {
  return {
    ORRERY_TASK_ID: context.taskId,
    ORRERY_ATTEMPT: String(context.attempt),
    ...(context.run === undefined ? {} : { ORRERY_RUN_ID: context.run }),
    ...(context.node === undefined ? {} : { ORRERY_NODE_ID: context.node }),
    ...(context.alternative === undefined ? {} : { ORRERY_ALTERNATIVE: context.alternative }),
  };
}
