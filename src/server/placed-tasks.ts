import { PassingMap, RecentMap } from "../core/index.ts";
import {
  type About,
  type AboutAlternative,
  type AboutTask,
  aboutTask,
  type Fact,
  inputsOf,
  type TaskInputs,
} from "../driver/index.ts";
import type { TaskSpec } from "../graph/index.ts";
import { nodeOfKey, runOfKey } from "../placement/index.ts";
import { type State, Status } from "../scheduler/index.ts";

/** A task that was given to a worker, by the numbers that the scheduler knows it by. */
export interface PlacedTask {
  readonly id: string;
  readonly run: number;
  readonly node: number;
  readonly attempt: number;
  readonly worker: number;
  readonly zone: string;
  readonly agent: string;
  readonly spec: TaskSpec;
  /** Where it is part of a run. */
  readonly runId: string | undefined;
  readonly nodeId: string | undefined;
  readonly alternative: AboutAlternative | undefined;
  /** What it gets from other nodes; undefined where those of its run hand nothing to each other. */
  readonly inputs: TaskInputs | undefined;
}

/** Ended tasks that are remembered, so that late reports about them are recorded by their numbers. */
const MAX_ENDED = 10_000;

/** What is on the workers, by the public ids that they use. Follows the committed events. */
export class PlacedTasks {
  readonly #live = new PassingMap<string, PlacedTask>();
  readonly #ended = new RecentMap<string, PlacedTask>(MAX_ENDED);

  constructor(state: State) {
    for (const worker of state.fleet.workers) {
      for (const key of [...worker.held.keys(), ...worker.ahead])
        this.add(state, runOfKey(key), nodeOfKey(key));
    }
  }

  add(state: State, run: number, node: number): void {
    const tasks = state.tasks(run);
    const about = aboutTask(state, run, node);
    if (!about?.task) return;
    const inputs = inputsOf(state, run, node);
    const { task } = about;
    this.#live.set(
      task.id,
      placedTask(about, task, run, node, tasks.attemptOf(node), tasks.workerOf(node), inputs),
    );
  }

  /** Those that were told to stop. */
  cancelling(state: State): PlacedTask[] {
    return [...this.#live.values()].filter(
      ({ run, node }) => state.tasks(run).statusOf(node) === Status.cancelling,
    );
  }

  /** What a worker has. */
  on(worker: number): PlacedTask[] {
    return [...this.#live.values()].filter((task) => task.worker === worker);
  }

  live(id: string): PlacedTask | undefined {
    return this.#live.get(id);
  }

  /** On a worker, or not long ago. */
  known(id: string): PlacedTask | undefined {
    return this.#live.get(id) ?? this.#ended.get(id);
  }

  follow({ event, about }: Fact): void {
    for (const { id } of about?.withdrawn ?? []) this.#end(id);
    if (about?.expanded) this.#end(about.expanded);
    const task = about?.task;
    if (!task) return;
    const { id } = task;
    switch (event.kind) {
      case "TaskAssigned": {
        const { run, node, attempt, worker } = event;
        this.#live.set(id, placedTask(about, task, run, node, attempt, worker, task.inputs));
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
    this.#ended.set(id, task);
  }
}

/** Written out: it is made for every task. */
function placedTask(
  { zone, agent, runId }: About,
  { id, spec, node: nodeId, alternative }: AboutTask,
  run: number,
  node: number,
  attempt: number,
  worker: number,
  inputs: TaskInputs | undefined,
): PlacedTask {
  return { id, run, node, attempt, worker, zone, agent, spec, runId, nodeId, alternative, inputs };
}
