import { type CommandOutcome, type CommandRequest, startCommand } from "./command.ts";
import { MAX_RESULT_BYTES, resultTooLarge } from "./result.ts";
import type { AttemptContext } from "./task-context.ts";

export interface ProgramRequest extends Pick<CommandRequest, "command" | "input"> {
  /** Beside those of this process. */
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
  context.signal.throwIfAborted();
  const chunks: Buffer[] = [];
  let bytes = 0;
  let lastWords = "";
  const running = startCommand({
    command: request.command,
    ...(request.input === undefined ? {} : { input: request.input }),
    cwd: request.cwd ?? process.cwd(),
    env: { ...process.env, ...request.env, ...environmentOf(context) } as Record<string, string>,
    // The attempt keeps the time, and says so by its signal.
    timeoutMs: 0,
    graceMs: context.graceMs,
    onOutput(stream, text) {
      if (stream === "stderr") lastWords = text.trim().split("\n").at(-1) || lastWords;
      if (stream === "stderr" || request.followed) context.output(stream, text);
    },
    onStdout(chunk) {
      bytes += chunk.length;
      if (bytes <= MAX_RESULT_BYTES) chunks.push(chunk);
      else running.cancel();
    },
  });
  const stop = (): void => running.cancel();
  context.signal.addEventListener("abort", stop, { once: true });
  const outcome = await running.done;
  context.signal.removeEventListener("abort", stop);
  context.signal.throwIfAborted();
  if (bytes > MAX_RESULT_BYTES) throw resultTooLarge();
  if (outcome.type !== "finished") throw failure(request, outcome, lastWords);
  return Buffer.concat(chunks).toString("utf8");
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
