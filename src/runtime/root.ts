import { type Account, type Budget, COMPONENTS, MOST, NOTHING, readBudget } from "./budget.ts";
import { BudgetExhausted, Cancelled, RuntimeError } from "./errors.ts";
import { type Fiber, slotOfFiber, whenOver } from "./fiber.ts";
import type { Kernel } from "./kernel.ts";
import type { NurseryCore } from "./nursery-core.ts";
import {
  type FiberState,
  type NurseryState,
  OUTCOME_KINDS,
  type OutcomeKind,
  SUCCEEDED,
  WAS_CANCELLED,
} from "./states.ts";
import type { Replay } from "./threads/replay.ts";

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

export class Root<T> implements Launched<T> {
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
export async function divergedOf<T>({ done }: Replay): Promise<Outcome<T>> {
  const error: unknown = await done.then(
    () => new Promise<never>(() => undefined),
    (thrown: unknown) => thrown,
  );
  return { kind: "child failed", error, used: NOTHING };
}

export function outcomeOf<T>(fiber: Fiber<T>, usedOf: () => Budget): Promise<Outcome<T>> {
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
