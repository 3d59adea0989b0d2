/** A thread of a worker: loads the tasks file as the worker did, and runs what it is told to. */

import { parentPort, type TransferListItem } from "node:worker_threads";
import { checkedPieces, encode, isByteStream, isResizable } from "../../chunks/index.ts";
import { expansionIn } from "../expansion.ts";
import { type Invocation, invoke } from "../invocation.ts";
import { PermanentError } from "../permanent-error.ts";
import type { AttemptContext } from "../task-context.ts";
import { loadTasksFile } from "../tasks-file.ts";
import type { CopiedError, FromThread, ToThread } from "./messages.ts";

type Run = Extract<ToThread, { type: "run" }>;

const port = parentPort;
const aborts = new Map<number, AbortController>();
const takers = new Map<number, () => void>();
/** Of the main thread's results too: those that go with reports. */
const INLINE_BYTES = 16 * 1024;

port?.on("message", (message: ToThread) => {
  if (message.type === "run") void run(message);
  else if (message.type === "more") takers.get(message.id)?.();
  else aborts.get(message.id)?.abort(new DOMException(message.message, message.name));
});
// As on the main thread: a promise that one task forgot must not take the others with it.
process.on("unhandledRejection", (reason) => {
  process.stderr.write(`a promise was rejected on a thread and nobody looked: ${textOf(reason)}\n`);
});

async function run(message: Run): Promise<void> {
  const { id } = message;
  const abort = new AbortController();
  aborts.set(id, abort);
  try {
    const handler = (await loadTasksFile(message.file))[message.name];
    if (!handler)
      throw new PermanentError(`${message.file} exports no ${message.name} any more`, {
        code: "unknown-type",
      });
    const result = await invoke(handler, arrived(message.invocation), contextOf(message, abort.signal));
    const expansion = expansionIn(result);
    if (expansion) say({ type: "expanded", id, expansion });
    else if (isByteStream(result)) await sendPieces(id, result);
    else sendResult(id, result);
  } catch (error) {
    say({ type: "failed", id, error: copied(error) });
  } finally {
    aborts.delete(id);
    takers.delete(id);
  }
}

function sendResult(id: number, result: unknown): void {
  const { kind, bytes } = encode(result, INLINE_BYTES);
  const isShared = bytes.buffer instanceof SharedArrayBuffer;
  // Moved, not copied; but a small Buffer lies in memory that it has in common with others.
  const own = isShared || bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
  say({ type: "finished", id, kind, bytes: own }, isShared ? [] : [own.buffer as ArrayBuffer]);
}

/** Buffers lose their class on the way, and memory that is not shared was copied; of what could be resized a function gets another copy. */
function arrived({ payload, inputs }: Invocation): Invocation {
  if (!inputs) return { payload };
  return {
    payload,
    inputs: inputs.map((input) => {
      if ("meta" in input || "value" in input) return input;
      const { buffer, byteOffset, byteLength } = input.bytes;
      const bytes = Buffer.from(buffer, byteOffset, byteLength);
      return { kind: input.kind, bytes, isOwn: !(buffer instanceof SharedArrayBuffer || isResizable(bytes)) };
    }),
  };
}

async function sendPieces(id: number, stream: AsyncIterable<unknown>): Promise<void> {
  for await (const piece of checkedPieces(stream)) {
    const isTaken = new Promise<void>((resolve) => takers.set(id, resolve));
    const bytes = new Uint8Array(piece);
    say({ type: "piece", id, bytes }, [bytes.buffer]);
    await isTaken;
  }
  say({ type: "streamed", id });
}

function contextOf({ id, about }: Run, signal: AbortSignal): AttemptContext {
  return {
    ...about,
    signal,
    log: (text) => say({ type: "log", id, text: String(text) }),
    progress: (fraction, message) => say({ type: "progress", id, fraction, message }),
    cost: (amount) => say({ type: "cost", id, amount }),
    assess: (assessment) => say({ type: "assess", id, assessment }),
    output: () => {},
    // Programs run on the main thread.
    environment: {},
    fibers: () => Promise.reject(new Error("tasks of fibers run on the main thread")),
  };
}

function say(message: FromThread, moved: TransferListItem[] = []): void {
  port?.postMessage(message, moved);
}

/** Errors lose their members on the way to another thread. */
function copied(error: unknown): CopiedError {
  try {
    const { message, stack, code, retry } = (error ?? {}) as Record<string, unknown>;
    return {
      message: typeof message === "string" && message !== "" ? message : textOf(error),
      stack: typeof stack === "string" ? stack : undefined,
      code: typeof code === "string" ? code : undefined,
      retry: typeof retry === "boolean" ? retry : undefined,
    };
  } catch {
    return { message: textOf(error), stack: undefined, code: undefined, retry: undefined };
  }
}

function textOf(error: unknown): string {
  try {
    return String(error instanceof Error ? (error.stack ?? error.message) : error);
  } catch {
    return "it threw something that has no text";
  }
}
