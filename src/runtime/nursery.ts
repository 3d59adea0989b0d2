import { Account, type Budget, CHILD_BUDGET, COMPONENTS, least, NOTHING, readBudget } from "./budget.ts";
import { useSpawn } from "./capabilities.ts";
import { BudgetExhausted, Cancelled, Panic, RuntimeError } from "./errors.ts";
import { type AnyFunction, Fiber, type Handle, slotOfFiber } from "./fiber.ts";
import {
  type Capabilities,
  checkDelegation,
  delegableOf,
  type Holdings,
  NO_HOLDINGS,
  readHoldings,
} from "./holdings.ts";
import { DONE, Instruction, type Progress, STUCK, type Steps } from "./instruction.ts";
import type { Kernel } from "./kernel.ts";
import { type Exhaustion, NurseryCore, type NurseryOptions, rankOf } from "./nursery-core.ts";
import { PRIORITIES, type Priority } from "./processor.ts";
import { type NurseryState, SUCCEEDED } from "./states.ts";

export interface SpawnOptions {
  /** What it gets of the nursery's pool; what is left out is a child's default, or what the pool still has. */
  readonly budget?: Partial<Budget>;
  /** Held by the spawner and delegable. Left out: all such where capabilities are implicit, else none. */
  readonly caps?: Capabilities;
  /** A hint: what is high goes first, what is low last, and nothing starves. */
  readonly priority?: Priority;
}

/** A fiber's code: a generator function, or a plain one, whose fiber ends when it returns. */
export type FiberFunction<A extends readonly unknown[], T> = (fiber: Fiber, ...args: A) => Steps<T> | T;

/** Where fibers are spawned. It ends when all of them have. */
export class Nursery {
  readonly #kernel: Kernel;
  readonly #core: NurseryCore;

  constructor(kernel: Kernel, core: NurseryCore) {
    this.#kernel = kernel;
    this.#core = core;
  }

  get id(): number {
    return this.#core.id;
  }

  get state(): NurseryState {
    return this.#core.state;
  }

  /** What is left to be given to children. */
  get pool(): Budget {
    return this.#core.pool.toBudget();
  }

  /** Children that are not over. */
  get size(): number {
    return this.#core.live;
  }

  /** Makes a child, which runs as soon as there is a processor for it. */
  spawn<const A extends readonly unknown[], T>(
    fn: FiberFunction<A, T>,
    args: A,
    options?: SpawnOptions,
  ): Handle<T> {
    return spawn(this.#kernel, this.#core, fn as AnyFunction, args, options) as Fiber<T>;
  }

  /** Gives a child more, out of the pool. */
  recharge(child: Handle, budget: Partial<Budget>): void {
    const slot = child instanceof Fiber ? slotOfFiber(child) : -1;
    if (slot < 0 || this.#kernel.table.nurseryOf(slot) !== this.#core)
      throw new RuntimeError("InvalidArgument", "child is no fiber of this nursery, or is over");
    this.#kernel.exhaustions.recharge(slot, readBudget(budget, NOTHING, "budget"), this.#core.pool);
  }

  /** Gives the pool more, out of what the fiber has that opened the nursery. */
  grow(budget: Partial<Budget>): void {
    growPool(this.#kernel, this.#core, readBudget(budget, NOTHING, "budget"));
  }

  /** Waits for the next child that runs out; for fibers that supervise. */
  exhausted(): Instruction<Exhaustion> {
    return new Watch(this.#core);
  }

  /** Cancels all children and the body. */
  cancel(reason = "the nursery was cancelled"): void {
    this.#kernel.cancellation.cancelNursery(this.#core, new Cancelled(reason, "NurseryCancelled"));
  }
}

export interface Opening<R> {
  readonly budget: Partial<Budget> | undefined;
  readonly capabilities: Capabilities | undefined;
  readonly body: (nursery: Nursery, fiber: Fiber) => Steps<R>;
  readonly options: NurseryOptions;
  readonly onOpen?: (core: NurseryCore) => void;
}

/** Opens a nursery in the fiber that runs, runs the body and closes it, whatever happens. */
export function* runNursery<R>(kernel: Kernel, slot: number, fiber: Fiber, opening: Opening<R>): Steps<R> {
  const core = openNursery(kernel, slot, fiber, opening);
  opening.onOpen?.(core);
  let value: R | undefined;
  try {
    value = yield* stepsOf(opening.body(new Nursery(kernel, core), fiber));
  } catch (error) {
    kernel.cancellation.bodyEnded(core);
    kernel.cancellation.childFailed(core, rankOf(error), error);
  } finally {
    yield* new Close(core);
  }
  if (core.rank > SUCCEEDED) throw core.error;
  return value as R;
}

function openNursery(kernel: Kernel, slot: number, fiber: Fiber, opening: Opening<unknown>): NurseryCore {
  const { table, accounts } = kernel;
  checkOpening(opening);
  kernel.meter.flush(slot);
  const budget = readBudget(opening.budget, accounts.available(slot), "budget");
  if (!accounts.has(slot, budget)) fundOpening(kernel, slot, budget);
  const holdings = holdingsForChildren(kernel, slot, opening.capabilities);
  const opener = { slot, fiber, below: table.opened[slot] };
  const core = new NurseryCore(
    kernel.nextNurseryId(),
    opener,
    new Account(budget),
    holdings,
    opening.options,
  );
  accounts.take(slot, budget);
  kernel.meter.regrant(slot);
  table.opened[slot] = core;
  setDeadline(kernel, core, opening.options);
  return core;
}

function fundOpening({ table, accounts }: Kernel, slot: number, budget: Budget): void {
  for (const component of COMPONENTS)
    if (!accounts.fund(slot, component, budget[component]))
      throw new BudgetExhausted(
        component,
        `a nursery with ${budget[component]} ${component} was to be opened by a fiber with ${table[component][slot]}`,
      );
}

function growPool(kernel: Kernel, core: NurseryCore, budget: Budget): void {
  const { opener, pool } = core;
  if (core.isOver || kernel.current !== opener)
    throw new RuntimeError("NurseryNotActive", "a nursery's pool is grown by the fiber that has it open");
  kernel.meter.flush(opener);
  const lacking = new Account(kernel.accounts.of(opener)).lacksFor(budget);
  if (lacking !== undefined)
    throw new BudgetExhausted(
      lacking,
      `the fiber has less ${lacking} than the ${budget[lacking]} to be given`,
    );
  kernel.accounts.take(opener, budget);
  pool.give(budget);
  kernel.meter.regrant(opener);
}

function holdingsForChildren(kernel: Kernel, slot: number, given: Capabilities | undefined): Holdings {
  const held = kernel.holdingsOf(slot);
  if (given === undefined) return kernel.settings.profile.implicit ? delegableOf(held) : NO_HOLDINGS;
  const holdings = readHoldings(given, "caps");
  checkDelegation(holdings, held, NO_HOLDINGS);
  return holdings;
}

/** Before anything is taken for it. */
function checkOpening({ body, options }: Pick<Opening<unknown>, "body" | "options">): void {
  if (typeof body !== "function")
    throw new RuntimeError("InvalidArgument", "the body of a nursery is a function*: (nursery, fiber) => …");
  if (typeof options !== "object" || options === null)
    throw new RuntimeError("InvalidArgument", "options are an object such as {timeoutMs: 5000}");
  const { onExhausted, timeoutMs, deadlineMs } = options;
  if (onExhausted !== undefined && typeof onExhausted !== "function")
    throw new RuntimeError(
      "InvalidArgument",
      "onExhausted is a function, asked what a child gets that ran out",
    );
  if (timeoutMs !== undefined) checkMs("timeoutMs", timeoutMs);
  if (deadlineMs !== undefined) checkMs("deadlineMs", deadlineMs);
}

function checkMs(name: string, ms: number): void {
  if (typeof ms === "number" && ms >= 0 && Number.isFinite(ms)) return;
  throw new RuntimeError("InvalidArgument", `${name} is ${String(ms)}; it is a number from 0 on`);
}

/** Refuses what `yield*` would refuse with less to go by. */
function stepsOf<R>(begun: Steps<R>): Steps<R> {
  if (typeof (begun as Partial<Steps<R>> | undefined)?.[Symbol.iterator] === "function") return begun;
  throw new RuntimeError(
    "InvalidArgument",
    "the body of a nursery is no function*; write function* (nursery, fiber) { … }, and yield* wait(promise) for promises",
  );
}

function setDeadline(kernel: Kernel, core: NurseryCore, { timeoutMs, deadlineMs }: NurseryOptions): void {
  if (timeoutMs === undefined && deadlineMs === undefined) return;
  const untilMs = Math.min(
    deadlineMs ?? Number.POSITIVE_INFINITY,
    kernel.nowMs() + (timeoutMs ?? Number.POSITIVE_INFINITY),
  );
  const words = timeoutMs === undefined ? "its deadline passed" : `it took longer than ${timeoutMs} ms`;
  core.timer = kernel.timers.set(untilMs, () =>
    kernel.cancellation.cancelNursery(
      core,
      new Cancelled(`the nursery was cancelled: ${words}`, "NurseryTimedOut"),
    ),
  );
}

/** Waits until all children are over. Not even cancelling interrupts it: children end, each within its bounds. */
class Close extends Instruction<void> {
  readonly #core: NurseryCore;

  constructor(core: NurseryCore) {
    super();
    this.#core = core;
  }

  override get shielded(): boolean {
    return true;
  }

  start(kernel: Kernel): Progress {
    const core = this.#core;
    kernel.cancellation.bodyEnded(core);
    if (core.state === "Open") kernel.moveNursery(core, "Closing");
    if (core.live === 0) {
      kernel.endings.endNursery(core);
      return DONE;
    }
    core.awaited = true;
    kernel.exhaustions.failHopeless(core);
    return STUCK;
  }

  result(): void {}

  abandon(): void {}

  describe(): string {
    return `the ${this.#core.live} children of nursery ${this.#core.id}`;
  }
}

class Watch extends Instruction<Exhaustion> {
  readonly #core: NurseryCore;
  #slot = -1;

  constructor(core: NurseryCore) {
    super();
    this.#core = core;
  }

  start(kernel: Kernel, slot: number): Progress {
    if (!kernel.settings.profile.supervises)
      throw new RuntimeError(
        "ProfileForbids",
        "fibers supervise in the profiles cluster and sovereign; elsewhere answer onExhausted",
      );
    this.#core.watch ??= { found: [], waiting: -1 };
    if (this.#core.watch.found.length > 0) return DONE;
    if (this.#core.watch.waiting >= 0)
      throw new RuntimeError(
        "InvalidArgument",
        "another fiber waits for those that run out; one at a time may",
      );
    this.#core.watch.waiting = slot;
    this.#slot = slot;
    return STUCK;
  }

  result(): Exhaustion {
    const found = this.#core.watch?.found.shift();
    if (found === undefined) throw new Panic("a supervisor was woken for nothing");
    return found;
  }

  abandon(): void {
    if (this.#core.watch?.waiting === this.#slot) this.#core.watch.waiting = -1;
  }

  describe(): string {
    return `a child of nursery ${this.#core.id} that runs out`;
  }
}

function spawn(
  kernel: Kernel,
  core: NurseryCore,
  fn: AnyFunction,
  args: readonly unknown[],
  options: SpawnOptions | undefined,
): Fiber {
  const { meter, accounts } = kernel;
  const { pool } = core;
  const spawner = meter.slot;
  if (spawner < 0 || core.state !== "Open") throw notActive(core);
  if (typeof fn !== "function" || !Array.isArray(args)) throw noFunction();
  if (pool.spawnCount < 1) throw noSpawns();
  const depth = kernel.depthBelow(spawner);
  // Charged before the pool is looked at: the body of a nursery pays out of it.
  if (--meter.left < 0) meter.due();
  const grant = options === undefined ? undefined : readSpawn(kernel, core, spawner, options);
  kernel.check(spawner, "spawn", "spawn", kernel.holdingsOf(spawner).spawn, useSpawn);
  pool.spawnCount--;
  accounts.spent.spawnCount++;
  const fiber = kernel.admit(core, fn, args, grant === undefined ? core.holdings : grant.holdings, depth);
  const slot = slotOfFiber(fiber);
  if (grant?.budget === undefined) {
    accounts.fillFrom(slot, pool);
  } else {
    pool.take(grant.budget);
    accounts.set(slot, grant.budget);
  }
  kernel.offer(slot, grant === undefined ? 0 : grant.priority);
  return fiber;
}

function noFunction(): RuntimeError {
  return new RuntimeError(
    "InvalidArgument",
    "spawn(fn, args) takes a function and an array of its arguments",
  );
}

function noSpawns(): BudgetExhausted {
  return new BudgetExhausted(
    "spawnCount",
    "the nursery has no spawns left: open it with a larger spawnCount",
  );
}

function notActive({ state }: NurseryCore): Error {
  if (state === "Cancelling") return new Cancelled("the nursery is being cancelled", "NurseryCancelled");
  return new RuntimeError(
    "NurseryNotActive",
    `a fiber is spawned by another one in a nursery that is open; this one is ${state}`,
  );
}

/** What a child is to get beside the defaults. */
interface Grant {
  readonly budget: Budget | undefined;
  readonly holdings: Holdings;
  readonly priority: number;
}

function readSpawn(kernel: Kernel, core: NurseryCore, spawner: number, options: SpawnOptions): Grant {
  const holdings = options.caps === undefined ? core.holdings : readHoldings(options.caps, "caps");
  if (options.caps !== undefined) checkDelegation(holdings, kernel.holdingsOf(spawner), core.holdings);
  const budget =
    options.budget === undefined
      ? undefined
      : readBudget(options.budget, least(core.pool, CHILD_BUDGET), "budget");
  if (budget !== undefined) checkPool(core, budget);
  return { budget, holdings, priority: options.priority === undefined ? 0 : readPriority(options.priority) };
}

function checkPool({ pool }: NurseryCore, asked: Budget): void {
  const spawns = asked.spawnCount + 1;
  if (spawns > pool.spawnCount)
    throw new BudgetExhausted(
      "spawnCount",
      `the child and its own take ${spawns} spawns, the pool has ${pool.spawnCount}`,
    );
  const lacking = pool.lacksFor(asked);
  if (lacking !== undefined)
    throw new BudgetExhausted(
      lacking,
      `the child is to get ${asked[lacking]} ${lacking}, the pool has ${pool[lacking]}`,
    );
}

function readPriority(priority: Priority): number {
  const number = PRIORITIES.indexOf(priority);
  if (number >= 0) return number;
  throw new RuntimeError(
    "InvalidArgument",
    `priority is ${String(priority)}; there are ${PRIORITIES.join(", ")}`,
  );
}
