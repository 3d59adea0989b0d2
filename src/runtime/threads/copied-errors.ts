import type { Component } from "../budget.ts";
import {
  BudgetExhausted,
  Cancelled,
  Deadlock,
  Panic,
  RuntimeError,
  type RuntimeErrorCode,
} from "../errors.ts";

/** What was thrown, as plain data. The structured clone of an error keeps neither its class nor its fields. */
export type Copied =
  | { readonly type: "value"; readonly value: unknown }
  | {
      readonly type: "error";
      readonly kind: string;
      readonly name: string;
      readonly message: string;
      readonly stack: string | undefined;
      readonly code: string | undefined;
      readonly component: Component | undefined;
      readonly waits: readonly string[] | undefined;
      readonly cause: Copied | undefined;
    };

/** How many causes of causes are kept. */
const MOST_CAUSES = 8;

const KINDS: Readonly<Record<string, ErrorConstructor>> = {
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
};

export function copyError(thrown: unknown, causes: number = MOST_CAUSES): Copied {
  if (!(thrown instanceof Error)) return { type: "value", value: thrown };
  const { name, message, stack, cause } = thrown;
  const { code } = thrown as { code?: unknown };
  return {
    type: "error",
    kind: kindOf(thrown),
    name,
    message,
    stack,
    code: typeof code === "string" ? code : undefined,
    component: thrown instanceof BudgetExhausted ? thrown.component : undefined,
    waits: thrown instanceof Deadlock ? thrown.waits : undefined,
    cause: cause === undefined || causes === 0 ? undefined : copyError(cause, causes - 1),
  };
}

function kindOf(error: Error): string {
  if (error instanceof BudgetExhausted) return "BudgetExhausted";
  if (error instanceof Panic) return "Panic";
  if (error instanceof Cancelled) return "Cancelled";
  if (error instanceof Deadlock) return "Deadlock";
  if (error instanceof RuntimeError) return "RuntimeError";
  return Object.keys(KINDS).find((name) => error instanceof (KINDS[name] as ErrorConstructor)) ?? "Error";
}

export function reviveError(copied: Copied): unknown {
  if (copied.type === "value") return copied.value;
  const options = copied.cause === undefined ? {} : { cause: reviveError(copied.cause) };
  const error = made(copied, options);
  if (copied.stack !== undefined) error.stack = copied.stack;
  return error;
}

function made(copied: Copied & { type: "error" }, options: ErrorOptions): Error {
  const { kind, message, component, name, code } = copied;
  if (kind === "BudgetExhausted" && component !== undefined) return new BudgetExhausted(component, message);
  if (kind === "Panic") return new Panic(message, code as "Panic", options);
  if (kind === "Cancelled") return new Cancelled(message, code as "FiberCancelled", options);
  if (kind === "Deadlock") return revivedDeadlock(copied);
  if (kind === "RuntimeError") return new RuntimeError(code as RuntimeErrorCode, message, options);
  const error = new (KINDS[kind] ?? Error)(message, options);
  if (error.name !== name) error.name = name;
  return code === undefined ? error : Object.assign(error, { code });
}

function revivedDeadlock({ waits = [], message }: Copied & { type: "error" }): Deadlock {
  const deadlock = new Deadlock(waits, waits.length);
  deadlock.message = message;
  return deadlock;
}
