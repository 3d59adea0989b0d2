import type { Model } from "./model.ts";
import type { ModelTask, ModelWorker } from "./model-tasks.ts";

export function couldEverRun(worker: ModelWorker, task: ModelTask): boolean {
  const { spec } = worker;
  return (
    spec.executors.includes(task.spec.executor) &&
    (spec.zone === task.zone || spec.zones.includes(task.zone)) &&
    task.spec.capabilities.every((capability) => spec.capabilities.includes(capability)) &&
    spec.cpuMillicores >= task.spec.cpuMillicores &&
    spec.memoryBytes >= task.spec.memoryBytes
  );
}

/** Some worker that takes work and could take it if it were empty. */
export function hasOpenWorker(model: Model, task: ModelTask): boolean {
  return model.workers.some((worker) => worker.standing === "open" && couldEverRun(worker, task));
}
