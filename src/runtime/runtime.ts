import { randomInt } from "node:crypto";
import { availableParallelism } from "node:os";
import { Account, type Budget, COMPONENTS, MOST, NOTHING, readBudget, UNLIMITED } from "./budget.ts";
import { Mint } from "./capabilities.ts";
import { Channel, type ChannelOptions } from "./channel.ts";
import { BudgetExhausted, Cancelled, RuntimeError } from "./errors.ts";
import { type AnyFunction, describeFiber, type Fiber, slotOfFiber, whenOver } from "./fiber.ts";
import { type Capabilities, type Holdings, implicitHoldings, NO_HOLDINGS, readHoldings } from "./holdings.ts";
import type { Steps } from "./instruction.ts";
import { Kernel, type KernelSettings } from "./kernel.ts";
import { LiveLoop } from "./live-loop.ts";
import type { Nursery } from "./nursery.ts";
import type { NurseryCore, NurseryOptions } from "./nursery-core.ts";
import type { Observer } from "./observer.ts";
import { PROFILES, type ProfileName } from "./profiles.ts";
import { Simulation, type SimulationSettings, type Victims } from "./simulation.ts";
import { type Snapshot, takeSnapshot } from "./snapshot.ts";
import {
  type FiberState,
  type NurseryState,
  OUTCOME_KINDS,
  type OutcomeKind,
  SUCCEEDED,
  WAS_CANCELLED,
} from "./states.ts";
import { Crew } from "./threads/crew.ts";
import { type Counted, MOST_PROCESSORS } from "./threads/memory.ts";
import { placeOf } from "./threads/portable.ts";
import { checkRecording, type Recording, sealRecording } from "./threads/recording.ts";
import { Replay, type Replayed } from "./threads/replay.ts";
import { type ChromeTrace, Tracer } from "./trace.ts";

export interface RuntimeOptions {
  readonly profile?: ProfileName;
  /**
   * How many processors there are, by default as many as there are cores. Deterministic, they are simulated; else each is a
   * thread, the first this one. Other threads run what was spawned from a `portable` function, and are started when that
   * first is, unless their number is given.
   */
  readonly processors?: number;
  /** Of each other thread; more ends it. */
  readonly threadHeapMb?: number;
  /** Decides the order of a deterministic runtime, together with program, budgets and number of processors. */
  readonly seed?: number;
  /** For all that runs here; by default without limit. */
  readonly budget?: Partial<Budget>;
  /** One thread simulates the processors on a virtual clock, and the same program always runs in the same order. */
  readonly deterministic?: boolean;
  readonly victims?: Victims;
  readonly stealing?: boolean;
  readonly yieldInterval?: number;
  readonly graceMs?: number;
  readonly maxDepth?: number;
  readonly patienceMs?: number;
  readonly observer?: Observer;
  /** Writes down what threads steal from each other and what arrives when, for `recording()`. It makes them slower. */
  readonly record?: boolean;
  /** Runs a program once more as it was recorded, on one thread; its settings are those of the recording. */
  readonly replay?: Recording;
  /** Keeps slices and steals for `trace()`: so many, or 100,000. */
  readonly trace?: boolean | number;
}

export type Counters = Readonly<
  Record<
    "spawned" | "slices" | "completed" | "cancelled" | "exhausted" | "recharged" | "steals" | "failedSteals",
    number
  >
>;

type CrewFor = (from?: ConstructorParameters<typeof Crew>[5]) => Crew;

export type Body<T> = (nursery: Nursery, fiber: Fiber) => Steps<T>;

/** A root that runs, for who started it from outside. */
export interface Launched<T> {
  readonly result: Promise<T>;
  /** How it ended; never rejects. */
  readonly outcome: Promise<Outcome<T>>;
  readonly state: FiberState;
  readonly nursery: NurseryState | undefined;
  cancel(): void;
  /** Gives its nursery more, out of what the runtime has, and whoever ran out there goes on. */
  recharge(budget: Partial<Budget>): void;
}

/** How a root ended, and what all of it consumed. */
export type Outcome<T> = { readonly used: Budget } & (
  | { readonly kind: "success"; readonly value: T }
  | { readonly kind: Exclude<OutcomeKind, "success">; readonly error: unknown }
);

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

class Root<T> implements Launched<T> {
  readonly result: Promise<T>;
  readonly outcome: Promise<Outcome<T>>;
  readonly #kernel: Kernel;
  readonly #number: number;
  readonly #fiber: Fiber<T>;
  readonly #granted: Account;
  readonly #opened: () => NurseryCore | undefined;

  constructor(
    kernel: Kernel,
    number: number,
    fiber: Fiber<T>,
    granted: Account,
    outcome: Promise<Outcome<T>>,
    opened: () => NurseryCore | undefined,
  ) {
    this.#kernel = kernel;
    this.#number = number;
    this.#fiber = fiber;
    this.#granted = granted;
    this.outcome = outcome;
    this.#opened = opened;
    this.result = outcome.then((ended) => {
      if (ended.kind === "success") return ended.value;
      throw ended.error;
    });
    // Who only looks at the outcome must not be told of a rejection that nobody handles.
    this.result.catch(() => undefined);
  }

  get state(): FiberState {
    return this.#fiber.state;
  }

  get nursery(): NurseryState | undefined {
    return this.#opened()?.state;
  }

  cancel(): void {
    this.#kernel.loop.external?.("cancel", this.#number);
    const core = this.#opened();
    const error = new Cancelled("the nursery was cancelled from outside", "NurseryCancelled");
    if (core === undefined) this.#fiber.cancel();
    else this.#kernel.cancellation.cancelNursery(core, error);
  }

  recharge(given: Partial<Budget>): void {
    const { root, exhaustions, accounts, loop } = this.#kernel;
    const budget = readBudget(given, NOTHING, "budget");
    const core = this.#opened();
    const slot = slotOfFiber(this.#fiber as unknown as Fiber);
    if (slot < 0 || core?.isOver) throw new RuntimeError("NurseryNotActive", "it is over");
    this.#checkRecharge(budget, root.pool);
    loop.external?.("recharge", this.#number);
    root.pool.take(budget);
    this.#granted.give(budget);
    if (core === undefined) {
      accounts.give(slot, budget);
      return;
    }
    core.pool.give(budget);
    exhaustions.refill(core, slot);
  }

  #checkRecharge(budget: Budget, pool: Account): void {
    const lacking = pool.lacksFor(budget);
    if (lacking !== undefined)
      throw new BudgetExhausted(lacking, `the runtime has ${pool[lacking]} ${lacking} left`);
    for (const component of COMPONENTS)
      if (this.#granted[component] + budget[component] > MOST[component])
        throw new RuntimeError(
          "InvalidArgument",
          `budget.${component} is too much: with what it was given it would be more than ${MOST[component]}`,
        );
  }
}

/** Where a replay ends because the program does something else. */
async function divergedOf<T>({ done }: Replay): Promise<Outcome<T>> {
  const error: unknown = await done.then(
    () => new Promise<never>(() => undefined),
    (thrown: unknown) => thrown,
  );
  return { kind: "child failed", error, used: NOTHING };
}

function outcomeOf<T>(fiber: Fiber<T>, usedOf: () => Budget): Promise<Outcome<T>> {
  return new Promise((resolve) => {
    whenOver(fiber as unknown as Fiber, (rank, value) => {
      const kind = OUTCOME_KINDS[rank] as OutcomeKind;
      const used = usedOf();
      if (rank === SUCCEEDED) resolve({ kind: "success", value: value as T, used });
      else
        resolve({
          used,
          kind: kind as Exclude<OutcomeKind, "success">,
          error:
            rank === WAS_CANCELLED && value === undefined
              ? new Cancelled("the fiber was cancelled", "FiberCancelled")
              : value,
        });
    });
  });
}

function readHeap({ threadHeapMb }: RuntimeOptions): number | undefined {
  return threadHeapMb === undefined ? undefined : readWhole(threadHeapMb, 0, "threadHeapMb", 8, 65_536);
}

function readOrder(options: RuntimeOptions, seed: number): SimulationSettings {
  return {
    seed,
    victims: readVictims(options.victims),
    stealing: options.stealing ?? true,
    patienceMs: readWhole(options.patienceMs, 10_000, "patienceMs", 0, 2 ** 31 - 1),
  };
}

function readSettings(options: RuntimeOptions, observer: Observer): KernelSettings {
  const name = options.profile ?? "service";
  const profile = Object.hasOwn(PROFILES, name) ? PROFILES[name] : undefined;
  if (profile === undefined)
    throw new RuntimeError(
      "InvalidArgument",
      `profile is ${String(options.profile)}; there are ${Object.keys(PROFILES).join(", ")}`,
    );
  const processors = readWhole(
    options.processors,
    Math.min(availableParallelism(), MOST_PROCESSORS),
    "processors",
    1,
    options.deterministic ? 65_535 : MOST_PROCESSORS,
  );
  return {
    profile,
    processors,
    budget: readBudget(options.budget, UNLIMITED, "budget"),
    yieldInterval: readWhole(options.yieldInterval, profile.yieldInterval, "yieldInterval", 1, 65_534),
    graceMs: readWhole(options.graceMs, 1_000, "graceMs", 0, 2 ** 31 - 1),
    maxDepth: readWhole(options.maxDepth, 10_000, "maxDepth", 1, 65_535),
    seed: readWhole(options.seed, options.deterministic ? 1 : randomInt(2 ** 32), "seed", 0, 0xffff_ffff),
    observer,
  };
}

function readWhole(
  value: number | undefined,
  byDefault: number,
  name: string,
  least: number,
  most: number,
): number {
  if (value === undefined) return byDefault;
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RuntimeError(
    "InvalidArgument",
    `${name} is ${String(value)}; it is a whole number from ${least} to ${most}`,
  );
}

/** How many events are kept. */
function readTrace(trace: true | number): number {
  return readWhole(trace === true ? undefined : trace, 100_000, "trace", 1, 2 ** 31 - 1);
}

function readVictims(victims: Victims | undefined): Victims {
  const known: readonly Victims[] = ["random", "round-robin", "least-loaded"];
  if (victims === undefined) return "random";
  if (known.includes(victims)) return victims;
  throw new RuntimeError("InvalidArgument", `victims is ${String(victims)}; there are ${known.join(", ")}`);
}
