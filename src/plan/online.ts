import { Heap } from "../core/index.ts";
import {
  limitsOf,
  type NodeSpec,
  type SpeculationSettings,
  speculationTag,
  type TaskSpec,
  wireGraph,
} from "../graph/index.ts";
import type { LedgerEvent, TaskSpeculated } from "../ledger/index.ts";
import { NO_RUN } from "../placement/index.ts";
import { DEFAULT_CONFIG, nextWakeAt, State, type Stimulus, step } from "../scheduler/index.ts";
import type { Problem } from "./problem.ts";
import type { Activity, Project } from "./project.ts";
import { SLOTS, type Speculated } from "./speculated.ts";

/**
 * What the live scheduler would do: the scheduler itself decides, on a clock that jumps from one end to the next, with
 * one worker that has room for everything and a limit for each resource.
 *
 * What runs already is there twice: in a run of its own, which takes the resources before there are limits, and without
 * them among what is planned, so that others can wait for it. What has been ready for some time needs a gate, which opens
 * that long before the plan begins.
 *
 * Where nodes may be tried in several alternatives, the workers have the free slots only, since the scheduler counts these;
 * for each that ends of what runs already there is one more. Alternatives take as long as their node, and agree.
 */
export class Online {
  readonly starts: Float64Array;
  makespan = 0;
  /** In the order in which they began. */
  readonly speculated: Speculated[] = [];
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
  /** The node of each alternative, by its number among the tasks of no run. */
  readonly #nodeTried = new Map<number, number>();
  /** How many slots may be given to the workers; what runs already may have more than there are. */
  #freeSlots = Number.POSITIVE_INFINITY;
  #workers = 0;
  #hasFewSlots = false;
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
  *steps(starvationMs: number, speculation?: SpeculationSettings): Generator<void, void> {
    const { running, size } = this.#problem;
    const holders = Array.from({ length: running }, (_, n) => this.#nodeOf(n, [], BEFORE));
    const config = configured(this.#project, starvationMs);
    this.#turn(0, [config, aWorker(BEFORE, running + this.#ages.length), ...submitted("running", holders)]);
    this.#hasFewSlots = speculation !== undefined && this.#problem.resources.includes(SLOTS);
    this.#turn(0, [...limited(this.#problem), ...submitted("planned", this.#planned())]);
    while ((this.#ends.peek()?.endsAt ?? Number.POSITIVE_INFINITY) <= this.#beginsAt) this.#advance();
    if (running > 0) this.#turn(this.#beginsAt, [aWorker(BEGUN, running)]);
    this.#turn(this.#beginsAt, speculation ? this.#speculating(config, speculation) : [aWorker(HERE, size)]);
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
      if (this.#isHolder(attempt.run)) reports.push(...this.#freed(this.#slotsOf(attempt.node)));
    }
    return reports;
  }

  /** Nothing waits at a worker for another, so that what is free is what nobody runs. */
  #speculating(config: Configured, speculation: SpeculationSettings): Stimulus[] {
    const { running, resources, capacities, size } = this.#problem;
    const slots = resources.indexOf(SLOTS);
    const configured = { ...config, config: { ...config.config, speculation, maxQueuePerWorker: 0 } };
    if (slots === -1) return [configured, aWorker(HERE, size * speculation.maxParallelism)];
    const slotless = aWorker(SLOTLESS, size * speculation.maxParallelism);
    const taken = Array.from({ length: running }, (_, n) => this.#slotsOf(n)).reduce((a, b) => a + b, 0);
    this.#freeSlots = -taken;
    return [configured, slotless, ...this.#freed(capacities[slots] as number)];
  }

  #freed(slots: number): Stimulus[] {
    this.#freeSlots += slots;
    if (!Number.isFinite(this.#freeSlots) || this.#freeSlots <= 0) return [];
    const more = aWorker(HERE, this.#freeSlots, `${HERE} ${this.#workers++}`);
    this.#freeSlots = 0;
    return [more];
  }

  #slotsOf(n: number): number {
    return this.#activityOf(n).uses[SLOTS] ?? 0;
  }

  #isHolder(run: number): boolean {
    return run === 0 && this.#problem.running > 0;
  }

  #turn(now: number, stimuli: readonly Stimulus[]): void {
    this.#now = now;
    step(this.#state, now, stimuli, (event) => this.#take(event, now));
  }

  #take(event: LedgerEvent, now: number): void {
    if (event.kind === "TaskSpeculated") this.#speculate(event);
    if (event.kind !== "TaskAssigned") return;
    const { run, attempt } = event;
    const node = run === NO_RUN ? (this.#nodeTried.get(event.node) as number) : event.node;
    const { durations, size } = this.#problem;
    const isHolder = this.#isHolder(run);
    const n = isHolder ? node : (this.#nodes[node] as number);
    if (!isHolder && node < size) this.starts[n] = now - this.#beginsAt;
    const begins = Math.max(now, this.#beginsAt);
    const endsAt =
      isHolder || node < size
        ? begins + (durations[n] as number)
        : begins - (this.#ages[node - size] as number);
    this.#ends.push({ run, node: event.node, attempt, startedAt: now, endsAt });
  }

  #speculate({ node, first, count, because }: TaskSpeculated): void {
    const { id } = this.#activityOf(this.#nodes[node] as number);
    const tags = Array.from({ length: count }, (_, at) => speculationTag(at));
    for (let at = 0; at < count; at++) this.#nodeTried.set(first + at, node);
    this.speculated.push({ id, because, tags });
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
      return this.#nodeOf(n, gate === undefined ? ids : [gate], n < running ? undefined : this.#runnerOf(n));
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

  /** What takes no slot is run by nobody who has only so many. */
  #runnerOf(n: number): string {
    return this.#hasFewSlots && this.#slotsOf(n) === 0 ? SLOTLESS : HERE;
  }

  /** `counts` says who runs it where it counts towards the limits; what does not runs already. */
  #nodeOf(n: number, needs: readonly string[], counts: string | undefined): NodeSpec {
    return { id: this.#activityOf(n).id, needs, task: this.#taskOf(n, counts), requestHash: "", done: false };
  }

  /** Equal ones are one object: a graph is put together in half the time. */
  #taskOf(n: number, counts: string | undefined): TaskSpec {
    const { resources, demands, durations } = this.#problem;
    const { priority, risk, speculate } = this.#activityOf(n);
    const estimateMs = durations[n] as number;
    const wanted =
      counts === undefined ? [] : demands.subarray(n * resources.length, (n + 1) * resources.length);
    const text = [counts, estimateMs, priority, risk, speculate, ...wanted].join(" ");
    const known = this.#tasks.get(text);
    if (known) return known;
    const limits = limitsOf(new Map(Array.from(wanted, (amount, r) => [resources[r] as string, amount])));
    const task = { ...TASK, ...limits, executor: counts ?? BEGUN, estimateMs, priority, risk, speculate };
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

/** Who runs what is planned, what of that takes no slots, what was before, and what others wait for of that. */
const HERE = "plan";
const SLOTLESS = "slotless";
const BEFORE = "before";
const BEGUN = "begun";

type Varying = "executor" | "limits" | "amounts" | "estimateMs" | "priority" | "risk" | "speculate";

const TASK: Omit<TaskSpec, Varying> = {
  type: HERE,
  cpuMillicores: 0,
  memoryBytes: 0,
  capabilities: [],
  maxAttempts: 1,
  backoffMs: 0,
  timeoutMs: 0,
  held: false,
  budget: [],
};

const GATE: TaskSpec = {
  ...TASK,
  ...{
    executor: BEFORE,
    limits: [],
    amounts: [],
    estimateMs: 0,
    priority: 2,
    risk: "medium",
    speculate: false,
  },
};

/** By age. No activity has such a name. */
function gateNames({ activities }: Project, ages: readonly number[]): Map<number, string> {
  let mark = "gate";
  while (activities.some(({ id }) => id.startsWith(mark))) mark += "+";
  return new Map(ages.map((age) => [age, `${mark} ${age}`]));
}

type Configured = Extract<Stimulus, { kind: "SchedulerConfigured" }>;

/** Where units are no time, no wait is too long. */
function configured({ unit }: Project, starvationMs: number): Configured {
  const waits = { starveNodeMs: starvationMs, reserveAfterMs: DEFAULT_CONFIG.reserveAfterMs };
  const never = { starveNodeMs: Number.MAX_SAFE_INTEGER, reserveAfterMs: Number.MAX_SAFE_INTEGER };
  const config = { ...DEFAULT_CONFIG, ...(unit.name === "units" ? never : waits) };
  return { kind: "SchedulerConfigured", config };
}

function aWorker(executor: string, slots: number, id = executor): Stimulus {
  const served = { zone: HERE, zones: [], executors: [executor], capabilities: [] };
  const room = { cpuMillicores: 0, memoryBytes: 0, slots: Math.max(1, slots) };
  return { kind: "WorkerRegistered", worker: { id, endpoint: "", ...served, ...room } };
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
