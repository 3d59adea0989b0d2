/**
 * Runs one shell command, or one program, as a process group.
 *
 * Its first process leads a group of its own, so that a signal reaches everything it started. What the command leaves
 * behind in its group when it ends is killed: a result must not depend on processes that go on after it. Only a
 * process that leaves the group on purpose (`setsid`) escapes.
 */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { outputLines } from "./output-lines.ts";
import { ProcessGroup } from "./process-group.ts";

export interface CommandRequest {
  /** A command line for the shell, or a program with its arguments, which no shell looks at. */
  readonly command: string | readonly [program: string, ...args: string[]];
  /** What it reads from stdin; nothing by default. */
  readonly input?: string | Uint8Array;
  readonly cwd: string;
  /** The whole environment of the command; nothing of ours is added. */
  readonly env: Readonly<Record<string, string>>;
  /** 0 means no limit. */
  readonly timeoutMs: number;
  /** How long the group may take to end after SIGTERM, before SIGKILL. */
  readonly graceMs: number;
  /** Whole lines with their newlines, possibly many at once; only the last may lack its newline. */
  readonly onOutput: (stream: "stdout" | "stderr", text: string) => void;
  /** All bytes of stdout, as they come. While it returns a promise that is pending, no more come. */
  readonly onStdout?: (chunk: Buffer) => Promise<void> | undefined;
}

export type CommandOutcome =
  | {
      readonly type: "finished";
      /** SHA-256 of all bytes of stdout, in hex. */
      readonly resultHash: string;
      readonly resultBytes: number;
    }
  | {
      readonly type: "failed";
      readonly code: "exit" | "signal" | "spawn";
      readonly exitCode: number | null;
      readonly signal: string | null;
      readonly message: string;
    }
  | { readonly type: "timed-out" }
  | { readonly type: "cancelled" };

export interface RunningCommand {
  readonly pid: number | undefined;
  /** Never rejects. */
  readonly done: Promise<CommandOutcome>;
  cancel(): void;
  /** SIGKILL at once and synchronously, for handlers of our own exit. */
  kill(): void;
}

type Shell = ChildProcessByStdio<Writable | null, Readable, Readable>;

/**
 * Waits until the guard knows of the group before it becomes the command: one that began earlier could outlive us.
 * When we die first, there is nothing to read and it ends. `--`: a command may begin with a dash.
 */
const GATE = 'read -r _ <&3 || exit 0; exec /bin/sh -c -- "$1" 3<&-';
const PROGRAM_GATE = 'read -r _ <&3 || exit 0; exec "$@" 3<&-';

/** How long a pipe that a grandchild keeps open is read after the shell has ended. */
const DRAIN_MS = 100;
/** Node fires a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function startCommand(request: CommandRequest): RunningCommand {
  const { command, input, cwd, env } = request;
  const gated = typeof command === "string" ? [GATE, "sh", command] : [PROGRAM_GATE, "sh", ...command];
  let shell: Shell;
  try {
    shell = spawn("/bin/sh", ["-c", ...gated], {
      cwd,
      env,
      detached: true,
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe", "pipe"],
    }) as unknown as Shell;
  } catch (error) {
    return neverStarted(Promise.resolve(spawnFailed(request, error)));
  }
  if (shell.pid !== undefined) {
    const group = new ProcessGroup(shell.pid);
    if (shell.stdin && input !== undefined) send(shell.stdin, input);
    openGate(shell);
    return supervise(shell, group, request);
  }
  // Node throws some refusals of the system (E2BIG, ENOTDIR) and emits others (ENOENT, EAGAIN).
  return neverStarted(
    new Promise((resolve) => shell.once("error", (error) => resolve(spawnFailed(request, error)))),
  );
}

function openGate(shell: Shell): void {
  send((shell.stdio as readonly unknown[])[3] as Writable, "\n");
}

function send(pipe: Writable, text: string | Uint8Array): void {
  // A shell that was killed meanwhile reads nothing, and a program need not read all of its stdin.
  pipe.on("error", () => {});
  pipe.end(text);
}

function supervise(shell: Shell, group: ProcessGroup, request: CommandRequest): RunningCommand {
  const output = readOutput(shell, request);
  let stopped: "timed-out" | "cancelled" | undefined;
  let exited = false;
  let grace: NodeJS.Timeout | undefined;

  const stop = (reason: "timed-out" | "cancelled"): void => {
    if (stopped || exited) return;
    stopped = reason;
    group.terminate();
    grace = setTimeout(() => group.kill(), Math.min(request.graceMs, MAX_TIMER_MS));
  };
  const limit =
    request.timeoutMs > 0
      ? setTimeout(stop, Math.min(request.timeoutMs, MAX_TIMER_MS), "timed-out")
      : undefined;

  const settle = async (exitCode: number | null, signal: string | null): Promise<CommandOutcome> => {
    exited = true;
    clearTimeout(limit);
    // A shell dies of SIGTERM at once, while the program that it ran may still be using its grace.
    if (stopped) await group.ended();
    else await output.settled();
    clearTimeout(grace);
    group.kill();
    const result = await output.close();
    group.release();
    if (stopped) return { type: stopped };
    return exitCode === 0 ? { type: "finished", ...result } : failed(exitCode, signal);
  };

  return {
    pid: shell.pid,
    done: new Promise((resolve) => shell.once("exit", (code, signal) => resolve(settle(code, signal)))),
    cancel: () => stop("cancelled"),
    kill() {
      if (!exited) stopped ??= "cancelled";
      group.kill();
    },
  };
}

interface Result {
  readonly resultHash: string;
  readonly resultBytes: number;
}

interface Output {
  /** When the pipes are closed, or nobody who may still hold them has written for a moment. */
  settled(): Promise<void>;
  /** Read what is there, and give up pipes that somebody outside the group holds open. */
  close(): Promise<Result>;
}

function readOutput(shell: Shell, { onOutput, onStdout }: CommandRequest): Output {
  const hash = createHash("sha256");
  let resultBytes = 0;
  let isTaken: Promise<void> | undefined;
  shell.stdout.on("data", (chunk: Buffer) => {
    hash.update(chunk);
    resultBytes += chunk.length;
    isTaken = onStdout?.(chunk)?.finally(() => {
      isTaken = undefined;
      shell.stdout.resume();
    });
    if (isTaken) shell.stdout.pause();
  });
  const closed = Promise.all([
    readLines(shell.stdout, (text) => onOutput("stdout", text)),
    readLines(shell.stderr, (text) => onOutput("stderr", text)),
  ]);
  const settled = async (): Promise<void> => {
    await settledWithin(closed, DRAIN_MS);
    // The time in which nobody took what had come does not count.
    while (isTaken) {
      await isTaken;
      await settledWithin(closed, DRAIN_MS);
    }
  };
  return {
    settled,
    async close() {
      await settled();
      shell.stdout.destroy();
      shell.stderr.destroy();
      await closed;
      return { resultHash: hash.digest("hex"), resultBytes };
    },
  };
}

function readLines(pipe: Readable, emit: (text: string) => void): Promise<void> {
  const lines = outputLines(emit);
  pipe.on("data", (chunk: Buffer) => lines.push(chunk));
  // A pipe that breaks closes too, and what was read until then counts.
  pipe.on("error", () => {});
  return new Promise((resolve) => {
    pipe.once("close", () => {
      lines.end();
      resolve();
    });
  });
}

function settledWithin(promise: Promise<unknown>, limitMs: number): Promise<void> {
  return new Promise((resolve) => {
    // One more turn of the loop: after we were busy, the timer comes before the bytes that had arrived by then.
    const timer = setTimeout(() => setImmediate(resolve), limitMs);
    void promise.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function neverStarted(done: Promise<CommandOutcome>): RunningCommand {
  return { pid: undefined, done, cancel() {}, kill() {} };
}

function failed(exitCode: number | null, signal: string | null): CommandOutcome {
  if (signal !== null)
    return { type: "failed", code: "signal", exitCode, signal, message: `killed by ${signal}` };
  return { type: "failed", code: "exit", exitCode, signal, message: `exited with code ${exitCode}` };
}

function spawnFailed({ cwd }: CommandRequest, error: unknown): CommandOutcome {
  // For a missing directory Node blames the shell, which is there.
  const reason = isDirectory(cwd) ? String(error) : `${cwd} is not a directory`;
  return { type: "failed", code: "spawn", exitCode: null, signal: null, message: `cannot start: ${reason}` };
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
