import { Worker } from "node:worker_threads";
import type { BlockLine } from "./chronicle.ts";
import type { FromThread, ThreadSettings, ToThread } from "./messages.ts";
import { PastError } from "./past-error.ts";
import type { Questions } from "./questions.ts";

/** What a ledger and all its rows may take. */
const HEAP_MB = 2_048;

/** Sources that are run as they are, as tests do, have no file that a thread could run: it runs what was built of them. */
const MAIN = new URL(
  new URL("./thread-main.js", import.meta.url).href.replace("/src/server/past/", "/dist/server/past/"),
);

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/** The thread that replays, and what it was asked. */
export class PastThread {
  readonly #worker: Worker;
  readonly #asked = new Map<number, Waiting>();
  #fed: Waiting | undefined;
  #nextId = 0;
  #end: PastError | undefined;

  constructor(settings: ThreadSettings, heapMb: number = HEAP_MB) {
    this.#worker = new Worker(MAIN, {
      name: "orrery-past",
      workerData: settings,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    this.#worker.unref();
    this.#worker.on("message", (message: FromThread) => this.#hear(message));
    this.#worker.on("error", (error) => this.#over(errorOf(error)));
    this.#worker.on("exit", () => this.#over(new PastError("failed", "the replay has ended")));
  }

  /** Why it is over; undefined: it is not. */
  get end(): PastError | undefined {
    return this.#end;
  }

  /** One batch at a time: resolves with the last event once they are taken in. */
  feed(blocks: readonly BlockLine[]): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#end) return reject(this.#end);
      this.#fed = { resolve: resolve as (seq: unknown) => void, reject };
      this.#say({ type: "blocks", blocks });
    });
  }

  ask<Question extends keyof Questions>(
    question: Question,
    ...args: Parameters<Questions[Question]>
  ): Promise<Awaited<ReturnType<Questions[Question]>>> {
    return new Promise((resolve, reject) => {
      if (this.#end) return reject(this.#end);
      const id = this.#nextId++;
      this.#asked.set(id, { resolve: resolve as (answer: unknown) => void, reject });
      this.#say({ type: "ask", id, question, args });
    });
  }

  async close(): Promise<void> {
    this.#over(new PastError("failed", "the replay was closed"));
    await this.#worker.terminate();
  }

  #say(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #hear(message: FromThread): void {
    if (message.type === "fed") {
      this.#fed?.resolve(message.seq);
      return;
    }
    const waiting = this.#asked.get(message.id);
    this.#asked.delete(message.id);
    if (message.type === "answer") waiting?.resolve(message.answer);
    else waiting?.reject(new Error(`the past could not be told: ${message.error}`));
  }

  #over(end: PastError): void {
    this.#end ??= end;
    for (const waiting of [...this.#asked.values(), this.#fed]) waiting?.reject(this.#end);
    this.#asked.clear();
    this.#fed = undefined;
  }
}

function errorOf(error: Error & { readonly code?: unknown }): PastError {
  return error.code === "ERR_WORKER_OUT_OF_MEMORY"
    ? new PastError("too-long", "the ledger is longer than what is kept of it in memory")
    : new PastError("failed", `the ledger could not be replayed: ${error.message}`);
}
