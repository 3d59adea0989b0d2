import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { FileNode } from "../../protocol/index.ts";
import { formatBytes } from "../../words/index.ts";
import type { RunSubmission, TaskSubmission } from "../api.ts";
import type { FromBodyThread, ToBodyThread } from "./body-messages.ts";
import { LARGE_BODY } from "./limits.ts";
import { Problem } from "./problems.ts";
import { type BodyForm, readBody } from "./read-body.ts";
import { MIB } from "./route.ts";
import type { Share } from "./shares.ts";

/** Sources run by tests have no compiled file beside them: the thread runs the build. */
const MAIN = new URL(
  new URL("./body-thread-main.js", import.meta.url).href.replace("/src/server/http/", "/dist/server/http/"),
);

/** Limit on the heap of the thread, in MiB. What is read takes about five times the bytes of its body. */
const HEAP_MIB = 768;
/** Limit on the bytes of the bodies that the thread holds at a time. */
const MAX_HELD_BYTES = 96 * MIB;

interface Job {
  readonly id: number;
  readonly form: BodyForm;
  readonly bytes: Buffer;
  readonly size: number;
  readonly resolve: (body: ApartBody) => void;
  readonly reject: (error: unknown) => void;
}

type Slice = FromBodyThread & { type: "slice" };

/**
 * Reads large bodies on a thread of its own, so that the main thread goes on meanwhile. Bodies of one key are read in
 * their order, and keys take turns: a key with many bodies makes others wait for one of them at most.
 *
 * The content of a body stays on the thread and comes over in slices, because receiving it at once would hold the main
 * thread up for as long as reading it. The thread starts with the first body.
 */
export class BodyThread implements AsyncDisposable {
  #worker: Worker | undefined;
  #nextId = 0;
  /** Waiting jobs by key; the key whose turn is next comes first. */
  readonly #waiting = new Map<string, Job[]>();
  /** Jobs that the thread has. */
  readonly #jobs = new Map<number, Job>();
  readonly #slices = new Map<number, { resolve: (slice: Slice) => void; reject: (error: unknown) => void }>();
  #isReading = false;
  #heldBytes = 0;

  /** Reads a body. The caller takes its slices or drops it. A body that waits when `signal` is aborted is not read. */
  read({ keyId }: Share, form: BodyForm, bytes: Buffer, signal: AbortSignal): Promise<ApartBody> {
    return new Promise((resolve, reject) => {
      const job = { id: this.#nextId++, form, bytes, size: bytes.length, resolve, reject };
      const same = this.#waiting.get(keyId);
      if (same) same.push(job);
      else this.#waiting.set(keyId, [job]);
      const leave = (): void => {
        const jobs = this.#waiting.get(keyId)?.filter((other) => other !== job) ?? [];
        if (jobs.length > 0) this.#waiting.set(keyId, jobs);
        else this.#waiting.delete(keyId);
        if (!this.#jobs.has(job.id)) reject(ended());
      };
      if (signal.aborted) leave();
      else signal.addEventListener("abort", leave, { once: true });
      this.#start();
    });
  }

  /** Reads a run: a small one in JSON at once, any other on the thread. */
  async run(
    share: Share,
    form: BodyForm & { of: "run" },
    bytes: Buffer,
    signal: AbortSignal,
  ): Promise<RunSubmission> {
    if (!form.isYaml && bytes.length < LARGE_BODY) {
      const content = readBody(form, bytes.toString());
      if (content.of === "run") return withNodes(content.run, content.items);
    }
    const body = await this.read(share, form, bytes, signal);
    const nodes: FileNode[] = [];
    for await (const slice of body.slices()) for (const node of slice) nodes.push(node as FileNode);
    return withNodes(body.run as RunSubmission, nodes);
  }

  async slice(id: number): Promise<Slice> {
    const slice = await new Promise<Slice>((resolve, reject) => {
      if (!this.#jobs.has(id)) return reject(ended());
      this.#slices.set(id, { resolve, reject });
      this.#say({ type: "next", id });
    });
    if (slice.isLast) this.#release(id);
    return slice;
  }

  drop(id: number): void {
    if (!this.#jobs.has(id)) return;
    this.#slices.get(id)?.reject(ended());
    this.#slices.delete(id);
    this.#say({ type: "drop", id });
    this.#release(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over(ended());
    await this.#worker?.terminate();
  }

  #start(): void {
    if (this.#isReading) return;
    for (const [keyId, jobs] of this.#waiting) {
      const [job] = jobs;
      if (!job || (this.#heldBytes > 0 && this.#heldBytes + job.size > MAX_HELD_BYTES)) continue;
      jobs.shift();
      // The key goes to the end of the row.
      this.#waiting.delete(keyId);
      if (jobs.length > 0) this.#waiting.set(keyId, jobs);
      this.#isReading = true;
      this.#heldBytes += job.size;
      this.#jobs.set(job.id, job);
      this.#worker ??= this.#open();
      const { id, form, bytes } = job;
      // A small buffer may be part of a pool, which cannot be handed over.
      const own = bytes.buffer.byteLength === bytes.length ? bytes : Uint8Array.prototype.slice.call(bytes);
      this.#worker.postMessage({ type: "read", id, form, bytes: own } satisfies ToBodyThread, [
        own.buffer as ArrayBuffer,
      ]);
      return;
    }
  }

  #open(): Worker {
    const worker = new Worker(MAIN, {
      name: "orrery-bodies",
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    });
    worker.unref();
    worker.on("message", (message: FromBodyThread) => this.#hear(message));
    worker.on("error", (error) => {
      if (this.#worker === worker) this.#worker = undefined;
      this.#over(errorOf(error, this.#jobs.values()));
      this.#start();
    });
    return worker;
  }

  #hear(message: FromBodyThread): void {
    if (message.type === "slice") {
      const waiting = this.#slices.get(message.id);
      this.#slices.delete(message.id);
      waiting?.resolve(message);
      return;
    }
    const job = this.#jobs.get(message.id);
    this.#isReading = false;
    if (message.type === "read") job?.resolve(new ApartBody(this, message.id, message.run));
    else {
      this.#release(message.id);
      if (message.type === "failed") job?.reject(new Error(message.error));
      else {
        const { code, detail, errors } = message.problem;
        job?.reject(new Problem(code, detail, errors && { errors }));
      }
    }
    this.#start();
  }

  #release(id: number): void {
    const job = this.#jobs.get(id);
    if (!job) return;
    this.#jobs.delete(id);
    this.#heldBytes -= job.size;
    this.#start();
  }

  #over(error: unknown): void {
    for (const job of this.#jobs.values()) job.reject(error);
    for (const slice of this.#slices.values()) slice.reject(error);
    this.#jobs.clear();
    this.#slices.clear();
    this.#heldBytes = 0;
    this.#isReading = false;
  }

  #say(message: ToBodyThread): void {
    this.#worker?.postMessage(message);
  }
}

/** A large body that was read on the body thread, and stays there until its slices are taken. */
export class ApartBody {
  readonly run: RunSubmission | undefined;
  readonly #thread: BodyThread;
  readonly #id: number;

  constructor(thread: BodyThread, id: number, run: RunSubmission | undefined) {
    this.#thread = thread;
    this.#id = id;
    this.run = run;
  }

  /** The tasks or nodes of the body, some at a time. May be called once. */
  async *slices(): AsyncGenerator<readonly unknown[]> {
    try {
      for (let isWhole = false; !isWhole; ) {
        const { items, isLast } = await this.#thread.slice(this.#id);
        isWhole = isLast;
        yield items;
        await setImmediate();
      }
    } finally {
      this.drop();
    }
  }

  /** Forgets what was not taken yet. */
  drop(): void {
    this.#thread.drop(this.#id);
  }

  /** The task of a body that is one. */
  async only(): Promise<TaskSubmission> {
    const { items } = await this.#thread.slice(this.#id);
    return items[0] as TaskSubmission;
  }
}

function withNodes(run: RunSubmission, nodes: RunSubmission["graph"]["nodes"]): RunSubmission {
  return { ...run, graph: { ...run.graph, nodes } };
}

function ended(): Problem {
  const detail = "the server closes, or the request has ended; try again";
  return new Problem("unavailable", detail, { headers: { "retry-after": "1" } });
}

function errorOf(error: unknown, jobs: Iterable<Job>): unknown {
  if ((error as { readonly code?: unknown }).code !== "ERR_WORKER_OUT_OF_MEMORY") return error;
  const most = Math.max(0, ...Array.from(jobs, ({ size }) => size));
  return new Problem(
    "too-large",
    `reading bodies of up to ${formatBytes(most)} took more memory than the server has for it; send less at once`,
  );
}
