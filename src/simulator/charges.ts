import { BUDGET_PARTS } from "../graph/index.ts";
import type { TaskBudgetExhausted, TaskRecharged } from "../ledger/index.ts";
import type { Stimulus } from "../scheduler/index.ts";
import type { Model } from "./model.ts";
import { aboutTask, isPlaced, type ModelTask } from "./model-tasks.ts";

/** Whether it must be recorded: of an attempt that is on a worker and has a budget, and nothing that was said before. */
export function isChargeNews(model: Model, event: TaskBudgetExhausted | TaskRecharged): boolean {
  const task = model.find(event);
  if (!task || !isPlaced(task) || task.attempt !== event.attempt || task.spec.budget.length === 0)
    return false;
  if (event.kind === "TaskRecharged") return event.amounts.every((amount) => amount >= 0);
  return event.recharges === task.charge.recharges && event.part !== task.charge.lacks;
}

export function takeCharge(model: Model, event: TaskBudgetExhausted | TaskRecharged): void {
  const { charge } = model.taskAt(event);
  if (event.kind === "TaskBudgetExhausted") charge.lacks = event.part;
  else {
    charge.recharges++;
    charge.lacks = "";
    for (const [at, amount] of event.amounts.entries()) (charge.amounts[at] as number) += amount;
  }
}

/** What a worker says of a budget, or somebody who tops it up; also what is wrong, or no news. */
export function aboutBudget(model: Model, choice: number): Stimulus | undefined {
  const placed = [...model.placed()];
  const some = choice % 4 === 0 ? placed : placed.filter(({ spec }) => spec.budget.length > 0);
  const task: ModelTask | undefined = some[choice % Math.max(1, some.length)];
  if (!task) return undefined;
  const of = { ...aboutTask(task), attempt: task.attempt + (choice % 11 === 0 ? 1 : 0) };
  const part = BUDGET_PARTS[choice % BUDGET_PARTS.length] as (typeof BUDGET_PARTS)[number];
  const recharges = task.charge.recharges + (choice % 7 === 0 ? 1 : 0);
  if (choice % 3 > 0) return { kind: "TaskBudgetExhausted", ...of, part, recharges };
  return { kind: "TaskRecharged", ...of, amounts: BUDGET_PARTS.map((_, at) => (choice + at) % 5) };
}
