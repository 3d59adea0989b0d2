import { BUDGET_PARTS, type BudgetPart } from "../graph/index.ts";
import type { TaskBudgetExhausted, TaskRecharged } from "../ledger/index.ts";
import { type TaskKey, taskKey } from "../placement/index.ts";
import type { State } from "./state.ts";

/** What became of the budget of an attempt. */
export interface Charge {
  readonly recharges: number;
  /** In all, in the order of `BUDGET_PARTS`. */
  readonly amounts: readonly number[];
  /** What it has used up and waits for. */
  readonly lacks: BudgetPart | undefined;
}

const NO_CHARGE: Charge = { recharges: 0, amounts: BUDGET_PARTS.map(() => 0), lacks: undefined };

export function chargeOf(state: State, key: TaskKey): Charge {
  return state.charges.get(key) ?? NO_CHARGE;
}

/** Whether it says what is not known yet, and could be counted exactly. */
export function isNewCharge(state: State, event: TaskBudgetExhausted | TaskRecharged): boolean {
  const { recharges, lacks, amounts } = chargeOf(state, taskKey(event.run, event.node));
  if (event.kind === "TaskBudgetExhausted")
    return event.recharges === recharges && event.part !== lacks && BUDGET_PARTS.includes(event.part);
  return (
    event.amounts.length === amounts.length &&
    event.amounts.every((one, at) => one >= 0 && Number.isSafeInteger(one + (amounts[at] as number)))
  );
}

export function exhaust(state: State, { run, node, part }: TaskBudgetExhausted): void {
  const key = taskKey(run, node);
  state.charges.set(key, { ...chargeOf(state, key), lacks: part });
}

export function recharge(state: State, { run, node, amounts: added }: TaskRecharged): void {
  const key = taskKey(run, node);
  const { recharges, amounts } = chargeOf(state, key);
  const sums = amounts.map((amount, at) => amount + (added[at] as number));
  state.charges.set(key, { recharges: recharges + 1, amounts: sums, lacks: undefined });
}
