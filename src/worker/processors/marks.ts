import type { ChunkKind } from "../../protocol/index.ts";

/** Where a worker runs a function: on its main thread, with all that it has there, or on one of its other threads. */
export type ProcessorName = "main" | "thread";

/** What a tasks file may say for all of its functions: where one with such inputs should run. */
export type ProcessorRule = (name: string, kinds: readonly ChunkKind[]) => ProcessorName | undefined;

interface Marks {
  readonly processor?: ProcessorName;
  readonly isReader?: boolean;
}

/** Registered, as that of handlers is: the tasks file may have a copy of this module of its own. */
const MARKS: unique symbol = Symbol.for("orrery.marks") as never;

type Markable = ((...args: never[]) => unknown) | object;

/** It computes, and should not hold up the worker meanwhile. */
export function onThread<Task extends Markable>(task: Task): Task {
  return marked(task, { processor: "thread" });
}

/** It needs what only the main thread has: open connections, say. */
export function onMain<Task extends Markable>(task: Task): Task {
  return marked(task, { processor: "main" });
}

/**
 * It promises not to change bytes that it is given, so that it gets them as they lie in memory. A thread shares them without a
 * copy where they were made over a SharedArrayBuffer.
 */
export function reading<Task extends Markable>(task: Task): Task {
  return marked(task, { isReader: true });
}

export function marksOf(task: unknown): Marks {
  return (task as { readonly [MARKS]?: Marks })[MARKS] ?? {};
}

function marked<Task extends Markable>(task: Task, marks: Marks): Task {
  // Not a new function: it may have a name, properties, and be called by others.
  const value = { ...marksOf(task), ...marks };
  return Object.defineProperty(task, MARKS, { value, configurable: true, enumerable: true });
}

/** With the marks of another. */
export function markedLike<Task extends Markable>(task: Task, other: unknown): Task {
  return marked(task, marksOf(other));
}
