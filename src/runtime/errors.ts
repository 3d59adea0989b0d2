import type { Component } from "./budget.ts";

export type RuntimeErrorCode =
  | "InvalidArgument"
  | "ProfileForbids"
  | "RuntimeClosed"
  | "NurseryNotActive"
  | "NurseryCancelled"
  | "NurseryTimedOut"
  | "FiberCancelled"
  | "ResultNotVisible"
  | "CapabilityDenied"
  | "ChannelClosed"
  | "Deadlock"
  | "ReplayDiverged"
  | "OpsBudgetExhausted"
  | "MemoryBudgetExhausted"
  | "SpawnBudgetExhausted"
  | "ChannelBudgetExhausted"
  | "SyscallBudgetExhausted"
  | "Panic"
  | "StackOverflow"
  | "WorkerPanic";

/** What the runtime refuses, or ends a fiber with. `code` never changes; the message says what to do. */
export class RuntimeError extends Error {
  readonly code: RuntimeErrorCode;

  constructor(code: RuntimeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = code;
    this.code = code;
  }
}

const CODE_OF: Readonly<Record<Component, RuntimeErrorCode>> = {
  ops: "OpsBudgetExhausted",
  memory: "MemoryBudgetExhausted",
  spawnCount: "SpawnBudgetExhausted",
  channelOps: "ChannelBudgetExhausted",
  syscalls: "SyscallBudgetExhausted",
};

export class BudgetExhausted extends RuntimeError {
  readonly component: Component;

  constructor(component: Component, message: string) {
    super(CODE_OF[component], message);
    this.component = component;
  }
}

/** A fiber's bug rather than its result. It goes before all other outcomes of a nursery. */
export class Panic extends RuntimeError {
  constructor(
    message: string,
    code: "Panic" | "StackOverflow" | "WorkerPanic" = "Panic",
    options?: ErrorOptions,
  ) {
    super(code, message, options);
  }
}

/** What goes through the body of a nursery that is being cancelled, and is the result where nothing else is. */
export class Cancelled extends RuntimeError {
  constructor(
    message: string,
    code: "NurseryCancelled" | "NurseryTimedOut" | "FiberCancelled",
    options?: ErrorOptions,
  ) {
    super(code, message, options);
  }
}

/** Everything is blocked, and nothing that could come from outside is awaited. */
export class Deadlock extends RuntimeError {
  /** Who waits for what, one sentence each. */
  readonly waits: readonly string[];

  constructor(waits: readonly string[], total: number) {
    const more = total > waits.length ? `; and ${total - waits.length} more` : "";
    super("Deadlock", `everything is blocked: ${waits.join("; ")}${more}`);
    this.waits = waits;
  }
}
