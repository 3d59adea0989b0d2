import { invariant } from "../core/index.ts";

export type FiberState = "Ready" | "Running" | "Blocked" | "BudgetExhausted" | "Completed" | "Cancelled";

/** In the order of the numbers below, by which the table of fibers names them. */
export const FIBER_STATES: readonly FiberState[] = [
  "Ready",
  "Running",
  "Blocked",
  "BudgetExhausted",
  "Completed",
  "Cancelled",
];

export const READY = 0;
export const RUNNING = 1;
export const BLOCKED = 2;
export const EXHAUSTED = 3;
export const COMPLETED = 4;
export const CANCELLED = 5;

/**
 * From where to where a fiber may go.
 *
 * Whatever is not over can be cancelled: a nursery with a child that could not be would wait for it forever. The
 * `finally` blocks of a cancelled fiber run while it is Cancelled already.
 */
export const FIBER_MOVES: Readonly<Record<FiberState, readonly FiberState[]>> = {
  Ready: ["Running", "Cancelled"],
  Running: ["Ready", "Blocked", "BudgetExhausted", "Completed", "Cancelled"],
  Blocked: ["Ready", "Cancelled"],
  BudgetExhausted: ["Ready", "Cancelled"],
  Completed: [],
  Cancelled: [],
};

/** The same by numbers, since it is looked at three times for each fiber: 1 at eight times from, plus to. */
const MAY_BECOME: Uint8Array = new Uint8Array(64);
for (const [from, state] of FIBER_STATES.entries())
  for (const to of FIBER_MOVES[state]) MAY_BECOME[8 * from + FIBER_STATES.indexOf(to)] = 1;

export function checkFiberMove(from: number, to: number): void {
  if (MAY_BECOME[8 * from + to] !== 1)
    invariant(false, `a fiber that is ${FIBER_STATES[from]} cannot become ${FIBER_STATES[to]}`);
}

export type NurseryState = "Open" | "Closing" | "Cancelling" | "Closed" | "Cancelled";

export const NURSERY_MOVES: Readonly<Record<NurseryState, readonly NurseryState[]>> = {
  Open: ["Closing", "Cancelling"],
  Closing: ["Closed", "Cancelling"],
  Cancelling: ["Cancelled"],
  Closed: [],
  Cancelled: [],
};

export function checkNurseryMove(from: NurseryState, to: NurseryState): void {
  invariant(NURSERY_MOVES[from].includes(to), `a nursery that is ${from} cannot become ${to}`);
}

/** How a fiber or a nursery ended, in the order of rank: of several the highest counts, and the first of its rank. */
export type OutcomeKind = "success" | "cancelled" | "budget exceeded" | "child failed" | "panic";

export const OUTCOME_KINDS: readonly OutcomeKind[] = [
  "success",
  "cancelled",
  "budget exceeded",
  "child failed",
  "panic",
];

export const SUCCEEDED = 0;
export const WAS_CANCELLED = 1;
export const BUDGET_EXCEEDED = 2;
export const FAILED = 3;
export const PANICKED = 4;
