import { Account, type Budget, readBudget } from "./budget.ts";
import { Mint } from "./capabilities.ts";
import { Channel, type ChannelOptions } from "./channel.ts";
import { BudgetExhausted, RuntimeError } from "./errors.ts";
import { type AnyFunction, describeFiber, type Fiber, slotOfFiber, whenOver } from "./fiber.ts";
import { type Capabilities, type Holdings, implicitHoldings, NO_HOLDINGS, readHoldings } from "./holdings.ts";
import type { Steps } from "./instruction.ts";
import { Kernel, type KernelSettings } from "./kernel.ts";
import { LiveLoop } from "./live-loop.ts";
import type { Nursery } from "./nursery.ts";
import type { NurseryCore, NurseryOptions } from "./nursery-core.ts";
import type { Observer } from "./observer.ts";
import { divergedOf, type Launched, outcomeOf, Root } from "./root.ts";
import { type RuntimeOptions, readHeap, readOrder, readSettings, readTrace } from "./runtime-options.ts";
import { Simulation, type SimulationSettings } from "./simulation.ts";
import { type Snapshot, takeSnapshot } from "./snapshot.ts";
import { Crew } from "./threads/crew.ts";
import type { Counted } from "./threads/memory.ts";
import { placeOf } from "./threads/portable.ts";
import { checkRecording, type Recording, sealRecording } from "./threads/recording.ts";
import { Replay, type Replayed } from "./threads/replay.ts";
import { type ChromeTrace, Tracer } from "./trace.ts";

export type Counters = Readonly<
  Record<
    "spawned" | "slices" | "completed" | "cancelled" | "exhausted" | "recharged" | "steals" | "failedSteals",
    number
  >
>;

type CrewFor = (from?: ConstructorParameters<typeof Crew>[5]) => Crew;

export type Body<T> = (nursery: Nursery, fiber: Fiber) => Steps<T>;

/** The root of everything: scheduler, clock, channels, budgets. Nothing here is shared with other runtimes. */
export class Runtime implements AsyncDisposable {
  /** Makes capabilities. Who has the runtime may; fibers do not have it. */
  readonly grant = new Mint();
  readonly #kernel: Kernel;
  readonly #implicit: Holdings;
  readonly #tracer: Tracer | undefined;
  #closing: Promise<void> | undefined;

  #crew: Crew | undefined;
  readonly #replay: Replay | undefined;
  #roots = 0;

  private constructor(
    settings: KernelSettings,
    kernel: Kernel,
    tracer: Tracer | undefined,
    crew: Crew | undefined,
    replay?: Replay,
  ) {
    this.#replay = replay;
    this.#tracer = tracer;
    this.#kernel = kernel;
    this.#crew = crew;
    this.#implicit = settings.profile.implicit ? implicitHoldings() : NO_HOLDINGS;
  }

  static async start(options: RuntimeOptions = {}): Promise<Runtime> {
    const tracer = options.trace ? new Tracer(readTrace(options.trace)) : undefined;
    const settings = readSettings(options, tracer?.beside(options.observer ?? {}) ?? options.observer ?? {});
    const order = readOrder(options, settings.seed);
    if (options.replay !== undefined) return Runtime.#startReplay(options, settings.observer, order, tracer);
    if (options.deterministic) {
      const kernel = new Kernel(settings, (made) => new Simulation(made, order));
      return new Runtime(settings, kernel, tracer, undefined);
    }
    // Each thread has a kernel of its own, with one processor.
    const own = { ...settings, processors: 1 };
    const crewFor: CrewFor = (from) =>
      new Crew(settings.processors, own, order, readHeap(options), options.record ?? false, from);
    if (settings.processors > 1 && (options.processors !== undefined || options.record))
      return Runtime.#startThreads(own, crewFor, tracer);
    const kernel = new Kernel(own, (made) => new LiveLoop(made));
    const runtime = new Runtime(own, kernel, tracer, undefined);
    if (settings.processors > 1 && settings.profile.spawns && order.stealing)
      runtime.#shareLater(settings.processors, crewFor);
    return runtime;
  }

  static #startReplay(
    options: RuntimeOptions,
    observer: Observer,
    { patienceMs }: SimulationSettings,
    tracer: Tracer | undefined,
  ): Runtime {
    const recording = options.replay as Recording;
    checkRecording(recording);
    if ((options.processors ?? recording.settings.processors) !== recording.settings.processors)
      throw new RuntimeError(
        "InvalidArgument",
        `processors is ${options.processors}; the recording was made with ${recording.settings.processors}`,
      );
    const replay = new Replay(recording, observer, patienceMs);
    return new Runtime(replay.settings, replay.kernel, tracer, undefined, replay);
  }

  static async #startThreads(
    settings: KernelSettings,
    crewFor: CrewFor,
    tracer: Tracer | undefined,
  ): Promise<Runtime> {
    const crew = crewFor();
    try {
      await crew.start();
    } catch (error) {
      await crew.close();
      throw error;
    }
    return new Runtime(settings, crew.kernel, tracer, crew);
  }

  /** Starts threads when a fiber is spawned that they could run. */
  #shareLater(processors: number, crewFor: CrewFor): void {
    const kernel = this.#kernel;
    kernel.table.numberAs(0, processors);
    let last: AnyFunction | undefined;
    kernel.shares = (slot) => {
      const { code } = describeFiber(kernel.table.fiber[slot] as Fiber);
      if (code === last) return;
      last = code;
      if (code === undefined || placeOf(code) === undefined || this.#closing) return;
      kernel.shares = undefined;
      const crew = crewFor({ kernel, ...(kernel.loop as LiveLoop).handOver() });
      this.#crew = crew;
      // Nobody waits for them, and without them everything runs here.
      crew.start().catch((error: unknown) => process.emitWarning(error as Error));
    };
  }

  /** Runs a body in a nursery, and waits for all that it spawns. */
  nursery<T>(
    budget: Partial<Budget> | undefined,
    caps: Capabilities | undefined,
    body: Body<T>,
    options?: NurseryOptions,
  ): Promise<T> {
    return this.launch(budget, caps, body, options).result;
  }

  /** As `nursery`, and gives what it can be cancelled and recharged by. */
  launch<T>(
    budget: Partial<Budget> | undefined,
    caps: Capabilities | undefined,
    body: Body<T>,
    options: NurseryOptions = {},
  ): Launched<T> {
    const kernel = this.#kernel;
    const { profile } = kernel.settings;
    if (!profile.spawns)
      throw new RuntimeError(
        "ProfileForbids",
        "the profile core has no scheduler: start a runtime with profile service",
      );
    if (this.#closing) throw new RuntimeError("RuntimeClosed", "the runtime is closed");
    if (kernel.current >= 0)
      throw new RuntimeError(
        "NurseryNotActive",
        "within a fiber a nursery is opened by fiber.nursery, out of its own budget",
      );
    const holdings = caps === undefined ? this.#implicit : readHoldings(caps, "caps");
    const asked = readBudget(budget, profile.budget, "budget");
    const lacking = kernel.root.pool.lacksFor(asked);
    if (lacking !== undefined)
      throw new BudgetExhausted(
        lacking,
        `the runtime has ${kernel.root.pool[lacking]} ${lacking} left, less than the ${asked[lacking]} that were asked for`,
      );
    return this.#begin(asked, holdings, body, options);
  }

  #begin<T>(budget: Budget, holdings: Holdings, body: Body<T>, options: NurseryOptions): Launched<T> {
    const kernel = this.#kernel;
    const number = this.#roots++;
    kernel.loop.external?.("launch", number);
    let opened: NurseryCore | undefined;
    const onOpen = (core: NurseryCore) => {
      opened = core;
    };
    const main = (fiber: Fiber) =>
      kernel.nursery(slotOfFiber(fiber), fiber, {
        budget: undefined,
        capabilities: undefined,
        body,
        options,
        onOpen,
      });
    const fiber = kernel.admit(kernel.root, main as AnyFunction, [], holdings, 0) as Fiber<T>;
    const slot = slotOfFiber(fiber as unknown as Fiber);
    kernel.root.pool.take(budget);
    kernel.accounts.set(slot, budget);
    kernel.table.priority[slot] = 0;
    const granted = new Account(budget);
    const used = () => {
      granted.take(kernel.accounts.of(slot));
      return granted.toBudget();
    };
    const ended = outcomeOf<T>(fiber, used);
    const outcome = this.#replay === undefined ? ended : Promise.race([ended, divergedOf<T>(this.#replay)]);
    kernel.global.push(slot);
    kernel.loop.offered(undefined);
    return new Root<T>(kernel, number, fiber, granted, outcome, () => opened);
  }

  channel<T>(options: ChannelOptions | number = {}): Channel<T> {
    return new Channel<T>(this.#kernel, options);
  }

  /** Milliseconds on the runtime's clock: real ones, or virtual ones where it is deterministic. */
  nowMs(): number {
    return this.#kernel.nowMs();
  }

  /** What ran where in which order, as a number; of a deterministic runtime. */
  get traceHash(): number | undefined {
    const { loop } = this.#kernel;
    return loop instanceof Simulation ? loop.hash : undefined;
  }

  /** Fibers by state, budgets, and the tree of nurseries with who waits for what. */
  snapshot({ fibers = 1_000 }: { fibers?: number } = {}): Snapshot {
    if (this.#crew === undefined) return takeSnapshot(this.#kernel, fibers, this.#replay?.views(fibers));
    const { views, silent } = this.#crew.views(fibers);
    return takeSnapshot(this.#kernel, fibers, views, silent);
  }

  /** How much has happened so far. */
  counters(): Counters {
    const { counters, loop } = this.#kernel;
    if (loop instanceof Simulation) return { ...counters, ...loop.counters };
    const sum = (what: "steals" | "failedSteals") =>
      this.processors.reduce((total, counted) => total + counted[what], 0);
    const all = { ...counters, steals: sum("steals"), failedSteals: sum("failedSteals") };
    for (const published of this.#crew?.published() ?? [])
      for (const [name, count] of Object.entries(published)) all[name as keyof typeof published] += count;
    return all;
  }

  /** How long it has taken all processors together, in ops; of a deterministic runtime. */
  get makespan(): number | undefined {
    const { loop } = this.#kernel;
    return loop instanceof Simulation ? loop.makespan : undefined;
  }

  /** Slices and steals for chrome://tracing and Perfetto, if the runtime was started with `trace`. */
  trace(): ChromeTrace {
    if (this.#tracer === undefined)
      throw new RuntimeError("InvalidArgument", "nothing was traced: start the runtime with trace: true");
    this.#crew?.catchUp();
    return this.#tracer.toChrome();
  }

  /** What each processor has counted; of a runtime with threads. */
  get processors(): readonly Readonly<Record<Counted, number>>[] {
    return (this.#crew ?? this.#replay)?.counters() ?? [];
  }

  /** What was recorded so far, if the runtime was started with `record`. */
  async recording(): Promise<Recording> {
    if (this.#crew === undefined)
      throw new RuntimeError(
        "InvalidArgument",
        "nothing was recorded: start the runtime with record: true and more than one processor",
      );
    const logs = await this.#crew.logs();
    return sealRecording(this.#kernel.settings, this.#crew.stealing, logs);
  }

  /** Waits until all of a recording was replayed. Rejects where the program does something else, and says what. */
  replayed(): Promise<Replayed> {
    if (this.#replay !== undefined) return this.#replay.done;
    return Promise.reject(
      new RuntimeError("InvalidArgument", "nothing is replayed: start the runtime with replay: recording"),
    );
  }

  /** Cancels what runs, waits for it, and lets go of everything. Can be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#replay !== undefined) {
      this.#replay.close();
      return;
    }
    const { root, table, cancellation } = this.#kernel;
    const over: Promise<void>[] = [];
    for (let slot = root.first; slot >= 0; slot = table.next[slot] as number) {
      const fiber = table.fiber[slot] as Fiber;
      over.push(new Promise((resolve) => whenOver(fiber, () => resolve())));
      cancellation.cancelFiber(slot);
    }
    await Promise.all(over);
    this.#kernel.loop.close();
    await this.#crew?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
