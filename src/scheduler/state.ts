import { type Specimens, violated } from "../core/index.ts";
import { type TaskSpec, taskSpecOf } from "../graph/index.ts";
import type { LimitConfigured, RunSubmitted, SchedulerConfig, TaskSubmitted } from "../ledger/index.ts";
import {
  Candidates,
  Fleet,
  type Needs,
  NO_RUN,
  nodeOfKey,
  runOfKey,
  type TaskKey,
  taskKey,
  type Worker,
} from "../placement/index.ts";
import {
  type CostWindow,
  Credits,
  FairShare,
  Limit,
  type LimitSnapshot,
  Line,
  NoLimit,
  SubmitRates,
} from "../queue/index.ts";
import { Accounts } from "./accounts.ts";
import type { Charge } from "./charges.ts";
import { DEFAULT_CONFIG, DEFAULT_STARVE_NODE_MS } from "./default-config.ts";
import { Group, groupKey, Pool, zonedKey } from "./group.ts";
import { Lane } from "./lane.ts";
import { isNeverSet, runningByName } from "./limits-in-use.ts";
import { alternativeSingle, ledgerTime, submittedSingle } from "./new-single.ts";
import { ResultCache } from "./result-cache.ts";
import type { Kept } from "./room.ts";
import { Run, type Watch } from "./run.ts";
import { Seekers } from "./seekers.ts";
import { SharedSpecs } from "./shared-specs.ts";
import { type AlternativeOf, type Single, Singles } from "./singles.ts";
import { Status } from "./status.ts";
import type { Tasks } from "./tasks.ts";
import { type Due, Timetable } from "./timetable.ts";
import { TASK_BYTES } from "./weights.ts";

/** What a rate without a period is counted in. */
export const DEFAULT_PERIOD_MS = 1000;

/** How many tasks of a zone have ended how. */
export interface ZoneTotals {
  completed: number;
  failed: number;
  cancelled: number;
}

/**
 * Everything that decisions depend on. Changed only by `apply`. Pools, groups, lines, seekers and the heaps of times
 * are indexes: they follow from the rest and are in no snapshot and no hash.
 */
export class State {
  config: SchedulerConfig = DEFAULT_CONFIG;
  /** The sequence of the last event, which is the logical time. */
  seq = 0;
  now = 0;
  /** The leader's time of day minus the ledger's time. The ledger's time only goes forward, and clocks may be set back. */
  clockOffsetMs = 0;
  readonly fleet: Fleet = new Fleet(DEFAULT_CONFIG);
  /** By number. Ended runs stay until there are too many. */
  readonly runs: Map<number, Run> = new Map();
  /** Those whose nodes hand data to each other. */
  readonly dataRuns: Set<Run> = new Set();
  readonly endedRuns: number[] = [];
  nextRun = 0;
  readonly singles: Singles = new Singles();
  nextTask = 0;
  /** Submissions refused so far. */
  refused = 0;
  shares: FairShare = new FairShare();
  readonly rates: SubmitRates = new SubmitRates();
  credits: Credits = new Credits();
  readonly costs: Map<string, CostWindow> = new Map();
  /** By zone and name: those that were set, or have a default, and that some group names. */
  readonly limits: Map<string, Limit> = new Map();
  /** By zone, the task that room is kept for under its limits; and of these, those for whom it is in this turn. */
  readonly roomFor: Map<string, TaskKey> = new Map();
  readonly kept: Map<string, Kept> = new Map();
  /** By zone, when room may be kept for a task again. */
  readonly roomAgainAt: Map<string, number> = new Map();
  /** Executors of a zone, and with "" whole zones. */
  readonly paused: Set<string> = new Set();
  readonly totals: Map<string, ZoneTotals> = new Map();
  /** Of attempts on workers, those that were recharged or wait for that. */
  readonly charges: Map<TaskKey, Charge> = new Map();

  readonly cache: ResultCache = new ResultCache();

  /** Sums of the work that agents and zones hold. They follow from the other fields, like the indexes below. */
  readonly accounts: Accounts = new Accounts();
  readonly pools: Map<string, Pool> = new Map();
  /** For each executor and zone how many pools there are. */
  readonly places: Map<string, number> = new Map();
  /** By number, runs with results that nobody needs any more, and those that wait for results of others; and nodes whose result may be known. */
  readonly withIdle: Set<number> = new Set();
  readonly withLinks: Set<number> = new Set();
  readonly seekers: Seekers = new Seekers();
  /** Reused by every decision; means nothing between two. */
  readonly candidates: Candidates = new Candidates();
  /** See `Specimens`. */
  readonly specimens: Specimens<"turn" | "contest" | "prospects"> = {};
  readonly specs: SharedSpecs = new SharedSpecs(this.accounts, (spec, zone, agent) =>
    this.groupFor(spec, zone, agent),
  );
  readonly #numbers = new Map<string, number>();
  readonly #limitUsers = new Map<string, number>();
  readonly #unlimited = new NoLimit();
  readonly #watch: Watch = {
    withIdle: this.withIdle,
    withLinks: this.withLinks,
    seekers: this.seekers,
    changed: [],
    afterMs: DEFAULT_STARVE_NODE_MS,
    liftAt: Number.POSITIVE_INFINITY,
  };
  readonly #due = new Timetable((due) => this.#isDelayed(due));
  /** Of tasks of no run. */
  readonly #deadlines = new Timetable((due) => this.#hasDeadline(due));

  /** Most of what is asked is asked of the same run as before. */
  #lastRun: Run | undefined;

  /** Tasks that have neither ended nor been given to a worker. */
  get backlog(): number {
    return this.accounts.waiting;
  }

  runById(id: string): Run | undefined {
    const number = this.#numbers.get(id);
    return number === undefined ? undefined : this.runs.get(number);
  }

  run(number: number): Run {
    if (this.#lastRun?.number === number) return this.#lastRun;
    const run = this.runs.get(number);
    if (!run) violated(`run ${number} is in the state`);
    this.#lastRun = run;
    return run;
  }

  tasks(run: number): Tasks {
    return run === NO_RUN ? this.singles : this.run(run);
  }

  /** Undefined where a number from outside names nothing. */
  tasksAt(run: number): Tasks | undefined {
    return run === NO_RUN ? this.singles : this.runs.get(run);
  }

  worker(number: number): Worker {
    const worker = this.fleet.workers[number];
    if (!worker) violated(`worker ${number} is in the state`);
    return worker;
  }

  /** A time of the ledger as the time of day that it is by the leader's clock. -1 means no time, and stays. */
  timeOfDay(at: number): number {
    return at < 0 ? at : at + this.clockOffsetMs;
  }

  /** A time of day, such as a worker reports, in the ledger's time. -1 means no time, and stays. */
  ledgerTime(timeOfDay: number): number {
    return ledgerTime(timeOfDay, this.clockOffsetMs);
  }

  /** Moves what users gave as times of day, so that it comes when the corrected clock says so. */
  correctClock(offsetMs: number): void {
    const laterMs = this.clockOffsetMs - offsetMs;
    this.clockOffsetMs = offsetMs;
    for (const single of this.singles.all.values()) this.#moveTimes(single, laterMs);
  }

  #moveTimes(single: Single, laterMs: number): void {
    const awaitsStart = single.status === Status.delayed && single.attempt === single.attemptsBefore;
    if (single.deadline < 0 && !awaitsStart) return;
    const wasOffered = single.offered;
    this.singles.withdraw(single.number);
    if (single.deadline >= 0) {
      single.deadline = Math.max(0, single.deadline + laterMs);
      this.watchDeadline(single);
    }
    if (awaitsStart) {
      single.since = Math.max(0, single.since + laterMs);
      single.readyAt = Math.max(single.submittedAt, single.since);
      this.delay(this.singles, single.number, single.since);
    } else if (wasOffered) this.singles.offer(single.number);
  }

  configure(config: SchedulerConfig): void {
    const { costWindowMs } = this.config;
    // A ledger from before there was a queue does not say how it is ordered.
    this.config = { ...DEFAULT_CONFIG, ...config };
    if (this.config.costWindowMs !== costWindowMs) {
      for (const [key, cost] of this.costs)
        this.costs.set(key, cost.resized(this.config.costWindowMs, this.now));
    }
    this.accounts.configure(this.config);
    this.fleet.configure(this.config);
    this.shares.configure(this.config.fairShare);
    const { submitRate = null, submitRatePeriodMs = DEFAULT_PERIOD_MS } = this.config;
    const rate = submitRate === null ? null : { count: submitRate, periodMs: submitRatePeriodMs };
    this.rates.configure(rate, this.now);
    for (const pool of this.pools.values()) {
      for (const group of pool.groups.values()) {
        const entries = [...group.line.entries()];
        group.line = new Line(this.config);
        for (const entry of entries) if (!(entry instanceof Lane)) group.line.add(entry);
      }
    }
    this.#configureLimits();
    this.#watch.afterMs = this.config.starveNodeMs ?? DEFAULT_STARVE_NODE_MS;
    this.#watch.liftAt = 0;
    for (const run of this.#openRuns()) for (const lane of run.lanes()) lane.rejoin();
  }

  /** Puts the ready nodes of each run into the order that they have now. It is the same until the next turn. */
  arrangeRuns(now: number): void {
    const { changed, afterMs } = this.#watch;
    for (const run of changed) if (run.outcome === undefined) run.findCritical();
    changed.length = 0;
    if (now < this.#watch.liftAt) return;
    this.#watch.liftAt = Number.POSITIVE_INFINITY;
    for (const run of this.#openRuns()) {
      for (const lane of run.lanes()) {
        if (lane.size > 0) this.#watch.liftAt = Math.min(this.#watch.liftAt, lane.lift(now, afterMs));
      }
    }
  }

  addRun(event: RunSubmitted, number: number, seq: number, now: number, knownRoot?: string): Run {
    const groupOf = (run: Run, spec: number) =>
      this.groupFor(run.graph.specs[spec] as TaskSpec, run.zone, run.agent);
    const rootId = knownRoot ?? (event.parent && this.runs.get(event.parent.run)?.rootId);
    const account = this.accounts.of(event.zone, zonedKey(event.zone, event.agent));
    const run = new Run(number, event, seq, now, groupOf, this.#watch, account, rootId);
    this.accounts.hold(account, run.bytes);
    this.runs.set(number, run);
    this.#numbers.set(run.id, number);
    if (run.data) this.dataRuns.add(run);
    for (const lane of run.lanes()) lane.group.members++;
    return run;
  }

  /** How many ended runs are remembered when this one ends: of one that was added, the result has still to be taken. */
  mostEnded({ parent }: Run): number {
    return Math.max(this.config.keepEndedRuns, parent ? 1 : 0);
  }

  /**
   * Returns the ended runs that are forgotten when this one ends, oldest first: one if there are too many, and as many as it
   * takes if they hold too much memory. A run that was added stays until its result is taken.
   */
  forgottenBy(ending: Run): Run[] {
    const { accounts, endedRuns } = this;
    const forgotten: Run[] = [];
    const next = () => {
      const number = endedRuns[forgotten.length];
      return number === undefined ? ending : this.run(number);
    };
    let bytes = accounts.endedBytes + ending.bytes;
    const most = endedRuns.length + (ending.parent ? 0 : 1);
    // Not more than one, as every ledger has it: a lower number in the configuration takes effect slowly.
    let isOneTooMany = endedRuns.length >= this.mostEnded(ending);
    while (isOneTooMany || (bytes > accounts.mostEndedBytes && forgotten.length < most)) {
      isOneTooMany = false;
      const run = next();
      bytes -= run.bytes;
      forgotten.push(run);
    }
    return forgotten;
  }

  forget(run: Run): void {
    this.accounts.endedBytes -= run.bytes;
    this.runs.delete(run.number);
    this.#lastRun = undefined;
    this.#numbers.delete(run.id);
    this.dataRuns.delete(run);
    this.withIdle.delete(run.number);
    this.withLinks.delete(run.number);
  }

  /** An ended run needs no lanes; a group that nobody uses any more goes too. */
  retire(run: Run): void {
    for (const { group } of run.lanes()) this.#leaveGroup(group);
    this.accounts.release(run.account, run.bytes);
    this.accounts.endedBytes += run.bytes;
  }

  addSingle(event: TaskSubmitted, number: number, seq: number, now: number): Single {
    const { spec, group } = this.specs.use(taskSpecOf(event.spec), event.zone, event.agent);
    const place = { number, seq, now, spec, group };
    const single = submittedSingle(event, place, this.config, this.clockOffsetMs);
    this.adoptSingle(single);
    return single;
  }

  addAlternative(of: AlternativeOf, number: number, seq: number, now: number): Single {
    const run = this.run(of.run);
    const { spec, group } = this.specs.use(run.taskOf(of.node), run.zone, run.agent);
    const single = alternativeSingle(of, run, { number, seq, now, spec, group });
    this.adoptSingle(single);
    return single;
  }

  /** Takes in a task as it is, for instance from a snapshot. */
  adoptSingle(single: Single): void {
    this.singles.add(single);
    single.group.members++;
    this.accounts.hold(single.group.account, TASK_BYTES);
    if (single.deadline >= 0) {
      this.#deadlines.add({ key: taskKey(NO_RUN, single.number), at: single.deadline });
    }
  }

  forgetSingle(single: Single): void {
    this.singles.delete(single);
    this.accounts.release(single.group.account, TASK_BYTES);
    this.specs.leave(single.spec, single.group);
    this.#leaveGroup(single.group);
  }

  delay(tasks: Tasks, node: number, dueAt: number): void {
    this.#due.add({ key: taskKey(tasks.number, node), at: dueAt });
  }

  /** When the next delayed task is due. */
  nextDueAt(): number | undefined {
    return this.#due.next()?.at;
  }

  /** Puts what has become due among the ready; the tasks themselves stay as they are until assigned. */
  offerDue(now: number): void {
    for (let at = this.nextDueAt(); at !== undefined && at <= now; at = this.nextDueAt()) {
      const { key } = this.#due.take() as Due;
      this.tasks(runOfKey(key)).offer(nodeOfKey(key));
    }
  }

  /** When the next deadline of a task that waits passes. */
  nextDeadline(): number | undefined {
    return this.#deadlines.next()?.at;
  }

  /** A task that came back waits under its deadline again. */
  watchDeadline(single: Single): void {
    if (single.deadline >= 0)
      this.#deadlines.add({ key: taskKey(NO_RUN, single.number), at: single.deadline });
  }

  /** The task whose deadline is the next to pass. */
  nextToExpire(): Single | undefined {
    const due = this.#deadlines.next();
    return due && this.singles.all.get(nodeOfKey(due.key));
  }

  /** Neither a worker nor room under its limits is kept for it any more. */
  unreserve(tasks: Tasks, node: number): void {
    const key = taskKey(tasks.number, node);
    this.fleet.unreserve(key);
    if (this.roomFor.size === 0) return;
    const zone = tasks.zoneOf(node);
    if (this.roomFor.get(zone) !== key) return;
    this.roomFor.delete(zone);
    this.kept.delete(zone);
  }

  totalsOf(zone: string): ZoneTotals {
    let totals = this.totals.get(zone);
    if (!totals) {
      totals = { completed: 0, failed: 0, cancelled: 0 };
      this.totals.set(zone, totals);
    }
    return totals;
  }

  /** The limit of that name; one that never binds if nobody configured it. */
  limit(zone: string, name: string): Limit {
    return this.limits.get(zonedKey(zone, name)) ?? this.#unlimited;
  }

  /** Sets a limit. If nobody had set it, the running tasks that name it are counted now. */
  configureLimit(event: LimitConfigured, now: number): void {
    const { zone, name } = event;
    const key = zonedKey(zone, name);
    const limit = this.limits.get(key) ?? this.#makeLimit(zone, name, key);
    limit.configure(event, now);
    if (!limit.isConfigured && !this.#limitUsers.has(key)) this.limits.delete(key);
  }

  /** Takes in a limit from a snapshot, unless nobody ever configured it. */
  restoreLimit(key: string, saved: LimitSnapshot): void {
    const [, name] = JSON.parse(key) as [zone: string, name: string];
    if (isNeverSet(saved) && this.capacityOf(name) === null) return;
    const limit = Limit.restore(saved);
    limit.byDefault = this.capacityOf(name);
    this.limits.set(key, limit);
  }

  /** What the configuration says of a limit; null: nothing. Names come from outside, and "constructor" is one. */
  capacityOf(name: string): number | null {
    const { resources = {} } = this.config;
    return Object.hasOwn(resources, name) ? (resources[name] as number) : null;
  }

  groupFor(task: TaskSpec, zone: string, agent: string): Group {
    const made = new Pool(needsOf(task, zone));
    const pool = this.pools.get(made.key) ?? made;
    if (pool === made) {
      this.pools.set(made.key, made);
      this.places.set(made.place, (this.places.get(made.place) ?? 0) + 1);
    }
    const known = pool.groups.get(groupKey(agent, task.limits, task.amounts));
    if (known) return known;
    const limits = task.limits.map((name) => this.#useLimit(zone, name));
    const accountOf = (zone: string, key: string) => this.accounts.of(zone, key);
    const group = new Group(pool, agent, task, limits, accountOf, this.config);
    pool.groups.set(group.key, group);
    this.accounts.hold(group.account, group.bytes);
    return group;
  }

  *#openRuns(): Generator<Run> {
    for (const run of this.runs.values()) if (run.outcome === undefined) yield run;
  }

  /** What is given out may come back; its deadline is put there again then. */
  #hasDeadline({ key, at }: Due): boolean {
    const single = this.singles.all.get(nodeOfKey(key));
    if (single?.deadline !== at) return false;
    return single.status === Status.ready || single.status === Status.delayed;
  }

  #isDelayed({ key, at }: Due): boolean {
    const tasks = this.tasksAt(runOfKey(key));
    const node = nodeOfKey(key);
    if (!tasks?.has(node)) return false;
    return tasks.statusOf(node) === Status.delayed && tasks.sinceOf(node) === at && !tasks.isOffered(node);
  }

  #leaveGroup(group: Group): void {
    if (--group.members > 0) return;
    const { pool } = group;
    group.isForgotten = true;
    pool.groups.delete(group.key);
    this.accounts.release(group.account, group.bytes);
    for (const [at, name] of group.limitNames.entries()) {
      if (group.limits[at] !== this.#unlimited) this.#leaveLimit(zonedKey(group.zone, name));
    }
    if (pool.groups.size > 0) return;
    this.pools.delete(pool.key);
    const left = (this.places.get(pool.place) as number) - 1;
    if (left > 0) this.places.set(pool.place, left);
    else this.places.delete(pool.place);
  }

  /** Gives tasks a limit that they name. Names that nobody configured share one that never binds: anybody can make up names. */
  #useLimit(zone: string, name: string): Limit {
    const key = zonedKey(zone, name);
    let limit = this.limits.get(key);
    if (!limit) {
      if (this.capacityOf(name) === null) return this.#unlimited;
      limit = new Limit();
      limit.byDefault = this.capacityOf(name);
      this.limits.set(key, limit);
    }
    this.#limitUsers.set(key, (this.#limitUsers.get(key) ?? 0) + 1);
    return limit;
  }

  /** Deletes a limit that nobody set and no group names. While a snapshot is read, groups of what runs under it may still come. */
  #leaveLimit(key: string): void {
    const users = (this.#limitUsers.get(key) ?? 0) - 1;
    if (users > 0) {
      this.#limitUsers.set(key, users);
      return;
    }
    this.#limitUsers.delete(key);
    const limit = this.limits.get(key);
    if (limit && !limit.isConfigured && limit.running === 0) this.limits.delete(key);
  }

  /** Makes a limit for a name that has had none, and counts what runs under that name. */
  #makeLimit(zone: string, name: string, key: string): Limit {
    const limit = new Limit();
    limit.byDefault = this.capacityOf(name);
    this.limits.set(key, limit);
    let users = 0;
    for (const pool of this.pools.values()) {
      if (pool.demand.needs.zone !== zone) continue;
      for (const { limitNames, limits } of pool.groups.values()) {
        const at = limitNames.indexOf(name);
        if (at === -1) continue;
        limits[at] = limit;
        users++;
      }
    }
    if (users === 0) return limit;
    this.#limitUsers.set(key, users);
    const running = runningByName(this).get(key) ?? 0;
    if (running > 0) limit.start(this.now, running);
    return limit;
  }

  /** Names may have got a default, or lost it. */
  #configureLimits(): void {
    for (const [key, limit] of this.limits) {
      const [, name] = JSON.parse(key) as [zone: string, name: string];
      limit.byDefault = this.capacityOf(name);
    }
    const zones = new Set(Array.from(this.pools.values(), ({ demand }) => demand.needs.zone));
    for (const name of Object.keys(this.config.resources ?? {})) {
      for (const zone of zones) {
        const key = zonedKey(zone, name);
        if (!this.limits.has(key)) this.#makeLimit(zone, name, key);
        if (!this.#limitUsers.has(key) && !this.limits.get(key)?.isConfigured) this.limits.delete(key);
      }
    }
  }
}

export function needsOf(task: TaskSpec, zone: string): Needs {
  const { executor, capabilities, cpuMillicores, memoryBytes, io } = task;
  return { executor, zone, capabilities, cpuMillicores, memoryBytes, ...(io && { io }) };
}
