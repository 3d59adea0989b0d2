import { budgetOnWire, partOffWire } from "../graph/index.ts";
import type { TaskBudgetExhausted } from "../ledger/index.ts";
import { taskKey } from "../placement/index.ts";
import type { Heartbeat, Recharge } from "../protocol/index.ts";
import type { State } from "../scheduler/index.ts";
import type { PlacedTask } from "./placed-tasks.ts";

/** How much an attempt was recharged in all, for its worker; undefined: not at all. */
export function rechargeOn({ charges }: State, { id, run, node, attempt }: PlacedTask): Recharge | undefined {
  const { recharges = 0, amounts = [] } = charges.get(taskKey(run, node)) ?? {};
  return recharges > 0 ? { task: id, attempt, recharges, amounts: budgetOnWire(amounts) } : undefined;
}

/** What a heartbeat says of a budget that is used up, where that is news: each says it, until it has been recharged. */
export function exhaustionOf(
  { charges }: State,
  { run, node, attempt }: PlacedTask,
  { part, recharges }: NonNullable<Heartbeat["attempts"][number]["exhausted"]>,
): TaskBudgetExhausted | undefined {
  const lacks = partOffWire(part);
  if (charges.get(taskKey(run, node))?.lacks === lacks) return undefined;
  return { kind: "TaskBudgetExhausted", run, node, attempt, part: lacks, recharges };
}
