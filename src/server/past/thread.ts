import { setTimeout as sleep } from "node:timers/promises";
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

/** Time, in ms, that a thread has to close its ledger before it is ended. */
const CLOSE_WITHIN_MS = 1_000;

/** A thread that has loaded its code and waits for a ledger. */
let spare: Worker | undefined;
let keepsSpare = false;

/**
 * Starts a thread now that a replay will use later. The installed package may be replaced while a server runs, and a
 * thread that is started after that would load nothing, or another version.
 */
export function keepSpareThread(): void {
  keepsSpare = true;
  spare ??= threadWith(HEAP_MB);
}

function threadWith(heapMb: number): Worker {
  const worker = new Worker(MAIN, {
    name: "orrery-past",
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  });
  // One that fails before it is used is replaced when it is needed.
  worker.on("error", () => {
    if (spare === worker) spare = undefined;
  });
  worker.unref();
  return worker;
}

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/** The thread that replays, and what it was asked. */
export class PastThread {
  readonly #worker: Worker;
  readonly #mayBeSpare: boolean;
  readonly #onMessage = (message: FromThread) => this.#hear(message);
  readonly #onError = (error: Error) => this.#over(errorOf(error));
  readonly #onExit = () => this.#over(new PastError("failed", "the replay has ended"));
  #onClosed = () => {};
  readonly #asked = new Map<number, Waiting>();
  #fed: Waiting | undefined;
  #nextId = 0;
  #end: PastError | undefined;

  constructor(settings: ThreadSettings, heapMb: number = HEAP_MB) {
    this.#mayBeSpare = heapMb === HEAP_MB;
    this.#worker = (this.#mayBeSpare ? spare : undefined) ?? threadWith(heapMb);
    if (this.#worker === spare) spare = undefined;
    this.#worker.on("message", this.#onMessage);
    this.#worker.on("error", this.#onError);
    this.#worker.on("exit", this.#onExit);
    this.#say({ type: "open", settings });
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

  /** Ends the replay. The thread is kept as the spare one if there is none, because its code is loaded. */
  async close(): Promise<void> {
    const isSound = this.#end === undefined;
    this.#over(new PastError("failed", "the replay was closed"));
    const isKept = keepsSpare && this.#mayBeSpare && isSound && (await this.#isEmptied());
    this.#worker.off("message", this.#onMessage).off("error", this.#onError).off("exit", this.#onExit);
    if (isKept && !spare) spare = this.#worker;
    else await this.#worker.terminate();
  }

  async #isEmptied(): Promise<boolean> {
    const closed = new Promise<boolean>((resolve) => {
      this.#onClosed = () => resolve(true);
    });
    this.#say({ type: "close" });
    return await Promise.race([closed, sleep(CLOSE_WITHIN_MS, false, { ref: false })]);
  }

  #say(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #hear(message: FromThread): void {
    if (message.type === "closed") {
      this.#onClosed();
      return;
    }
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
