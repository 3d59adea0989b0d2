import type { ModelTask, ModelWorker } from "./model-tasks.ts";

/** Whether it takes no slot of the worker. */
export function isBeside({ spec }: ModelWorker, task: ModelTask): boolean {
  return task.spec.io === true && spec.ioSlots !== undefined;
}

/** What takes slots of the worker, or waits for one, in the order in which it was given. */
export function inSlots(worker: ModelWorker): ModelTask[] {
  return [...worker.held].filter((task) => !isBeside(worker, task));
}

/** Whether a worker that holds these has a place for one more, where so many may wait for a slot. */
export function hasPlace(
  worker: ModelWorker,
  task: ModelTask,
  queue: number,
  held: Iterable<ModelTask> = worker.held,
): boolean {
  const isIo = isBeside(worker, task);
  const count = [...held].filter((one) => isBeside(worker, one) === isIo).length;
  return count < (isIo ? (worker.spec.ioSlots ?? 0) : worker.spec.slots + queue);
}
