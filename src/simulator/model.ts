import type { RunOutcome, SchedulerConfig } from "../ledger/index.ts";
import { NO_RUN } from "../placement/index.ts";
import type { AttemptName } from "./messages.ts";
import type { ModelResult } from "./model-data.ts";
import { isWaiting, type ModelRun, type ModelTask, type ModelWorker } from "./model-tasks.ts";
import { demand } from "./violation.ts";

/** What a named limit was set to, and what has started since under its rate. */
export interface ModelLimit {
  readonly concurrency: number | null;
  readonly rateCount: number | null;
  readonly periodMs: number;
  readonly setAt: number;
  /** What was owed when it was set: starts, in parts of which `periodMs` make one. */
  readonly owed: bigint;
  readonly starts: number[];
}

/**
 * What must be true, kept the plain way: built only from recorded events, with no index and no code of the
 * scheduler. Slow, and simple enough to be believed.
 */
export class Model {
  config: SchedulerConfig | undefined;
  seq = 0;
  now: number = Number.NEGATIVE_INFINITY;
  nextRun = 0;
  nextTask = 0;
  refused = 0;
  /** By number, without those that were forgotten. */
  readonly runs: Map<number, ModelRun> = new Map();
  readonly ended: ModelRun[] = [];
  /** Tasks of no run that have not ended, by number. */
  readonly singles: Map<number, ModelTask> = new Map();
  /** Tasks of no run that have ended, the last time under an id. */
  readonly past: Map<string, ModelTask> = new Map();
  /** By number. */
  readonly workers: ModelWorker[] = [];
  /** Tasks that are ready or delayed. */
  readonly offered: Set<ModelTask> = new Set();
  /** Alternatives that have to be given to workers before anything else happens, in order. */
  readonly unplaced: ModelTask[] = [];
  /** Nodes of which an alternative has ended since the last stimulus. */
  readonly toVoteOn: Set<ModelTask> = new Set();
  /** What will not be made where it was begun: what was given ahead because of it is withdrawn. */
  readonly withdrawing: Set<ModelTask> = new Set();
  /** The last worker that was given something. */
  cursor: ModelWorker | undefined;

  /** Settings by zone and name; what was unset is not there. */
  readonly agentMax: Map<string, number | null> = new Map();
  readonly zoneMax: Map<string, number | null> = new Map();
  readonly limits: Map<string, ModelLimit> = new Map();
  readonly agentRates: Map<string, { readonly count: number; readonly periodMs: number } | null> = new Map();
  /** What agents with a rate have submitted, by zone and name. */
  readonly submissions: Map<string, ModelLimit> = new Map();
  /** By zone, the task that room is kept for under its limits. */
  readonly roomFor: Map<string, ModelTask> = new Map();
  /** By zone, when it may be kept again. */
  readonly roomAgainAt: Map<string, number> = new Map();
  /** By zone and executor, "" for all. */
  readonly paused: Set<string> = new Set();
  /** What each agent owns, by zone and name. */
  readonly credits: Map<string, number> = new Map();
  readonly costs: Map<string, { readonly at: number; readonly micros: number }[]> = new Map();
  /** Results that were made, by what they were made of. */
  readonly made: Map<string, ModelResult> = new Map();
  /** Of those, what was evicted and not yet told. */
  readonly evicted: AttemptName[] = [];
  /** How many tasks ended how, by zone. */
  readonly totals: Map<string, { completed: number; failed: number; cancelled: number }> = new Map();
  #sorted: readonly ModelWorker[] = [];

  /** In the order of ids by code unit. */
  sortedWorkers(): readonly ModelWorker[] {
    const known = this.workers.filter(({ isForgotten }) => !isForgotten);
    if (this.#sorted.length !== known.length || this.#sorted.some(({ isForgotten }) => isForgotten)) {
      this.#sorted = known.sort((a, b) => (a.spec.id < b.spec.id ? -1 : 1));
    }
    return this.#sorted;
  }

  runById(id: string): ModelRun | undefined {
    for (const run of this.runs.values()) if (run.id === id) return run;
    return undefined;
  }

  singleById(id: string): ModelTask | undefined {
    for (const task of this.singles.values()) if (task.publicId === id) return task;
    return undefined;
  }

  workerById(id: string): ModelWorker | undefined {
    return this.workers.find(({ spec, isForgotten }) => spec.id === id && !isForgotten);
  }

  runAt(number: number): ModelRun {
    const run = this.runs.get(number);
    demand(run !== undefined, "known-run", () => `run ${number} is not known`, { run: number });
    return run;
  }

  /** Undefined where the numbers name nothing, or what has been forgotten. */
  find({ run, node }: { readonly run: number; readonly node: number }): ModelTask | undefined {
    return run === NO_RUN ? this.singles.get(node) : this.runs.get(run)?.tasks[node];
  }

  taskAt(name: { readonly run: number; readonly node: number }): ModelTask {
    const task = this.find(name);
    demand(task !== undefined, "known-task", () => `there is no task ${name.run}/${name.node}`, name);
    return task;
  }

  workerAt(number: number): ModelWorker {
    const worker = this.workers[number];
    demand(worker !== undefined, "known-worker", () => `worker ${number} never registered`);
    return worker;
  }

  /** All that has neither ended for good nor been forgotten, with what ended in open runs. */
  *tasks(): Generator<ModelTask> {
    for (const run of this.runs.values()) yield* run.tasks;
    yield* this.singles.values();
  }

  /** What has a place on a worker. */
  *placed(): Generator<ModelTask> {
    for (const worker of this.workers) yield* worker.held;
  }

  /** With what waits there for an input. */
  *given(): Generator<ModelTask> {
    for (const worker of this.workers) yield* [...worker.held, ...worker.ahead];
  }

  get settings(): SchedulerConfig {
    demand(
      this.config !== undefined,
      "configured-first",
      () => "something happened before the configuration",
    );
    return this.config;
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
    for (const task of this.tasks()) if (isWaiting(task)) waiting++;
    return waiting;
  }

  /** It waits no more, and nothing is kept for it. */
  withdraw(task: ModelTask): void {
    this.offered.delete(task);
    for (const worker of this.workers) if (worker.reservedFor === task) worker.reservedFor = undefined;
    if (this.roomFor.get(task.zone) === task) this.roomFor.delete(task.zone);
  }

  /** Ended runs that are remembered when this one ends; one that was added at least until its result is taken. */
  mostEnded({ addedBy }: ModelRun): number {
    return Math.max(this.settings.keepEndedRuns, addedBy ? 1 : 0);
  }

  countEnd(zone: string, how: RunOutcome): void {
    const totals = this.totals.get(zone) ?? { completed: 0, failed: 0, cancelled: 0 };
    totals[how]++;
    this.totals.set(zone, totals);
  }
}

/** A text for something of a zone: an agent, a limit, an executor. */
export function ofZone(zone: string, name: string): string {
  return `${zone}\n${name}`;
}
