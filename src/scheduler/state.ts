import { Heap, invariant } from "../core/index.ts";
import type { TaskSpec } from "../graph/index.ts";
import { POLICY_VERSION, type RunSubmitted, type SchedulerConfig } from "../ledger/index.ts";
import {
  Candidates,
  Fleet,
  type Needs,
  nodeOfKey,
  runOfKey,
  type TaskKey,
  taskKey,
  type Worker,
} from "../placement/index.ts";
import { Group } from "./group.ts";
import { Run } from "./run.ts";
import { Status } from "./status.ts";

export const DEFAULT_CONFIG: SchedulerConfig = {
  policyVersion: POLICY_VERSION,
  strategy: "least-loaded",
  preferLocality: false,
  maxQueuePerWorker: 10,
  seed: 0,
  overloadedAtPermille: 950,
  relievedBelowPermille: 800,
  maxNodes: 1_000_000,
  backlogLimit: 1_000_000,
  rejectThreshold: null,
  reserveAfterMs: 30_000,
  maxBackoffMs: 60_000,
  keepEndedRuns: 100,
};

interface Due {
  readonly key: TaskKey;
  readonly at: number;
}

/**
 * Everything that decisions depend on. Changed only by `apply`. Groups, lanes and the heap of due times are
 * indexes: they follow from the rest and are in no snapshot and no hash.
 */
export class State {
  config: SchedulerConfig = DEFAULT_CONFIG;
  /** The sequence of the last event, which is the logical time. */
  seq = 0;
  now = 0;
  readonly fleet: Fleet = new Fleet(DEFAULT_CONFIG);
  /** By number. Ended runs stay until there are too many. */
  readonly runs: Map<number, Run> = new Map();
  readonly endedRuns: number[] = [];
  nextRun = 0;
  /** Submissions refused so far. */
  refused = 0;
  /** Tasks that have neither ended nor been given to a worker. */
  backlog = 0;

  readonly groups: Map<string, Group> = new Map();
  /** For each executor and zone the different needs there, with how many groups have them. */
  readonly places: Map<string, Map<string, number>> = new Map();
  /** Reused by every decision; means nothing between two. */
  readonly candidates: Candidates = new Candidates();
  readonly #numbers = new Map<string, number>();
  /** Delayed tasks by due time, and some that are delayed no longer. */
  readonly #due = new Heap<Due>((a, b) => (a.at === b.at ? a.key < b.key : a.at < b.at));

  runById(id: string): Run | undefined {
    const number = this.#numbers.get(id);
    return number === undefined ? undefined : this.runs.get(number);
  }

  run(number: number): Run {
    const run = this.runs.get(number);
    invariant(run, `run ${number} is in the state`);
    return run;
  }

  worker(number: number): Worker {
    const worker = this.fleet.workers[number];
    invariant(worker, `worker ${number} is in the state`);
    return worker;
  }

  addRun(event: RunSubmitted, number: number, seq: number, now: number): Run {
    const run = new Run(number, event, seq, now, (of, spec) => this.#groupFor(of, spec));
    this.runs.set(number, run);
    this.#numbers.set(run.id, number);
    return run;
  }

  forget(run: Run): void {
    this.runs.delete(run.number);
    this.#numbers.delete(run.id);
  }

  /** An ended run needs no lanes; a group that nobody uses any more goes too. */
  closeLanes(run: Run): void {
    for (const { group } of run.lanes()) {
      group.lanes.delete(run.number);
      if (group.lanes.size === 0) this.#forgetGroup(group);
    }
  }

  offer(run: Run, node: number): void {
    const lane = run.laneOf(node);
    lane.group.add(lane, node);
  }

  withdraw(run: Run, node: number): void {
    const lane = run.laneOf(node);
    if (lane.has(node)) lane.group.remove(lane, node);
  }

  delay(run: Run, node: number, dueAt: number): void {
    this.#due.push({ key: taskKey(run.number, node), at: dueAt });
  }

  /** When the next delayed task is due. */
  nextDueAt(): number | undefined {
    for (let due = this.#due.peek(); due !== undefined; due = this.#due.peek()) {
      if (this.#isDelayed(due)) return due.at;
      this.#due.pop();
    }
    return undefined;
  }

  /** Puts what has become due among the ready; the tasks themselves stay as they are until assigned. */
  offerDue(now: number): void {
    for (let at = this.nextDueAt(); at !== undefined && at <= now; at = this.nextDueAt()) {
      const { key } = this.#due.pop() as Due;
      this.offer(this.run(runOfKey(key)), nodeOfKey(key));
    }
  }

  #isDelayed({ key, at }: Due): boolean {
    const run = this.runs.get(runOfKey(key));
    const node = nodeOfKey(key);
    return run?.status[node] === Status.delayed && run.since[node] === at && !run.laneOf(node).has(node);
  }

  #groupFor(run: Run, spec: number): Group {
    const task = run.graph.specs[spec] as TaskSpec;
    const made = new Group(task.priority, needsOf(task, run.zone));
    const known = this.groups.get(made.key);
    if (known) return known;
    this.groups.set(made.key, made);
    const needs = this.places.get(made.place) ?? new Map<string, number>();
    needs.set(made.needsKey, (needs.get(made.needsKey) ?? 0) + 1);
    this.places.set(made.place, needs);
    return made;
  }

  #forgetGroup(group: Group): void {
    this.groups.delete(group.key);
    const needs = this.places.get(group.place) as Map<string, number>;
    const left = (needs.get(group.needsKey) as number) - 1;
    if (left > 0) needs.set(group.needsKey, left);
    else needs.delete(group.needsKey);
    if (needs.size === 0) this.places.delete(group.place);
  }
}

export function needsOf(task: TaskSpec, zone: string): Needs {
  const { executor, capabilities, cpuMillicores, memoryBytes } = task;
  return { executor, zone, capabilities, cpuMillicores, memoryBytes };
}
