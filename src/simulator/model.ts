import { type TaskSpec, taskSpecOf, type WireSpec } from "../graph/index.ts";
import type { RunOutcome, RunSubmitted, SchedulerConfig } from "../ledger/index.ts";
import type { WorkerSpec } from "../placement/index.ts";
import type { StatusName } from "../scheduler/index.ts";
import { demand } from "./violation.ts";

/**
 * What must be true, kept the plain way: built only from recorded events, with no index and no code of the
 * scheduler. Slow, and simple enough to be believed.
 */
export class Model {
  config: SchedulerConfig | undefined;
  seq = 0;
  now: number = Number.NEGATIVE_INFINITY;
  nextRun = 0;
  refused = 0;
  /** By number, without those that were forgotten. */
  readonly runs: Map<number, ModelRun> = new Map();
  readonly ended: ModelRun[] = [];
  /** By number. */
  readonly workers: ModelWorker[] = [];
  /** Tasks that are ready or delayed. */
  readonly offered: Set<ModelTask> = new Set();
  /** The last worker that was given something. */
  cursor: ModelWorker | undefined;
  #sorted: readonly ModelWorker[] = [];

  /** In the order of ids by code unit. */
  sortedWorkers(): readonly ModelWorker[] {
    if (this.#sorted.length < this.workers.length) {
      this.#sorted = this.workers.toSorted((a, b) => (a.spec.id < b.spec.id ? -1 : 1));
    }
    return this.#sorted;
  }

  runById(id: string): ModelRun | undefined {
    for (const run of this.runs.values()) if (run.id === id) return run;
    return undefined;
  }

  runAt(number: number): ModelRun {
    const run = this.runs.get(number);
    demand(run !== undefined, "known-run", () => `run ${number} is not known`, { run: number });
    return run;
  }

  taskAt({ run, node }: { readonly run: number; readonly node: number }): ModelTask {
    const task = this.runAt(run).tasks[node];
    demand(task !== undefined, "known-task", () => `run ${run} has no node ${node}`, { run });
    return task;
  }

  workerAt(number: number): ModelWorker {
    const worker = this.workers[number];
    demand(worker !== undefined, "known-worker", () => `worker ${number} never registered`);
    return worker;
  }

  get usage(): number {
    let held = 0;
    let reachable = 0;
    for (const worker of this.workers) {
      held += worker.held.size;
      if (worker.standing !== "unreachable") reachable++;
    }
    return held / Math.max(1, reachable * (this.config?.maxQueuePerWorker ?? 0));
  }

  get backlog(): number {
    let waiting = 0;
    for (const run of this.runs.values()) for (const task of run.tasks) if (isWaiting(task)) waiting++;
    return waiting;
  }
}

export interface ModelRun {
  readonly number: number;
  readonly id: string;
  readonly zone: string;
  readonly onFailure: RunSubmitted["onFailure"];
  readonly tasks: readonly ModelTask[];
  cancelAsked: boolean;
  outcome: RunOutcome | undefined;
}

export interface ModelTask {
  readonly run: ModelRun;
  readonly node: number;
  readonly id: string;
  readonly spec: TaskSpec;
  readonly needs: ModelTask[];
  readonly neededBy: ModelTask[];
  /** Tasks with equal keys can run on the same workers. */
  readonly needsKey: string;
  /** Its executor and zone. */
  readonly place: string;
  holdsUpMs: number;
  status: StatusName;
  attempt: number;
  worker: ModelWorker | undefined;
  /** When it became ready, or is due. */
  since: number;
  /** When its worker should be done with it. */
  expectedEndMs: number;
  cancelAsked: boolean;
  /** Whether the attempt that is being settled was lost, which costs no wait. */
  lost: boolean;
  /** Attempts whose end the worker itself reported. */
  readonly reported: Set<number>;
  completedSeq: number;
  resultBytes: number;
}

export interface ModelWorker {
  readonly number: number;
  spec: WorkerSpec;
  standing: "open" | "overloaded" | "draining" | "unreachable";
  registeredSeq: number;
  freeCpu: number;
  freeMemory: number;
  readonly held: Set<ModelTask>;
  readonly executed: Set<string>;
  reservedFor: ModelTask | undefined;
}

export function modelRun(number: number, event: RunSubmitted, now: number): ModelRun {
  const { graph } = event;
  const tasks: ModelTask[] = [];
  const run: ModelRun = {
    number,
    id: event.runId,
    zone: event.zone,
    onFailure: event.onFailure,
    tasks,
    cancelAsked: false,
    outcome: undefined,
  };
  const done = new Set(graph.done);
  for (const [node, id] of graph.ids.entries()) {
    const spec = taskSpecOf(graph.specs[graph.spec[node] as number] as WireSpec);
    const { executor, cpuMillicores, memoryBytes, capabilities } = spec;
    tasks.push({
      run,
      node,
      id,
      spec,
      needs: [],
      neededBy: [],
      needsKey: JSON.stringify([executor, event.zone, cpuMillicores, memoryBytes, capabilities]),
      place: JSON.stringify([executor, event.zone]),
      holdsUpMs: -1,
      status: done.has(node) ? "completed" : spec.held ? "held" : "waiting",
      attempt: 0,
      worker: undefined,
      since: now,
      expectedEndMs: 0,
      cancelAsked: false,
      lost: false,
      reported: new Set(),
      completedSeq: 0,
      resultBytes: 0,
    });
  }
  for (const [node, needs] of graph.needs.entries()) {
    for (const need of needs) link(tasks[need] as ModelTask, tasks[node] as ModelTask);
  }
  for (const task of tasks) task.holdsUpMs = holdsUpMs(task);
  return run;
}

function link(need: ModelTask, task: ModelTask): void {
  task.needs.push(need);
  need.neededBy.push(task);
}

function holdsUpMs(task: ModelTask): number {
  if (task.holdsUpMs < 0) {
    task.holdsUpMs = task.spec.estimateMs + Math.max(0, ...task.neededBy.map(holdsUpMs));
  }
  return task.holdsUpMs;
}

export function isWaiting({ status }: ModelTask): boolean {
  return status === "waiting" || status === "held" || status === "ready" || status === "delayed";
}

export function isPlaced({ status }: ModelTask): boolean {
  return status === "assigned" || status === "running" || status === "cancelling";
}

export function isEnded({ status }: ModelTask): boolean {
  return status === "completed" || status === "failed" || status === "cancelled" || status === "skipped";
}

/** Whether it could be given to a worker now, if there were one. */
export function isDue(task: ModelTask, now: number): boolean {
  return task.status === "ready" || (task.status === "delayed" && task.since <= now);
}

/** Everything that hangs on a task and has not ended. */
export function openDependents(task: ModelTask): Set<ModelTask> {
  const found = new Set<ModelTask>();
  const visit = (from: ModelTask) => {
    for (const dependent of from.neededBy) {
      if (found.has(dependent) || isEnded(dependent)) continue;
      found.add(dependent);
      visit(dependent);
    }
  };
  visit(task);
  return found;
}

export function aboutTask(task: ModelTask): { run: number; node: number } {
  return { run: task.run.number, node: task.node };
}

export function describeTask(task: ModelTask): string {
  return `task ${task.run.number}/${task.node} (${JSON.stringify(task.id)}, ${task.status}, attempt ${task.attempt})`;
}
