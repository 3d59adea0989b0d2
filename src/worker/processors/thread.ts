import { Worker as NodeThread } from "node:worker_threads";
import type { ChunkKind } from "../../protocol/index.ts";
import { EncodedResult } from "../encoded-result.ts";
import { expanding } from "../expansion.ts";
import type { Invocation } from "../invocation.ts";
import type { AttemptContext } from "../task-context.ts";
import type { CopiedError, FromThread, ToThread } from "./messages.ts";

/** The thread ended under it; another one may fare better. */
class ThreadPanic extends Error {
  override readonly name: string = "ThreadPanic";
  readonly code = "worker-panic";
}

export interface ThreadTask {
  readonly file: string;
  readonly name: string;
  readonly invocation: Invocation;
}

/** Node fires a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

interface Running {
  readonly context: AttemptContext;
  resolve(result: unknown): void;
  reject(error: unknown): void;
  stream?: Pieces;
}

/** One thread of a worker, and what runs on it. */
export class Thread {
  readonly #thread: NodeThread;
  readonly #running = new Map<number, Running>();
  #nextId = 0;
  #error: Error | undefined;
  #isOver = false;

  constructor() {
    this.#thread = new NodeThread(new URL("./thread-main.js", import.meta.url), {
      name: "orrery-worker-thread",
      // Of a program that was given as a text, and is none of the thread's.
      execArgv: process.execArgv.filter((option) => !option.startsWith("--input-type")),
    });
    this.#thread.on("message", (message: FromThread) => this.#hear(message));
    this.#thread.on("error", (error) => {
      this.#error = error;
    });
    this.#thread.on("exit", () => this.#panic());
    // The worker knows when it is over; its threads do not keep the process.
    this.#thread.unref();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get load(): number {
    return this.#running.size;
  }

  async end(): Promise<void> {
    await this.#thread.terminate();
  }

  /** Ends with the thread, or by it: a function that does not end in time takes its thread along. */
  async run(task: ThreadTask, context: AttemptContext): Promise<unknown> {
    const id = this.#nextId++;
    const { signal, graceMs, taskId, attempt, taskType, zone, agent, run, node, alternative } = context;
    const place = {
      ...(run !== undefined && { run }),
      ...(node !== undefined && { node }),
      ...(alternative !== undefined && { alternative }),
    };
    const about = { graceMs, taskId, attempt, taskType, zone, agent, ...place };
    let grace: NodeJS.Timeout | undefined;
    const stop = (): void => {
      const { name, message } = signal.reason as Error;
      this.#say({ type: "cancel", id, name, message });
      grace = setTimeout(() => void this.end(), Math.min(graceMs, MAX_TIMER_MS));
    };
    const result = new Promise<unknown>((resolve, reject) => {
      this.#running.set(id, { context, resolve, reject });
    });
    this.#say({ type: "run", id, ...task, about });
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    try {
      return await result;
    } finally {
      clearTimeout(grace);
      signal.removeEventListener("abort", stop);
    }
  }

  #say(message: ToThread): void {
    this.#thread.postMessage(message);
  }

  #hear(message: FromThread): void {
    const running = this.#running.get(message.id);
    if (!running) return;
    const { context } = running;
    switch (message.type) {
      case "log":
        context.log(message.text);
        break;
      case "progress":
        context.progress(message.fraction, message.message);
        break;
      case "cost":
        context.cost(message.amount);
        break;
      case "assess":
        context.assess(message.assessment);
        break;
      case "piece":
        this.#take(message.id, running, message.bytes);
        break;
      default:
        this.#running.delete(message.id);
        end(running, message);
    }
  }

  #take(id: number, running: Running, bytes: Uint8Array): void {
    if (!running.stream) {
      running.stream = new Pieces(() => this.#say({ type: "more", id }));
      running.resolve(running.stream);
    }
    running.stream.push(bytes);
  }

  #panic(): void {
    this.#isOver = true;
    const why = this.#error ? `: ${this.#error.message}` : "";
    for (const running of this.#running.values())
      fail(running, new ThreadPanic(`the thread that it ran on ended${why}`));
    this.#running.clear();
  }
}

type End = Extract<FromThread, { type: "finished" | "expanded" | "streamed" | "failed" }>;

function end(running: Running, message: End): void {
  if (message.type === "failed") fail(running, errorOf(message.error));
  else if (message.type === "finished") running.resolve(encodedResult(message.kind, message.bytes));
  else if (message.type === "expanded") running.resolve(expanding(message.expansion));
  else if (running.stream) running.stream.end();
  // Without a piece, it is empty.
  else running.resolve(encodedResult("bytes", new Uint8Array()));
}

function encodedResult(kind: ChunkKind, { buffer, byteOffset, byteLength }: Uint8Array): EncodedResult {
  return new EncodedResult({ kind, bytes: Buffer.from(buffer, byteOffset, byteLength) });
}

function fail(running: Running, error: Error): void {
  running.stream?.end(error);
  running.reject(error);
}

/** A stream from a thread. One piece is on its way at a time. */
class Pieces implements AsyncIterable<Uint8Array> {
  readonly #onTaken: () => void;
  #next: Uint8Array | undefined;
  #end: { readonly error: Error | undefined } | undefined;
  #wake: () => void = () => {};

  constructor(onTaken: () => void) {
    this.#onTaken = onTaken;
  }

  push(bytes: Uint8Array): void {
    this.#next = bytes;
    this.#wake();
  }

  end(error?: Error): void {
    this.#end ??= { error };
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      while (!this.#next && !this.#end)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      if (this.#next) {
        const piece = this.#next;
        this.#next = undefined;
        yield piece;
        this.#onTaken();
      } else if (this.#end?.error) throw this.#end.error;
      else return;
    }
  }
}

function errorOf({ message, stack, code, retry }: CopiedError): Error {
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return Object.assign(error, code !== undefined && { code }, retry !== undefined && { retry });
}
