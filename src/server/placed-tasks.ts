import type { Fact } from "../driver/index.ts";
import { nodeOfKey, runOfKey, taskKey } from "../placement/index.ts";
import { type State, Status } from "../scheduler/index.ts";

/** A task that was given to a worker, by the numbers that the scheduler knows it by. */
export interface PlacedTask {
  readonly id: string;
  readonly run: number;
  readonly node: number;
  readonly attempt: number;
  readonly worker: number;
  readonly zone: string;
}

/** Ended tasks that are remembered, so that late reports about them are recorded by their numbers. */
const MAX_ENDED = 10_000;

/** What is on the workers, by the public ids that they use. Follows the committed events. */
export class PlacedTasks {
  readonly #live = new Map<string, PlacedTask>();
  readonly #ended = new Map<string, PlacedTask>();

  constructor(state: State) {
    for (const worker of state.fleet.workers) {
      for (const key of worker.held.keys()) this.add(state, runOfKey(key), nodeOfKey(key));
    }
  }

  add(state: State, run: number, node: number): void {
    const tasks = state.tasks(run);
    const id = tasks.taskIdOf(node);
    const attempt = tasks.attemptOf(node);
    const worker = tasks.workerOf(node);
    this.#live.set(id, { id, run, node, attempt, worker, zone: tasks.zoneOf(node) });
  }

  /** Those that were told to stop. */
  cancelling(state: State): PlacedTask[] {
    return [...this.#live.values()].filter(
      ({ run, node }) => state.tasks(run).statusOf(node) === Status.cancelling,
    );
  }

  live(id: string): PlacedTask | undefined {
    return this.#live.get(id);
  }

  /** On a worker, or not long ago. */
  known(id: string): PlacedTask | undefined {
    return this.#live.get(id) ?? this.#ended.get(id);
  }

  follow({ event, about }: Fact): void {
    const id = about?.task?.id;
    if (id === undefined || !about) return;
    switch (event.kind) {
      case "TaskAssigned": {
        const { run, node, attempt, worker } = event;
        this.#live.set(id, { id, run, node, attempt, worker, zone: about.zone });
        break;
      }
      case "AttemptFinished":
      case "TaskRetried":
      case "TaskFailed":
      case "TaskCancelled":
        this.#end(id);
        break;
      default:
    }
  }

  #end(id: string): void {
    const task = this.#live.get(id);
    if (!task) return;
    this.#live.delete(id);
    this.#ended.delete(id);
    this.#ended.set(id, task);
    if (this.#ended.size <= MAX_ENDED) return;
    const oldest = this.#ended.keys().next();
    if (!oldest.done) this.#ended.delete(oldest.value);
  }
}

/** Whether a task is still on the worker with that attempt. */
export function isHeld(state: State, { run, node, attempt, worker }: PlacedTask): boolean {
  const tasks = state.tasksAt(run);
  if (!tasks?.has(node)) return false;
  return (
    tasks.attemptOf(node) === attempt &&
    tasks.workerOf(node) === worker &&
    state.worker(worker).held.has(taskKey(run, node))
  );
}
