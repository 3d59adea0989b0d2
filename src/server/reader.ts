import { taskIdOf } from "../core/index.ts";
import type { Driver } from "../driver/index.ts";
import { type Census, census, type Run, type State, Status } from "../scheduler/index.ts";
import type {
  ListCursor,
  LogLine,
  RowStatus,
  RunRow,
  ServiceStore,
  TaskLine,
  TaskRow,
} from "../store/index.ts";
import type {
  AgentView,
  AttemptsView,
  Caller,
  Explanation,
  LimitView,
  ListFilter,
  Metrics,
  Overview,
  Page,
  QueuesView,
  Reading,
  RunGraphView,
  RunLineView,
  RunNodesView,
  RunPlanView,
  RunView,
  StreamEvent,
  TaskLineView,
  TaskView,
  WorkerView,
} from "./api.ts";
import { attemptsOf } from "./attempt-views.ts";
import type { EventStream } from "./event-stream.ts";
import { explanationOf, type LastAssignments } from "./explanation.ts";
import type { Gateway } from "./gateway.ts";
import { budgetOf, isOpen, isVisible, overlay, speculationOf, tierOf } from "./live-task.ts";
import { explainEscalated } from "./no-winner.ts";
import { overviewOf } from "./overview.ts";
import { Paced } from "./paced.ts";
import { queuesOf } from "./queue-views.ts";
import type { RecentActivity } from "./recent-activity.ts";
import type { RecentAttempts } from "./recent-attempts.ts";
import { type GraphStore, RunGraphs } from "./run-graphs.ts";
import { RunNodes } from "./run-nodes.ts";
import { forecast, remainingOf } from "./run-plan.ts";
import { SharedPlans } from "./shared-plans.ts";
import { stuckNodes } from "./stuck-nodes.ts";
import { cursorOf, TaskLists } from "./task-lists.ts";
import { TaskSearches } from "./task-searches.ts";
import { workersOf } from "./worker-views.ts";
import { agentViews, limitsOf, metricsOf } from "./zone-views.ts";

/** What answers come from: a state with its time, its rows, and what else is known beside the ledger. */
export interface ReaderParts {
  readonly driver: Pick<Driver, "read" | "now" | "timeOfDay">;
  readonly store: Pick<ServiceStore, "backend" | "task" | "tasks" | "findTasks" | "run" | "runs" | "logs"> &
    GraphStore;
  readonly workers: Pick<Gateway, "progressOf" | "isAway" | "chunksOf">;
  readonly stream: Pick<EventStream, "historyOf">;
  readonly assignments: Pick<LastAssignments, "of">;
  readonly recent: Pick<RecentActivity, "of" | "commitMs">;
  readonly attempts: Pick<RecentAttempts, "latest" | "wholeFrom">;
}

/** How often a task is looked at whose row and state do not agree. */
const MAX_LOOKS = 5;

/** What callers can see. It asks nobody but its parts, so the same answers can be given of a state that is past. */
export class Reader implements Reading {
  readonly #driver: ReaderParts["driver"];
  readonly #store: ReaderParts["store"];
  readonly #workers: ReaderParts["workers"];
  readonly #stream: ReaderParts["stream"];
  readonly #assignments: ReaderParts["assignments"];
  readonly #recent: ReaderParts["recent"];
  readonly #attempts: ReaderParts["attempts"];
  readonly #counted = new Paced<Census>();
  readonly #plans = new SharedPlans<RunPlanView>(() => performance.now());
  readonly #graphs: RunGraphs;
  readonly #nodes: RunNodes;
  readonly #lists: TaskLists;
  readonly #searches: TaskSearches;

  constructor({ driver, store, workers, stream, assignments, recent, attempts }: ReaderParts) {
    this.#driver = driver;
    this.#store = store;
    this.#workers = workers;
    this.#stream = stream;
    this.#assignments = assignments;
    this.#recent = recent;
    this.#attempts = attempts;
    this.#graphs = new RunGraphs(driver, store);
    this.#nodes = new RunNodes(driver, store, this.#graphs);
    this.#lists = new TaskLists(driver, store);
    this.#searches = new TaskSearches(driver, store, this.#lists);
  }

  async task(caller: Caller, id: string): Promise<TaskView | undefined> {
    const row = await this.#find(id);
    return row && isVisible(caller, row) ? await this.#view(row) : undefined;
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

  async run(caller: Caller, id: string): Promise<RunView | undefined> {
    // The row first: one that has ended must not come with the counts of a moment before.
    const row = await this.#visibleRun(caller, id);
    if (!row) return undefined;
    const live = await this.#driver.read((state) => {
      const run = state.runById(id);
      if (!run) return undefined;
      const stuck = stuckNodes(state, run, this.#driver.now());
      return { counts: countsOf(run), data: run.data?.bytes(run.resultBytes), stuck };
    });
    const { counts = await this.#countRows(row), data, stuck = [] } = live ?? {};
    return { ...row, counts, data, stuck };
  }

  async runPlan(caller: Caller, id: string): Promise<RunPlanView | undefined> {
    const row = await this.#visibleRun(caller, id);
    return row && this.#plans.of(id, () => this.#planOf(row));
  }

  async #visibleRun(caller: Caller, id: string): Promise<RunRow | undefined> {
    const row = await this.#store.run(id);
    return row && isVisible(caller, row) ? row : undefined;
  }

  async #planOf(row: RunRow): Promise<RunPlanView> {
    const remaining = await this.#look((state, now) => {
      const run = state.runById(row.id);
      return run && run.outcome === undefined ? remainingOf(state, run, now) : undefined;
    });
    const now = remaining?.now ?? this.#driver.timeOfDay();
    const rows: TaskLine[] = [];
    for await (const line of this.#nodesOf(row)) rows.push(line);
    return { run: row, now, rows, forecast: remaining && (await forecast(remaining)) };
  }

  async runGraph(caller: Caller, id: string): Promise<RunGraphView | "gone" | undefined> {
    const row = await this.#visibleRun(caller, id);
    return row && ((await this.#graphs.of(row)) ?? "gone");
  }

  async runNodes(
    caller: Caller,
    id: string,
    after: number | undefined,
  ): Promise<RunNodesView | "gone" | undefined> {
    const row = await this.#visibleRun(caller, id);
    return row && ((await this.#nodes.of(row, after)) ?? "gone");
  }

  async runs(caller: Caller, after: ListCursor | undefined, limit: number): Promise<Page<RunLineView>> {
    const agent = caller.isZoneAdmin ? {} : { agent: caller.agent };
    const rows = await this.#store.runs({ zone: caller.zone, ...agent }, after, limit + 1);
    const items = await this.#look((state) =>
      rows.slice(0, limit).map((row) => ({ ...row, counts: knownCounts(state.runById(row.id), row) })),
    );
    return { items, next: rows.length > limit ? cursorOf(items.at(-1)) : undefined };
  }

  workers(caller: Caller): Promise<readonly WorkerView[]> {
    return this.#driver.read((state) => workersOf(state, caller, this.#workers));
  }

  attempts(caller: Caller, since: number | undefined, most: number): Promise<AttemptsView> {
    return this.#driver.read((state) =>
      attemptsOf(state, caller, this.#attempts, since, most, this.#driver.timeOfDay()),
    );
  }

  queues(caller: Caller): Promise<QueuesView> {
    return this.#look((state, now) => queuesOf(state, caller, now));
  }

  agents(caller: Caller): Promise<readonly AgentView[]> {
    return this.#look((state, now) => agentViews(state, caller, now));
  }

  limits(caller: Caller): Promise<readonly LimitView[]> {
    return this.#driver.read((state) => limitsOf(state, caller.zone));
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
    const said = this.#workers.progressOf(row.id);
    const known = await this.#driver.read((state) => ({
      effectiveTier: tierOf(state, row, this.#driver.timeOfDay()),
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

/** As far as nothing has to be counted for it. */
function knownCounts(run: Run | undefined, { outcome, nodes }: RunRow): RunLineView["counts"] {
  if (run) return countsOf(run);
  return outcome === "completed" ? { ...noCounts(), completed: nodes } : undefined;
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
