import { once } from "node:events";
import { MessageChannel, Worker } from "node:worker_threads";
import { mix32 } from "../../core/index.ts";
import { RuntimeError } from "../errors.ts";
import type { Kernel, KernelSettings } from "../kernel.ts";
import type { ProfileName } from "../profiles.ts";
import { Directory } from "./directory.ts";
import { Inquiries } from "./inquiries.ts";
import { type Inquired, MainPost } from "./letters.ts";
import { type Counted, Memory, makeMemory } from "./memory.ts";
import { clearAfter } from "./panic.ts";
import { Recorder } from "./recorder.ts";
import { makeStation, type StealSettings } from "./station.ts";
import { clockOf, ThreadLoop } from "./thread-loop.ts";

/** How often a thread that does not even start is started again. */
const TRIES = 3;
/** So many are started at a time. */
const AT_ONCE = 4;
/** How long threads may take to end by themselves. */
const END_MS = 2_000;

/** What a thread is started with. */
export interface ThreadData {
  readonly memory: Memory["shared"];
  readonly me: number;
  readonly port: MessagePort;
  readonly profile: ProfileName;
  readonly kernel: Pick<KernelSettings, "budget" | "yieldInterval" | "graceMs" | "maxDepth" | "seed">;
  readonly settings: StealSettings;
  readonly startedMs: number;
}

type MessagePort = MessageChannel["port1"];

/** The threads of a runtime other than the main one. One that dies is replaced. */
export class Crew {
  readonly memory: Memory;
  /** Of the main thread, which is a processor too. */
  readonly kernel: Kernel;
  readonly post: MainPost;
  readonly startedMs: number = performance.timeOrigin + performance.now();
  readonly #settings: KernelSettings;
  readonly #steal: StealSettings;
  readonly #heapMb: number | undefined;
  readonly #threads = new Map<number, Worker>();
  /** Of the main thread. */
  readonly recorder: Recorder | undefined;
  readonly #inquiries: Inquiries;
  #died: string | undefined;
  #closing = false;

  constructor(
    processors: number,
    settings: KernelSettings,
    steal: StealSettings,
    heapMb: number | undefined,
    isRecorded: boolean,
  ) {
    this.memory = new Memory(makeMemory(processors, isRecorded));
    this.post = new MainPost(this.memory);
    this.#inquiries = new Inquiries(this.post, processors);
    this.recorder = isRecorded ? new Recorder(() => clockOf(this.startedMs)) : undefined;
    this.#settings = settings;
    this.#steal = steal;
    this.#heapMb = heapMb;
    this.kernel = this.#makeKernel();
  }

  async start(): Promise<void> {
    let next = 1;
    const startSome = async () => {
      while (next < this.memory.shared.processors) await this.#begin(next++, TRIES);
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
    };
    return new Worker(new URL("./thread.js", import.meta.url), {
      workerData,
      transferList: [port2],
      name: `orrery-processor-${me}`,
      ...(this.#heapMb === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: this.#heapMb } }),
    });
  }

  #makeKernel(): Kernel {
    return makeStation(
      this.#settings,
      {
        me: 0,
        memory: this.memory,
        directory: new Directory(this.memory),
        post: this.post,
        settings: this.#steal,
        startedMs: this.startedMs,
        sleepsAsAWhole: false,
        shutDown: () => undefined,
        asked: (letter) => this.#inquiries.answered(letter.value as Inquired),
        recorder: this.recorder,
        chance: this.recorder,
      },
      (made, equipped) => new ThreadLoop(made, equipped),
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
  return `processor ${me} failed: ${why}`;
}

function notStarted(me: number, panic: unknown, code: number): RuntimeError {
  return new RuntimeError("WorkerPanic", `a thread could not be started: ${wordsFor(me, panic, code)}`, {
    cause: panic,
  });
}
