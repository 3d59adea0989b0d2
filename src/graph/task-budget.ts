/** What a task can run out of, in the order in which numbers for them stand. */
export const BUDGET_PARTS = ["ops", "memory", "spawnCount", "channelOps", "syscalls"] as const;
export type BudgetPart = (typeof BUDGET_PARTS)[number];

/** For each part how much, and then what happens when it is used up: 1, it waits until it is recharged; 0, it fails. */
export type TaskBudget = readonly number[];

/** What a task has of the parts that its budget does not name. */
export const DEFAULT_BUDGET: Readonly<Record<BudgetPart, number>> = {
  ops: 100_000,
  memory: 10 * 1024 * 1024,
  spawnCount: 100,
  channelOps: 1_000,
  syscalls: 100,
};

export function taskBudget(asked: Readonly<Partial<Record<BudgetPart, number>>>, waits: boolean): TaskBudget {
  return [...BUDGET_PARTS.map((part) => asked[part] ?? DEFAULT_BUDGET[part]), waits ? 1 : 0];
}

export function waitsWhenExhausted(budget: TaskBudget): boolean {
  return budget[BUDGET_PARTS.length] === 1;
}

/** Numbers in the order of the parts, by their names on the wire. */
export type BudgetOnWire = Record<"ops" | "memory" | "spawn_count" | "channel_ops" | "syscalls", number>;

export function partOnWire(part: BudgetPart): keyof BudgetOnWire {
  return PARTS_ON_WIRE[BUDGET_PARTS.indexOf(part)] as keyof BudgetOnWire;
}

export function partOffWire(part: keyof BudgetOnWire): BudgetPart {
  return BUDGET_PARTS[PARTS_ON_WIRE.indexOf(part)] as BudgetPart;
}

const PARTS_ON_WIRE = ["ops", "memory", "spawn_count", "channel_ops", "syscalls"] as const;

export function budgetOnWire(amounts: readonly number[]): BudgetOnWire {
  const [ops = 0, memory = 0, spawn_count = 0, channel_ops = 0, syscalls = 0] = amounts;
  return { ops, memory, spawn_count, channel_ops, syscalls };
}

export function budgetOffWire(wire: Partial<BudgetOnWire>): number[] {
  const { ops = 0, memory = 0, spawn_count = 0, channel_ops = 0, syscalls = 0 } = wire;
  return [ops, memory, spawn_count, channel_ops, syscalls];
}
