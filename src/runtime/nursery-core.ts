import { InvariantError } from "../core/index.ts";
import type { Account, Budget, Component } from "./budget.ts";
import { BudgetExhausted, Cancelled, Panic } from "./errors.ts";
import type { Fiber, Handle } from "./fiber.ts";
import type { Holdings } from "./holdings.ts";
import {
  BUDGET_EXCEEDED,
  checkNurseryMove,
  FAILED,
  type NurseryState,
  PANICKED,
  SUCCEEDED,
  WAS_CANCELLED,
} from "./states.ts";
import type { Timer } from "./timers.ts";

/** Who ran out of what. */
export interface Exhaustion {
  readonly fiber: Handle;
  readonly component: Component;
}

export interface NurseryOptions {
  readonly name?: string;
  /** After so long on the runtime's clock it is cancelled. */
  readonly timeoutMs?: number;
  /** At this time on the runtime's clock it is cancelled. */
  readonly deadlineMs?: number;
  /**
   * Asked when a child has run out: what it gets of the pool, or "wait" for somebody who will recharge it later. Without
   * an answer it waits while the nursery's body could do that, and then fails.
   */
  readonly onExhausted?: (exhausted: Exhaustion) => Partial<Budget> | "wait" | undefined;
}

/** A nursery as the kernel sees it. Programs have a `Nursery`, which shows less. */
export class NurseryCore {
  readonly id: number;
  readonly name: string | undefined;
  /** The slot of the fiber that has it open, -1 for the root. */
  readonly opener: number;
  readonly openerFiber: Fiber | undefined;
  /** The nursery that the same fiber had opened before. */
  readonly below: NurseryCore | undefined;
  readonly pool: Account;
  /** What children hold unless their spawner says something else. */
  readonly holdings: Holdings;
  readonly onExhausted: NurseryOptions["onExhausted"];
  state: NurseryState = "Open";
  /** Children, chained through the table of fibers. */
  first = -1;
  live = 0;
  exhausted = 0;
  bodyEnded = false;
  /** Whether the opener waits for it to close. */
  awaited = false;
  /** Set when its opener is gone before it closed: who waits for it instead. */
  heir: NurseryCore | undefined;
  rank: number = SUCCEEDED;
  error: unknown;
  timer: Timer | undefined;
  /** For those who watch over it: who ran out and was not asked for yet, and who waits for that. */
  watch: { readonly found: Exhaustion[]; waiting: number } | undefined;

  constructor(
    id: number,
    opener: { slot: number; fiber: Fiber | undefined; below: NurseryCore | undefined },
    pool: Account,
    holdings: Holdings,
    options: NurseryOptions,
  ) {
    this.id = id;
    this.opener = opener.slot;
    this.openerFiber = opener.fiber;
    this.below = opener.below;
    this.pool = pool;
    this.holdings = holdings;
    this.name = options.name;
    this.onExhausted = options.onExhausted;
  }

  get isOver(): boolean {
    return this.state === "Closed" || this.state === "Cancelled";
  }

  move(to: NurseryState): void {
    checkNurseryMove(this.state, to);
    this.state = to;
  }

  /** The highest rank counts, and of its rank the first. */
  note(rank: number, error: unknown): void {
    if (rank <= this.rank) return;
    this.rank = rank;
    this.error = error;
  }
}

/** Anything can be thrown, even what throws when it is asked for its class. */
export function rankOf(error: unknown): number {
  try {
    if (error instanceof Panic || error instanceof InvariantError) return PANICKED;
    if (error instanceof BudgetExhausted) return BUDGET_EXCEEDED;
    if (error instanceof Cancelled) return WAS_CANCELLED;
  } catch {}
  return FAILED;
}
