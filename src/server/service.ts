import { taskIdOf } from "../core/index.ts";
import type { Attachment, Driver, Fact } from "../driver/index.ts";
import { type Census, census, type Run, type State, Status } from "../scheduler/index.ts";
import {
  type ListCursor,
  type LogLine,
  newId,
  type RowStatus,
  type RunRow,
  type ServiceStore,
  type TaskLine,
  type TaskRow,
} from "../store/index.ts";
import type { Webhooks } from "../webhooks/index.ts";
import type {
  AgentLimit,
  AgentView,
  Api,
  Caller,
  EventsFrom,
  Explanation,
  LimitSetting,
  LimitView,
  ListFilter,
  Metrics,
  NodeResult,
  Overview,
  Page,
  Refusal,
  RunPlanView,
  RunSubmission,
  RunView,
  StreamEvent,
  Submitted,
  TaskLineView,
  TaskSubmission,
  TaskView,
  WorkerView,
} from "./api.ts";
import type { DataTerms } from "./data-terms.ts";
import { EndedTasks } from "./ended-tasks.ts";
import type { EventStream } from "./event-stream.ts";
import { explanationOf, type LastAssignments } from "./explanation.ts";
import type { Gateway } from "./gateway.ts";
import { LedgerCheck, type LedgerStanding } from "./ledger-check.ts";
import {
  budgetOf,
  isOpen,
  isVisible,
  locate,
  overlay,
  rechargeOf,
  speculationOf,
  tierOf,
} from "./live-task.ts";
import { explainEscalated } from "./no-winner.ts";
import { NodeResults } from "./node-results.ts";
import { overviewOf } from "./overview.ts";
import { Paced } from "./paced.ts";
import type { RecentActivity } from "./recent-activity.ts";
import { refusal, refusalOf } from "./refusals.ts";
import { forecast, remainingOf } from "./run-plan.ts";
import { SharedPlans } from "./shared-plans.ts";
import { agentConfigured, requeueOf, runStimulus } from "./stimuli.ts";
import { stuckNodes } from "./stuck-nodes.ts";
import { Submissions } from "./submissions.ts";
import { cursorOf, TaskLists } from "./task-lists.ts";
import { TaskSearches } from "./task-searches.ts";
import type { Traces } from "./traces.ts";
import { agentViewOf, agentViews, limitsOf, limitView, metricsOf, workersOf } from "./zone-views.ts";

export interface ServiceOptions {
  readonly driver: Driver;
  readonly store: ServiceStore;
  readonly gateway: Gateway;
  readonly stream: EventStream;
  readonly assignments: LastAssignments;
  readonly recent: RecentActivity;
  readonly webhooks: Pick<Webhooks, "follow">;
  readonly traces: Traces;
  readonly data: DataTerms;
}

/** How often a task is looked at whose row and state do not agree. */
const MAX_LOOKS = 5;

/** What callers can do, on the driver and its rows. */
export class Service implements Api {
  readonly #driver: Driver;
  readonly #store: ServiceStore;
  readonly #gateway: Gateway;
  readonly #stream: EventStream;
  readonly #assignments: LastAssignments;
  readonly #recent: RecentActivity;
  readonly #webhooks: ServiceOptions["webhooks"];
  readonly #traces: Traces;
  readonly #ended = new EndedTasks();
  readonly #counted = new Paced<Census>();
  readonly #plans = new SharedPlans<RunPlanView>(() => performance.now());
  readonly #results: NodeResults;
  readonly #lists: TaskLists;
  readonly #ledgerCheck: LedgerCheck;
  readonly #searches: TaskSearches;
  readonly #submissions: Submissions;

  constructor(options: ServiceOptions) {
    const { driver, store, gateway, stream, assignments, recent, webhooks, traces, data } = options;
    this.#driver = driver;
    this.#store = store;
    this.#gateway = gateway;
    this.#stream = stream;
    this.#assignments = assignments;
    this.#recent = recent;
    this.#webhooks = webhooks;
    this.#traces = traces;
    this.#results = new NodeResults(driver, store, data);
    this.#lists = new TaskLists(driver, store);
    this.#ledgerCheck = new LedgerCheck(store);
    this.#searches = new TaskSearches(driver, store, this.#lists);
    this.#submissions = new Submissions(driver, traces, (caller, id) => this.task(caller, id));
  }

  /** What a committed turn means to those who wait for a task. */
  letOut(facts: readonly Fact[]): void {
    this.#ended.follow(facts);
  }

  submit(caller: Caller, submissions: readonly TaskSubmission[]): Promise<readonly Submitted[]> {
    return this.#submissions.submit(caller, submissions);
  }

  async task(caller: Caller, id: string): Promise<TaskView | undefined> {
    const row = await this.#find(id);
    return row && isVisible(caller, row) ? await this.#view(row) : undefined;
  }

  async waitForTask(
    caller: Caller,
    id: string,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<TaskView | undefined> {
    return await this.#ended.untilEnded(id, { waitMs, signal }, async () => {
      const task = await this.task(caller, id);
      return { found: task, isOpen: task !== undefined && isOpen(task.status) };
    });
  }

  tasks(
    caller: Caller,
    filter: ListFilter,
    after: ListCursor | undefined,
    limit: number,
  ): Promise<Page<TaskLineView>> {
    const { type, executor, priorityClass, waitedMs } = filter;
    const isIndexed = [type, executor, priorityClass, waitedMs].every((one) => one === undefined);
    return (isIndexed ? this.#lists : this.#searches).page(caller, filter, after, limit);
  }

  countTasks(caller: Caller, filter: ListFilter, after: ListCursor | undefined) {
    return this.#searches.count(caller, filter, after);
  }

  async history(caller: Caller, id: string): Promise<readonly StreamEvent[] | undefined> {
    const row = await this.#store.task(id);
    return row && isVisible(caller, row) ? this.#stream.historyOf(id) : undefined;
  }

  async cancel(caller: Caller, id: string): Promise<boolean> {
    const single = await this.#driver.read((state) => locate(state, { id, run: undefined }));
    const row = single ? undefined : await this.#store.task(id);
    const place = row ? await this.#driver.read((state) => locate(state, row)) : single;
    if (!place || !isVisible(caller, place) || place.isCancelling) return false;
    const { run, node } = place;
    return (await this.#driver.submit({ kind: "CancelRequested", run, node })).accepted;
  }

  async retry(caller: Caller, id: string): Promise<TaskView | Refusal | undefined> {
    const task = await this.task(caller, id);
    if (!task) return undefined;
    if (task.run) return refusal("part-of-a-run", "it is part of a run; submit the run again");
    if (task.status !== "failed" && task.status !== "cancelled") {
      return refusal("not-ended", `it is ${task.status}; only a failed or cancelled task can be tried again`);
    }
    // Its row is all that is left of how it ended.
    await this.#webhooks.follow();
    this.#traces.keepFrom(id, task.settings);
    const attached: Attachment = { type: "requeue", taskId: id, seq: task.seq };
    const answer = await this.#driver.submit(requeueOf(task), attached);
    // Somebody else was faster: what they did is what was asked for.
    if (answer.accepted || answer.code === "duplicate-task") return this.task(caller, id);
    return refusalOf(answer, this.#driver.now());
  }

  async recharge(
    caller: Caller,
    id: string,
    amounts: readonly number[],
  ): Promise<TaskView | Refusal | undefined> {
    const task = await this.task(caller, id);
    if (!task) return undefined;
    if (!task.budget)
      return refusal("no-budget", "it was submitted without a budget, and uses what it likes");
    if (task.status !== "running")
      return refusal("not-running", `it is ${task.status}; only a running task can be recharged`);
    const answer = await this.#driver.submit(
      await this.#driver.read((state) => rechargeOf(state, task, amounts)),
    );
    if (!answer.accepted) return refusal("not-running", "its attempt has ended meanwhile");
    return this.task(caller, id);
  }

  async why(caller: Caller, id: string): Promise<Explanation | undefined> {
    const task = await this.task(caller, id);
    if (!task) return undefined;
    return await this.#look((state, now) => explanationOf(state, caller, task, this.#assignments, now));
  }

  async log(
    caller: Caller,
    id: string,
    afterLine: number,
    limit: number,
  ): Promise<readonly LogLine[] | undefined> {
    const row = await this.#store.task(id);
    return row && isVisible(caller, row) ? await this.#store.logs(id, afterLine, limit) : undefined;
  }

  metrics(caller: Caller): Promise<Metrics> {
    return this.#look((state, now) => {
      const counted = this.#counted.of(caller.zone, () => census(state, caller.zone, now));
      return metricsOf(state, caller, now, counted, this.#store.backend);
    });
  }

  overview(caller: Caller): Promise<Overview> {
    return this.#look((state, now) => overviewOf(state, caller, now, this.#recent));
  }

  async submitRun(caller: Caller, submission: RunSubmission): Promise<RunView | Refusal> {
    const { id: runId = newId(), trace } = submission;
    if (await this.#store.run(runId)) return refusal("duplicate-run", `there is a run with the id ${runId}`);
    if (trace) this.#traces.keep(runId, trace);
    const { stimulus, attached } = runStimulus(caller, runId, submission);
    const answer = await this.#driver.submit(stimulus, attached);
    if (!answer.accepted) return refusalOf(answer, this.#driver.now());
    return (await this.run(caller, runId)) as RunView;
  }

  async run(caller: Caller, id: string): Promise<RunView | undefined> {
    const live = await this.#driver.read((state) => {
      const run = state.runById(id);
      if (!run) return undefined;
      const stuck = stuckNodes(state, run, this.#driver.now());
      return { counts: countsOf(run), data: run.data?.bytes(run.resultBytes), stuck };
    });
    const row = await this.#store.run(id);
    if (!row || !isVisible(caller, row)) return undefined;
    const { counts = await this.#countRows(row), data, stuck = [] } = live ?? {};
    return { ...row, counts, data, stuck };
  }

  async waitForRun(
    caller: Caller,
    id: string,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<RunView | undefined> {
    return await this.#ended.untilEnded(id, { waitMs, signal }, async () => {
      const run = await this.run(caller, id);
      return { found: run, isOpen: run?.outcome === "" };
    });
  }

  async runPlan(caller: Caller, id: string): Promise<RunPlanView | undefined> {
    const row = await this.#store.run(id);
    if (!row || !isVisible(caller, row)) return undefined;
    return this.#plans.of(id, () => this.#planOf(row));
  }

  async #planOf(row: RunRow): Promise<RunPlanView> {
    const now = this.#driver.now();
    const remaining = await this.#driver.read((state) => {
      const run = state.runById(row.id);
      return run && run.outcome === undefined ? remainingOf(state, run, now) : undefined;
    });
    const rows: TaskLine[] = [];
    for await (const line of this.#nodesOf(row)) rows.push(line);
    return { run: row, now, rows, forecast: remaining && (await forecast(remaining)) };
  }

  async runs(caller: Caller, after: ListCursor | undefined, limit: number): Promise<Page<RunRow>> {
    const agent = caller.isZoneAdmin ? {} : { agent: caller.agent };
    const rows = await this.#store.runs({ zone: caller.zone, ...agent }, after, limit + 1);
    const items = rows.slice(0, limit);
    return { items, next: rows.length > limit ? cursorOf(items.at(-1)) : undefined };
  }

  async cancelRun(caller: Caller, id: string): Promise<boolean> {
    const run = await this.#driver.read((state) => {
      const found = state.runById(id);
      return found && isVisible(caller, found) ? found.number : undefined;
    });
    if (run === undefined) return false;
    return (await this.#driver.submit({ kind: "CancelRequested", run, node: -1 })).accepted;
  }

  nodeResult(caller: Caller, runId: string, nodeId: string): Promise<NodeResult | undefined> {
    return this.#results.of(caller, runId, nodeId);
  }

  releaseRun(caller: Caller, id: string): Promise<boolean> {
    return this.#results.release(caller, id);
  }

  workers(caller: Caller): Promise<readonly WorkerView[]> {
    return this.#driver.read((state) => workersOf(state, caller.zone, this.#gateway));
  }

  async drainWorker(caller: Caller, id: string): Promise<boolean> {
    const worker = await this.#driver.read((state) => {
      const found = state.fleet.byId(id);
      return found?.spec.zone === caller.zone ? found.number : undefined;
    });
    if (worker === undefined) return false;
    return (await this.#driver.submit({ kind: "DrainRequested", worker })).accepted;
  }

  async setPaused({ zone }: Caller, executor: string | undefined, paused: boolean): Promise<void> {
    await this.#driver.submit({
      kind: paused ? "QueuePaused" : "QueueResumed",
      zone,
      executor: executor ?? "",
    });
  }

  agents(caller: Caller): Promise<readonly AgentView[]> {
    return this.#look((state, now) => agentViews(state, caller, now));
  }

  async setAgentLimit({ zone }: Caller, agent: string, limit: AgentLimit): Promise<AgentView> {
    await this.#driver.submit(agentConfigured(zone, agent, limit));
    return await this.#look((state, now) => agentViewOf(state, zone, agent, now));
  }

  async setZoneLimit({ zone }: Caller, max: number | null | undefined): Promise<void> {
    await this.#driver.submit({ kind: "ZoneConfigured", zone, ...(max !== undefined && { max }) });
  }

  async grantCredits({ zone }: Caller, agent: string, micros: number): Promise<AgentView | Refusal> {
    const answer = await this.#driver.submit({ kind: "CreditsGranted", zone, agent, micros });
    if (!answer.accepted) return refusal("credits", "the agent has as many credits as can be counted");
    return await this.#look((state, now) => agentViewOf(state, zone, agent, now));
  }

  limits(caller: Caller): Promise<readonly LimitView[]> {
    return this.#driver.read((state) => limitsOf(state, caller.zone));
  }

  async setLimit({ zone }: Caller, { name, concurrency, rate }: LimitSetting): Promise<LimitView> {
    await this.#driver.submit({
      kind: "LimitConfigured",
      zone,
      name,
      concurrency,
      rateCount: rate?.count ?? null,
      ratePeriodMs: rate?.periodMs ?? 1,
    });
    return await this.#driver.read((state) => limitView(state, zone, name));
  }

  async *ledger(): AsyncGenerator<string> {
    for await (const { line } of this.#store.blocks()) yield `${line}\n`;
  }

  ledgerStanding(): Promise<LedgerStanding> {
    return this.#ledgerCheck.goOn();
  }

  events(caller: Caller, from: EventsFrom, signal: AbortSignal): AsyncIterable<StreamEvent> {
    return this.#stream.read(caller, from, signal);
  }

  #look<Seen>(look: (state: State, now: number) => Seen): Promise<Seen> {
    return this.#driver.read((state) => look(state, this.#driver.now()));
  }

  /**
   * A row, with what the state knows better while the task is open. Both are looked at one after the other, and the
   * task may end, or come, in between: then they are looked at again.
   */
  async #find(id: string): Promise<TaskRow | undefined> {
    for (let tries = 1; ; tries++) {
      const row = await this.#store.task(id);
      if (!row || !isOpen(row.status)) return row;
      const live = await this.#driver.read((state) => overlay(state, row));
      if (live) return { ...row, ...live };
      // Another server may have taken it in, which we are about to learn.
      if (tries === MAX_LOOKS) return row;
    }
  }

  async #view(row: TaskRow): Promise<TaskView> {
    const said = this.#gateway.progressOf(row.id);
    const known = await this.#look((state, now) => ({
      effectiveTier: tierOf(state, row, now),
      speculation: row.run && speculationOf(state, row),
      budget: budgetOf(state, row),
    }));
    const [told = row] = await explainEscalated(this.#store, [row]);
    return {
      ...told,
      ...known,
      progress: said && { fraction: said.fraction, message: said.message },
    };
  }

  async #countRows(row: RunRow): Promise<Record<RowStatus, number>> {
    const counts = noCounts();
    for await (const { status } of this.#nodesOf(row)) counts[status]++;
    return counts;
  }

  /** The tasks of its nodes, without the alternatives that some were tried in. */
  async *#nodesOf({ id, zone }: RunRow): AsyncGenerator<TaskLine> {
    let after: ListCursor | undefined;
    do {
      const lines = await this.#store.tasks({ zone, runId: id }, after, 10_000);
      for (const line of lines) if (line.run && line.id === taskIdOf(id, line.run.node)) yield line;
      after = lines.length === 10_000 ? cursorOf(lines.at(-1)) : undefined;
    } while (after);
  }
}

function noCounts(): Record<RowStatus, number> {
  return { queued: 0, running: 0, completed: 0, failed: 0, cancelled: 0 };
}

function countsOf(run: Run): Record<RowStatus, number> {
  const { waiting, held, ready, delayed, assigned, running, cancelling, speculating, expanded } = Status;
  const sum = (...statuses: readonly Status[]) =>
    statuses.reduce<number>((total, one) => total + run.count(one), 0);
  return {
    queued: sum(waiting, held, ready, delayed),
    running: sum(assigned, running, cancelling, speculating, expanded),
    completed: run.count(Status.completed),
    failed: run.count(Status.failed),
    cancelled: sum(Status.cancelled, Status.skipped),
  };
}
