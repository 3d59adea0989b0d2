import { Heap } from "../core/index.ts";
import { limitsOf, type NodeSpec, type TaskSpec, wireGraph } from "../graph/index.ts";
import type { LedgerEvent } from "../ledger/index.ts";
import { DEFAULT_CONFIG, nextWakeAt, State, type Stimulus, step } from "../scheduler/index.ts";
import type { Problem } from "./problem.ts";
import type { Activity, Project } from "./project.ts";

/**
 * What the live scheduler would do: the scheduler itself decides, on a clock that jumps from one end to the next, with
 * one worker that has room for everything and a limit for each resource.
 *
 * What runs already is there twice: in a run of its own, which takes the resources before there are limits, and without
 * them among what is planned, so that others can wait for it.
 */
export class Online {
  readonly starts: Float64Array;
  makespan = 0;
  readonly #project: Project;
  readonly #problem: Problem;
  readonly #state = new State();
  /** The nodes of the planned run, which are in the order of submission. */
  readonly #nodes: readonly number[];
  readonly #ends = new Heap<Attempt>((a, b) => (a.endsAt - b.endsAt || a.run - b.run || a.node - b.node) < 0);

  constructor(project: Project, problem: Problem) {
    const { activity, size } = problem;
    this.#project = project;
    this.#problem = problem;
    this.starts = new Float64Array(size);
    this.#nodes = Array.from({ length: size }, (_, n) => n).sort(
      (a, b) => (activity[a] as number) - (activity[b] as number),
    );
  }

  /** Yields after every turn. What is ready for longer than the threshold rises. */
  *steps(starvationMs: number): Generator<void, void> {
    const { running } = this.#problem;
    const holders = Array.from({ length: running }, (_, n) => this.#nodeOf(n, [], true));
    this.#turn(0, [
      configured(this.#project, starvationMs),
      aWorker(this.#problem),
      ...submitted("running", holders),
    ]);
    const planned = this.#nodes.map((n) => this.#nodeOf(n, this.#needsOf(n), n >= running));
    this.#turn(0, [...limited(this.#problem), ...submitted("planned", planned)]);
    for (let next = this.#ends.peek(); next !== undefined; next = this.#ends.peek()) {
      const now = Math.min(next.endsAt, nextWakeAt(this.#state, this.makespan) ?? next.endsAt);
      this.#turn(now, this.#endingAt(now));
      this.makespan = now;
      yield;
    }
  }

  #endingAt(now: number): Stimulus[] {
    const reports: Stimulus[] = [];
    while (this.#ends.peek()?.endsAt === now) {
      const { endsAt: _, ...attempt } = this.#ends.pop() as Attempt;
      reports.push({ kind: "AttemptFinished", ...attempt, resultHash: "", resultBytes: 0 });
    }
    return reports;
  }

  #turn(now: number, stimuli: readonly Stimulus[]): void {
    step(this.#state, now, stimuli, (event) => this.#take(event, now));
  }

  #take(event: LedgerEvent, now: number): void {
    if (event.kind !== "TaskAssigned") return;
    const { run, node, attempt } = event;
    const isHolder = run === 0 && this.#problem.running > 0;
    const n = isHolder ? node : (this.#nodes[node] as number);
    if (!isHolder) this.starts[n] = now;
    this.#ends.push({
      run,
      node,
      attempt,
      startedAt: now,
      endsAt: now + (this.#problem.durations[n] as number),
    });
  }

  #nodeOf(n: number, needs: readonly string[], counts: boolean): NodeSpec {
    const { resources, demands, durations } = this.#problem;
    const amounts = resources.map((name, r) => [name, demands[n * resources.length + r] as number] as const);
    const { id, priority, risk } = this.#activityOf(n);
    const limits = limitsOf(new Map(counts ? amounts : []));
    const task = { ...TASK, ...limits, estimateMs: durations[n] as number, priority, risk };
    return { id, needs, task, requestHash: "", done: false };
  }

  #needsOf(n: number): string[] {
    const { start, targets } = this.#problem.needs;
    return Array.from(targets.subarray(start[n], start[n + 1]), (need) => this.#activityOf(need).id);
  }

  #activityOf(n: number): Activity {
    return this.#project.activities[this.#problem.activity[n] as number] as Activity;
  }
}

interface Attempt {
  readonly run: number;
  readonly node: number;
  readonly attempt: number;
  readonly startedAt: number;
  readonly endsAt: number;
}

const HERE = "plan";

const TASK: Omit<TaskSpec, "limits" | "amounts" | "estimateMs" | "priority" | "risk"> = {
  type: HERE,
  executor: HERE,
  cpuMillicores: 0,
  memoryBytes: 0,
  capabilities: [],
  maxAttempts: 1,
  backoffMs: 0,
  timeoutMs: 0,
  held: false,
  speculate: false,
};

/** Where units are no time, no wait is too long. */
function configured({ unit }: Project, starvationMs: number): Stimulus {
  const waits = { starveNodeMs: starvationMs, reserveAfterMs: DEFAULT_CONFIG.reserveAfterMs };
  const never = { starveNodeMs: Number.MAX_SAFE_INTEGER, reserveAfterMs: Number.MAX_SAFE_INTEGER };
  const config = { ...DEFAULT_CONFIG, ...(unit.name === "units" ? never : waits) };
  return { kind: "SchedulerConfigured", config };
}

function aWorker({ size, running }: Problem): Stimulus {
  const served = { zone: HERE, zones: [], executors: [HERE], capabilities: [] };
  const room = { cpuMillicores: 0, memoryBytes: 0, slots: size + running };
  return { kind: "WorkerRegistered", worker: { id: HERE, endpoint: "", ...served, ...room } };
}

function submitted(runId: string, nodes: readonly NodeSpec[]): Stimulus[] {
  if (nodes.length === 0) return [];
  const graph = wireGraph(nodes);
  const who = { agent: HERE, zone: HERE, onFailure: "continue" } as const;
  return [{ kind: "RunSubmitted", runId, name: "", ...who, graph }];
}

function limited({ resources, capacities }: Problem): Stimulus[] {
  return resources.map((name, r) => ({
    kind: "LimitConfigured",
    zone: HERE,
    name,
    concurrency: capacities[r] as number,
    rateCount: null,
    ratePeriodMs: 0,
  }));
}
