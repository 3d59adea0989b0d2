import { type Failure, failureOf } from "./failure.ts";
import type { Handler, Handlers } from "./handler.ts";
import { invoke } from "./invocation.ts";
import { marksOf } from "./processors/marks.ts";
import type { Processors } from "./processors/processors.ts";
import type { TaskAttempt, Work } from "./task-attempt.ts";

/** What is to be done for an assignment, and on which processor; or why it cannot be. */
export function workOf(attempt: TaskAttempt, handlers: Handlers, processors: Processors): Work | Failure {
  const { task_type: type, data } = attempt.assignment;
  const handler = Object.hasOwn(handlers, type) ? handlers[type] : undefined;
  if (!handler) return unknownType(type, handlers);
  try {
    const processor = processors.choose(
      handler,
      data?.meta ? "thread" : data?.processor,
      () => attempt.data?.kinds ?? [],
    );
    const { isReader = false } = marksOf(handler);
    if (processor === "thread") return { endsByForce: true, isReader, run: processors.onThread(handler) };
    return {
      endsByForce: handler.endsByForce,
      isReader,
      run: (invocation, context) => invoke(handler, invocation, context),
    };
  } catch (error) {
    return failureOf(error);
  }
}

function unknownType(type: string, handlers: Handlers): Failure {
  const files = new Set(Object.values(handlers).flatMap(({ origin }: Handler) => origin?.file ?? []));
  const where = files.size === 0 ? "" : `: ${[...files].join(", ")} exports no function of that name`;
  const message = `this worker has no handler for ${JSON.stringify(type)}${where}`;
  return { type: "failed", code: "unknown-type", message, retry: false };
}
