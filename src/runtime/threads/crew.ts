import { once } from "node:events";
import { MessageChannel, Worker } from "node:worker_threads";
import { mix32 } from "../../core/index.ts";
import { RuntimeError } from "../errors.ts";
import type { Kernel, KernelSettings } from "../kernel.ts";
import type { Observer } from "../observer.ts";
import type { Outside } from "../outside.ts";
import type { ProfileName } from "../profiles.ts";
import type { KernelView } from "../snapshot.ts";
import { Directory } from "./directory.ts";
import { Inquiries } from "./inquiries.ts";
import { type Inquired, type Inquiry, type Letter, MainPost } from "./letters.ts";
import { type Counted, Memory, makeMemory, type Published } from "./memory.ts";
import { clearAfter } from "./panic.ts";
import { Recorder } from "./recorder.ts";
import { StallWatch } from "./stall.ts";
import { equip, makeStation, type Station, type StealSettings } from "./station.ts";
import { hooksOf, type Told, tell } from "./telling.ts";
import { clockOf, ThreadLoop } from "./thread-loop.ts";

/** How often a thread that does not even start is started again. */
const TRIES = 3;
/** So many are started at a time. */
const AT_ONCE = 4;
/** How long threads may take to end by themselves. */
const END_MS = 2_000;
/** How long threads may take to say what they do: those that compute without a pause do not hear that they are asked. */
const PATIENCE_MS = 200;

/** What a thread is started with. */
export interface ThreadData {
  readonly memory: Memory["shared"];
  readonly me: number;
  readonly port: MessagePort;
  readonly profile: ProfileName;
  readonly kernel: Pick<KernelSettings, "budget" | "yieldInterval" | "graceMs" | "maxDepth" | "seed">;
  readonly settings: StealSettings;
  readonly startedMs: number;
  /** What the observer wants to be told. */
  readonly hooks: readonly (keyof Observer)[];
}

type MessagePort = MessageChannel["port1"];

/** The threads of a runtime other than the main one. One that dies is replaced. */
export class Crew {
  readonly memory: Memory;
  /** Of the main thread, which is a processor too. */
  readonly kernel: Kernel;
  readonly post: MainPost;
  readonly startedMs: number;
  readonly #settings: KernelSettings;
  readonly #steal: StealSettings;
  readonly #heapMb: number | undefined;
  readonly #threads = new Map<number, Worker>();
  /** Of the main thread. */
  readonly recorder: Recorder | undefined;
  readonly #inquiries: Inquiries;
  readonly #stallWatch: StallWatch;
  #died: string | undefined;
  #closing = false;

  constructor(
    processors: number,
    settings: KernelSettings,
    steal: StealSettings,
    heapMb: number | undefined,
    isRecorded: boolean,
    /** What has run on one thread so far. */
    from?: { readonly kernel: Kernel; readonly startedMs: number; readonly outside: Outside },
  ) {
    this.startedMs = from?.startedMs ?? performance.timeOrigin + performance.now();
    this.memory = new Memory(makeMemory(processors, isRecorded));
    this.post = new MainPost(this.memory);
    this.#inquiries = new Inquiries(this.post, this.memory);
    this.recorder = isRecorded ? new Recorder(() => clockOf(this.startedMs)) : undefined;
    this.#settings = settings;
    this.#steal = steal;
    this.#heapMb = heapMb;
    if (from === undefined)
      this.kernel = makeStation(settings, this.#station(), (...made) => new ThreadLoop(...made));
    else {
      this.kernel = from.kernel;
      this.kernel.loop = new ThreadLoop(from.kernel, equip(from.kernel, this.#station()), from.outside);
    }
    this.#stallWatch = new StallWatch(this.kernel, this.memory, this.#inquiries, this.recorder);
  }

  async start(): Promise<void> {
    let next = 1;
    const startSome = async () => {
      while (next < this.memory.shared.processors && !this.#closing) await this.#begin(next++, TRIES);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, startSome));
  }

  /** Starts a thread. One that dies before it is there is tried again, so many times. */
  #begin(me: number, tries: number): Promise<void> {
    const worker = this.#make(me);
    this.#threads.set(me, worker);
    worker.unref();
    let panic: unknown;
    worker.on("error", (error) => {
      panic = error;
    });
    return new Promise((resolve, reject) => {
      let isThere = false;
      worker.once("message", () => {
        isThere = true;
        resolve();
      });
      worker.once("exit", (code) => {
        if (this.#closing || this.#threads.get(me) !== worker) {
          resolve();
          return;
        }
        this.post.disconnect(me);
        (this.kernel.loop as ThreadLoop).forget(me);
        this.#inquiries.gone(me);
        this.#died ??= wordsFor(me, panic, code);
        clearAfter(this.memory, me, wordsFor(me, panic, code));
        if (isThere) void this.#begin(me, TRIES).catch(() => undefined);
        else if (tries > 1) this.#begin(me, tries - 1).then(resolve, reject);
        else reject(notStarted(me, panic, code));
      });
    });
  }

  #make(me: number): Worker {
    const { port1, port2 } = new MessageChannel();
    port1.unref();
    this.post.connect(me, port1);
    const { profile, budget, yieldInterval, graceMs, maxDepth, seed } = this.#settings;
    const workerData: ThreadData = {
      memory: this.memory.shared,
      me,
      port: port2,
      profile: profile.name,
      kernel: { budget, yieldInterval, graceMs, maxDepth, seed: mix32(seed ^ mix32(me)) },
      settings: this.#steal,
      startedMs: this.startedMs,
      hooks: hooksOf(this.#settings.observer),
    };
    return new Worker(new URL("./thread.js", import.meta.url), {
      workerData,
      transferList: [port2],
      name: `orrery-processor-${me}`,
      ...(this.#heapMb === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: this.#heapMb } }),
    });
  }

  #station(): Station {
    return {
      me: 0,
      memory: this.memory,
      directory: new Directory(this.memory),
      post: this.post,
      settings: this.#steal,
      startedMs: this.startedMs,
      sleepsAsAWhole: false,
      shutDown: () => undefined,
      asked: (letter) => this.#hear(letter),
      idle: () => undefined,
      stalled: () => this.#stallWatch.look(),
      recorder: this.recorder,
      chance: this.recorder,
    };
  }

  #hear({ kind, value }: Letter): void {
    if (kind === "told") tell(this.#settings.observer, value as readonly Told[]);
    else this.#inquiries.answered(value as Inquired);
  }

  /** What other threads run, and those that have not said so in time. */
  views(limit: number): { readonly views: readonly KernelView[]; readonly silent: readonly number[] } {
    const answers = this.#askNow("view", limit);
    const others = Array.from({ length: this.memory.shared.processors - 1 }, (_, at) => at + 1);
    return {
      views: others.flatMap((me) => (answers.get(me) as KernelView | undefined) ?? []),
      silent: others.filter((me) => !answers.has(me)),
    };
  }

  /** Has all threads tell the observer what they have not told yet, and show what they have counted. */
  catchUp(): void {
    this.#askNow("told", 0);
  }

  #askNow(what: Inquiry, limit: number): Map<number, unknown> {
    const answers = this.#inquiries.askNow(what, limit, PATIENCE_MS, (letter) => this.#hear(letter));
    // It may have been parked, and is not any more.
    this.kernel.loop.woken(this.kernel.processor);
    return answers;
  }

  /** What the kernels of other threads have counted. */
  published(): readonly Published[] {
    return Array.from({ length: this.memory.shared.processors - 1 }, (_, at) =>
      this.memory.published(at + 1),
    );
  }

  get stealing(): boolean {
    return this.#steal.stealing;
  }

  /** What each processor has recorded. */
  async logs(): Promise<(readonly number[])[]> {
    if (this.recorder === undefined)
      throw new RuntimeError("InvalidArgument", "nothing was recorded: start the runtime with record: true");
    const others = await this.#inquiries.ask("log");
    if (this.#died !== undefined)
      throw new RuntimeError("WorkerPanic", `a run in which a thread dies cannot be replayed: ${this.#died}`);
    const logs = [this.recorder.log, ...others] as (readonly number[] | undefined)[];
    return logs.map((log) => {
      if (log !== undefined) return log;
      throw new RuntimeError("InvalidArgument", "the recording became too long; record less of the program");
    });
  }

  counters(): readonly Readonly<Record<Counted, number>>[] {
    return Array.from({ length: this.memory.shared.processors }, (_, me) => this.memory.counters(me));
  }

  /** Ends all threads, and waits until they are gone. */
  async close(): Promise<void> {
    this.#closing = true;
    this.memory.shutDown();
    const gone = [...this.#threads.values()].map(async (worker) => {
      if (worker.threadId < 0) return;
      worker.ref();
      const late = setTimeout(() => void worker.terminate(), END_MS);
      await once(worker, "exit");
      clearTimeout(late);
    });
    for (const me of this.#threads.keys()) this.memory.ring(me);
    await Promise.all(gone);
    this.post.close();
  }
}

function wordsFor(me: number, panic: unknown, code: number): string {
  const why = panic instanceof Error ? panic.message : `it ended with code ${code}`;
  return `processor ${me}: ${why}`;
}

function notStarted(me: number, panic: unknown, code: number): RuntimeError {
  return new RuntimeError("WorkerPanic", `a thread could not be started: ${wordsFor(me, panic, code)}`, {
    cause: panic,
  });
}
