import { RuntimeError } from "./errors.ts";

/** What may be consumed. All are whole numbers from 0 on; the counts have 32 bits. */
export interface Budget {
  /** Iterations, calls and whatever else is done, one each. */
  readonly ops: number;
  /** Bytes. */
  readonly memory: number;
  readonly spawnCount: number;
  readonly channelOps: number;
  readonly syscalls: number;
}

export type Component = keyof Budget;

export const COMPONENTS: readonly Component[] = ["ops", "memory", "spawnCount", "channelOps", "syscalls"];

/** What one fiber can have. */
export const MOST: Budget = {
  ops: Number.MAX_SAFE_INTEGER,
  memory: Number.MAX_SAFE_INTEGER,
  spawnCount: 0xffff_ffff,
  channelOps: 0xffff_ffff,
  syscalls: 0xffff_ffff,
};

/** Of a runtime as a whole, which may have any number of roots with as much as one can have. */
export const UNLIMITED: Budget = {
  ops: Number.MAX_SAFE_INTEGER,
  memory: Number.MAX_SAFE_INTEGER,
  spawnCount: Number.MAX_SAFE_INTEGER,
  channelOps: Number.MAX_SAFE_INTEGER,
  syscalls: Number.MAX_SAFE_INTEGER,
};

export const NOTHING: Budget = { ops: 0, memory: 0, spawnCount: 0, channelOps: 0, syscalls: 0 };

const MiB = 1024 * 1024;

/** What a child gets of its nursery's pool where its spawner says nothing. It cannot spawn. */
export const CHILD_BUDGET: Budget = {
  ops: 10_000,
  memory: MiB,
  spawnCount: 0,
  channelOps: 100,
  syscalls: 10,
};

export const SERVICE_BUDGET: Budget = {
  ops: 100_000,
  memory: 10 * MiB,
  spawnCount: 100,
  channelOps: 1_000,
  syscalls: 100,
};

export const CLUSTER_BUDGET: Budget = {
  ops: 1_000_000,
  memory: 100 * MiB,
  spawnCount: 1_000,
  channelOps: 10_000,
  syscalls: 1_000,
};

/** What operations cost. An allocation costs its size in memory beside this. */
export const COSTS = {
  loop: { ops: 1 },
  call: { ops: 1 },
  allocation: { ops: 1 },
  spawn: { ops: 1, spawnCount: 1 },
  send: { ops: 1, channelOps: 1 },
  receive: { ops: 1, channelOps: 1 },
  file: { ops: 1, syscalls: 1 },
  network: { ops: 1, syscalls: 1 },
} as const satisfies Record<string, Partial<Budget>>;

/** A budget that changes: the pool of a nursery, what is left of a capability, what was spent so far. */
export class Account implements Budget {
  // Numbers from the start: fields that are undefined first are kept as any value, and their numbers on the heap.
  ops = 0;
  memory = 0;
  spawnCount = 0;
  channelOps = 0;
  syscalls = 0;

  constructor(budget: Budget = NOTHING) {
    this.ops = budget.ops;
    this.memory = budget.memory;
    this.spawnCount = budget.spawnCount;
    this.channelOps = budget.channelOps;
    this.syscalls = budget.syscalls;
  }

  give(budget: Budget): void {
    this.ops += budget.ops;
    this.memory += budget.memory;
    this.spawnCount += budget.spawnCount;
    this.channelOps += budget.channelOps;
    this.syscalls += budget.syscalls;
  }

  take(budget: Budget): void {
    this.ops -= budget.ops;
    this.memory -= budget.memory;
    this.spawnCount -= budget.spawnCount;
    this.channelOps -= budget.channelOps;
    this.syscalls -= budget.syscalls;
  }

  /** The first component of which there is less than asked for. */
  lacksFor(budget: Budget): Component | undefined {
    if (this.ops < budget.ops) return "ops";
    if (this.memory < budget.memory) return "memory";
    if (this.spawnCount < budget.spawnCount) return "spawnCount";
    if (this.channelOps < budget.channelOps) return "channelOps";
    return this.syscalls < budget.syscalls ? "syscalls" : undefined;
  }

  toBudget(): Budget {
    const { ops, memory, spawnCount, channelOps, syscalls } = this;
    return { ops, memory, spawnCount, channelOps, syscalls };
  }
}

/** Checks what a caller gave; components that it leaves out come from `rest`. */
export function readBudget(given: Partial<Budget> | undefined, rest: Budget, where: string): Budget {
  if (given === undefined) return rest;
  if (typeof given !== "object" || given === null)
    throw new RuntimeError("InvalidArgument", `${where} is an object such as {ops: 10000}`);
  // By hand, for it is done at every spawn that says what its child gets.
  for (const key in given)
    if (!COMPONENTS.includes(key as Component))
      throw new RuntimeError(
        "InvalidArgument",
        `${where}.${key} is no component; there are ${COMPONENTS.join(", ")}`,
      );
  return {
    ops: readAmount(given.ops, rest.ops, MOST.ops, "ops", where),
    memory: readAmount(given.memory, rest.memory, MOST.memory, "memory", where),
    spawnCount: readAmount(given.spawnCount, rest.spawnCount, MOST.spawnCount, "spawnCount", where),
    channelOps: readAmount(given.channelOps, rest.channelOps, MOST.channelOps, "channelOps", where),
    syscalls: readAmount(given.syscalls, rest.syscalls, MOST.syscalls, "syscalls", where),
  };
}

function readAmount(
  value: number | undefined,
  rest: number,
  most: number,
  component: Component,
  where: string,
): number {
  if (value === undefined) return rest;
  if (Number.isInteger(value) && value >= 0 && value <= most) return value;
  throw new RuntimeError(
    "InvalidArgument",
    `${where}.${component} is ${String(value)}; it is a whole number from 0 to ${most}`,
  );
}

export function least(a: Budget, b: Budget): Budget {
  return {
    ops: Math.min(a.ops, b.ops),
    memory: Math.min(a.memory, b.memory),
    spawnCount: Math.min(a.spawnCount, b.spawnCount),
    channelOps: Math.min(a.channelOps, b.channelOps),
    syscalls: Math.min(a.syscalls, b.syscalls),
  };
}
