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
 * them among what is planned, so that others can wait for it. What has been ready for some time needs a gate, which opens
 * that long before the plan begins.
 */
export class Online {
  readonly starts: Float64Array;
  makespan = 0;
  readonly #project: Project;
  readonly #problem: Problem;
  readonly #state = new State();
  /** Of the last turn: a state does not know of one in which nothing was decided. */
  #now = 0;
  /** The nodes of the planned run, which are in the order of submission. */
  readonly #nodes: readonly number[];
  /** For how long something has been ready when the plan begins, the longest first; none where nobody knows. */
  readonly #ages: readonly number[];
  readonly #beginsAt: number;
  readonly #tasks = new Map<string, TaskSpec>();
  readonly #ends = new Heap<Attempt>((a, b) => (a.endsAt - b.endsAt || a.run - b.run || a.node - b.node) < 0);

  constructor(project: Project, problem: Problem) {
    const { activity, size } = problem;
    this.#project = project;
    this.#problem = problem;
    this.starts = new Float64Array(size);
    this.#nodes = Array.from({ length: size }, (_, n) => n).sort(
      (a, b) => (activity[a] as number) - (activity[b] as number),
    );
    const ages = this.#nodes.filter((n) => this.#isFirst(n)).map((n) => this.#ageOf(n));
    this.#ages = ages.some((age) => age > 0) ? [...new Set(ages)].sort((a, b) => b - a) : [];
    this.#beginsAt = this.#ages[0] ?? 0;
  }

  /** Yields after every turn. What is ready for longer than the threshold rises. */
  *steps(starvationMs: number): Generator<void, void> {
    const { running, size } = this.#problem;
    const holders = Array.from({ length: running }, (_, n) => this.#nodeOf(n, [], BEFORE));
    const config = configured(this.#project, starvationMs);
    this.#turn(0, [config, aWorker(BEFORE, running + this.#ages.length), ...submitted("running", holders)]);
    this.#turn(0, [...limited(this.#problem), ...submitted("planned", this.#planned())]);
    while ((this.#ends.peek()?.endsAt ?? Number.POSITIVE_INFINITY) <= this.#beginsAt) this.#advance();
    this.#turn(this.#beginsAt, [aWorker(HERE, size)]);
    while (this.#ends.size > 0) {
      this.#advance();
      yield;
    }
  }

  /** To the next time at which something ends, or could be decided. */
  #advance(): void {
    const next = this.#ends.peek()?.endsAt ?? this.#now;
    const now = Math.min(next, nextWakeAt(this.#state, this.#now) ?? next);
    this.#turn(now, this.#endingAt(now));
    this.makespan = now - this.#beginsAt;
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
    this.#now = now;
    step(this.#state, now, stimuli, (event) => this.#take(event, now));
  }

  #take(event: LedgerEvent, now: number): void {
    if (event.kind !== "TaskAssigned") return;
    const { run, node, attempt } = event;
    const { durations, running, size } = this.#problem;
    const isHolder = run === 0 && running > 0;
    const n = isHolder ? node : (this.#nodes[node] as number);
    if (!isHolder && node < size) this.starts[n] = now - this.#beginsAt;
    const begins = Math.max(now, this.#beginsAt);
    const endsAt =
      isHolder || node < size
        ? begins + (durations[n] as number)
        : begins - (this.#ages[node - size] as number);
    this.#ends.push({ run, node, attempt, startedAt: now, endsAt });
  }

  #planned(): NodeSpec[] {
    const { needs, running } = this.#problem;
    const gateOf = gateNames(this.#project, this.#ages);
    const nodes = this.#nodes.map((n) => {
      const ids = Array.from(
        needs.targets.subarray(needs.start[n], needs.start[n + 1]),
        (need) => this.#activityOf(need).id,
      );
      const gate = this.#isFirst(n) ? gateOf.get(this.#ageOf(n)) : undefined;
      return this.#nodeOf(n, gate === undefined ? ids : [gate], n < running ? undefined : HERE);
    });
    const gates = [...gateOf.values()].map((id) => ({
      id,
      needs: [],
      task: GATE,
      requestHash: "",
      done: false,
    }));
    return [...nodes, ...gates];
  }

  /** `counts` says who runs it where it counts towards the limits; what does not is run here. */
  #nodeOf(n: number, needs: readonly string[], counts: string | undefined): NodeSpec {
    return { id: this.#activityOf(n).id, needs, task: this.#taskOf(n, counts), requestHash: "", done: false };
  }

  /** Equal ones are one object: a graph is put together in half the time. */
  #taskOf(n: number, counts: string | undefined): TaskSpec {
    const { resources, demands, durations } = this.#problem;
    const { priority, risk } = this.#activityOf(n);
    const estimateMs = durations[n] as number;
    const wanted =
      counts === undefined ? [] : demands.subarray(n * resources.length, (n + 1) * resources.length);
    const text = [counts, estimateMs, priority, risk, ...wanted].join(" ");
    const known = this.#tasks.get(text);
    if (known) return known;
    const limits = limitsOf(new Map(Array.from(wanted, (amount, r) => [resources[r] as string, amount])));
    const task = { ...TASK, ...limits, executor: counts ?? HERE, estimateMs, priority, risk };
    this.#tasks.set(text, task);
    return task;
  }

  /** It is ready when the plan begins. */
  #isFirst(n: number): boolean {
    const { needs, running } = this.#problem;
    return n >= running && needs.start[n] === needs.start[n + 1];
  }

  #ageOf(n: number): number {
    return this.#project.unit.name === "units" ? 0 : (this.#activityOf(n).readyForMs ?? 0);
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

/** Who runs what is planned, and who runs what was before. */
const HERE = "plan";
const BEFORE = "before";

const TASK: Omit<TaskSpec, "executor" | "limits" | "amounts" | "estimateMs" | "priority" | "risk"> = {
  type: HERE,
  cpuMillicores: 0,
  memoryBytes: 0,
  capabilities: [],
  maxAttempts: 1,
  backoffMs: 0,
  timeoutMs: 0,
  held: false,
  speculate: false,
  budget: [],
};

const GATE: TaskSpec = {
  ...TASK,
  ...{ executor: BEFORE, limits: [], amounts: [], estimateMs: 0, priority: 2, risk: "medium" },
};

/** By age. No activity has such a name. */
function gateNames({ activities }: Project, ages: readonly number[]): Map<number, string> {
  let mark = "gate";
  while (activities.some(({ id }) => id.startsWith(mark))) mark += "+";
  return new Map(ages.map((age) => [age, `${mark} ${age}`]));
}

/** Where units are no time, no wait is too long. */
function configured({ unit }: Project, starvationMs: number): Stimulus {
  const waits = { starveNodeMs: starvationMs, reserveAfterMs: DEFAULT_CONFIG.reserveAfterMs };
  const never = { starveNodeMs: Number.MAX_SAFE_INTEGER, reserveAfterMs: Number.MAX_SAFE_INTEGER };
  const config = { ...DEFAULT_CONFIG, ...(unit.name === "units" ? never : waits) };
  return { kind: "SchedulerConfigured", config };
}

function aWorker(executor: string, slots: number): Stimulus {
  const served = { zone: HERE, zones: [], executors: [executor], capabilities: [] };
  const room = { cpuMillicores: 0, memoryBytes: 0, slots: Math.max(1, slots) };
  return { kind: "WorkerRegistered", worker: { id: executor, endpoint: "", ...served, ...room } };
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
