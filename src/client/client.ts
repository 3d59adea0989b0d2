import type {
  AgentAnswer,
  AgentBody,
  AgentsAnswer,
  AuditAnswer,
  AuditCheckAnswer,
  AuditEntry,
  Cancelled,
  Classified,
  ClassifyBody,
  ClusterAnswer,
  ConcurrencyBody,
  DrainAnswer,
  LimitAnswer,
  LimitBody,
  LimitsAnswer,
  LogAnswer,
  OverviewAnswer,
  PauseAnswer,
  QueueMetrics,
  RechargeBody,
  RunAnswer,
  RunBody,
  RunCancelled,
  RunPage,
  RunPlanAnswer,
  RunSummary,
  StepDownAnswer,
  TaskAnswer,
  TaskPage,
  TaskSummary,
  WhyAnswer,
  WorkersAnswer,
  ZoneAnswer,
} from "../protocol/api-schemas.ts";
import { type CallOptions, get, path, post, put, repeatablePost } from "./calls.ts";
import type { Computation, ComputeOptions } from "./computation.ts";
import { Connection, type ConnectionOptions, type Query } from "./connection.ts";
import { OrreryError, TaskFailed } from "./errors.ts";
import type { TaskGraph } from "./graph.ts";
import type { GraphNode, ResultOf, ResultsOf, Wanted } from "./graph-node.ts";
import { refuseLoss } from "./json-loss.ts";
import { Keys } from "./keys.ts";
import type { RawResult } from "./node-result.ts";
import {
  type EventsOptions,
  type RunEvent,
  runEvents,
  type ServiceEvent,
  serviceEvents,
} from "./run-events.ts";
import { cancelRun, type RunOptions, releaseRun, submitRun } from "./runs.ts";
import { Schedules } from "./schedules.ts";
import { type BatchResult, type Submission, submitBody, submitInBatches } from "./submission.ts";
import { submitIn, type Transaction } from "./transaction.ts";
import {
  followLog,
  hasEnded,
  type LogLine,
  type WaitOptions,
  waitForRun,
  waitForTask,
  whyNotEnded,
} from "./waiting.ts";
import { Webhooks } from "./webhooks.ts";

export interface TaskFilter {
  readonly status?: TaskSummary["status"] | readonly TaskSummary["status"][] | undefined;
  readonly executor?: string | undefined;
  readonly task_type?: string | undefined;
  readonly run?: string | undefined;
  /** For admins; others see their own. */
  readonly agent?: string | undefined;
}

export interface PageOptions extends CallOptions {
  /** How many are fetched at once; up to 1,000. */
  readonly pageSize?: number | undefined;
}

export interface SubmitInOptions {
  readonly client: Transaction;
}

export interface LogOptions extends CallOptions {
  /** The last line that is known. */
  readonly after?: number | undefined;
  readonly limit?: number | undefined;
}

/**
 * The service, for programs. What it asks for and answers is as the server's document says (`/docs`).
 *
 * Requests that do no harm if they arrive twice, and submissions, which carry a key that makes them so, are sent
 * again when the server is busy, away or restarting.
 */
export class OrreryClient {
  readonly keys: Keys;
  readonly webhooks: Webhooks;
  readonly schedules: Schedules;
  readonly #connection: Connection;
  readonly #identity: Pick<ConnectionOptions, "zone" | "agent">;

  constructor(options: ConnectionOptions) {
    this.#identity = { zone: options.zone, agent: options.agent };
    this.#connection = new Connection(options);
    this.keys = new Keys(this.#connection);
    this.webhooks = new Webhooks(this.#connection);
    this.schedules = new Schedules(this.#connection);
  }

  /**
   * Resolves once the task is committed. With `client`, a connection to the service's PostgreSQL, it is submitted in
   * the transaction that is open there, and exists if and only if that is committed; until then only its id is known.
   */
  submit(task: Submission, options?: CallOptions): Promise<TaskAnswer>;
  submit(task: Submission, options: SubmitInOptions): Promise<Pick<TaskAnswer, "id">>;
  async submit(
    task: Submission,
    options: CallOptions & Partial<SubmitInOptions> = {},
  ): Promise<Pick<TaskAnswer, "id">> {
    if (!("client" in options))
      return await this.#connection.send(repeatablePost("submit", submitBody(task), options));
    const { task_type, payload = {}, ...rest } = task;
    return {
      id: await submitIn(options.client as Transaction, task_type, payload, { ...this.#identity, ...rest }),
    };
  }

  /**
   * Any number of tasks; each is taken or refused by itself. If it throws, some may have been taken: with idempotency
   * keys of your own it can be called again.
   */
  submitBatch(tasks: Iterable<Submission>, options: CallOptions = {}): Promise<BatchResult[]> {
    return submitInBatches(this.#connection, tasks, options);
  }

  /**
   * The result of a new task. Throws `TaskFailed` if it fails or is cancelled; whoever stops waiting leaves it be, and is told why it
   * has not ended where the server knows.
   */
  async submitAndWait(task: Submission, options: WaitOptions = {}): Promise<unknown> {
    const { id } = await this.submit(task, options);
    const ended = await this.waitForTask(id, options);
    if (ended.status === "completed") return ended.result;
    if (hasEnded(ended)) throw new TaskFailed(ended);
    const detail = `task ${id} is still ${ended.status}${await whyNotEnded(this.#connection, ended)}`;
    throw new OrreryError({ code: "wait-timeout", status: 0, detail });
  }

  task(id: string, options: CallOptions = {}): Promise<TaskAnswer> {
    return this.#connection.send(get(path`task/${id}`, options));
  }

  /** The task when it has ended, or as it is when the time is over. */
  waitForTask(id: string, options: WaitOptions = {}): Promise<TaskAnswer> {
    return waitForTask(this.#connection, id, options);
  }

  /** Newest first. */
  tasks(filter: TaskFilter = {}, options: PageOptions = {}): AsyncGenerator<TaskSummary, void, undefined> {
    return this.#pages<TaskPage, TaskSummary>("tasks", { ...filter }, options, ({ tasks }) => tasks);
  }

  cancel(id: string, options: CallOptions = {}): Promise<Cancelled> {
    return this.#connection.send(repeatablePost(path`task/${id}/cancel`, undefined, options));
  }

  /** Puts a failed or cancelled task back into the queue. */
  retry(id: string, options: CallOptions = {}): Promise<TaskAnswer> {
    return this.#connection.send(post(path`task/${id}/retry`, undefined, options));
  }

  /** Lets a running task consume more than its budget. */
  recharge(id: string, budget: RechargeBody, options: CallOptions = {}): Promise<TaskAnswer> {
    return this.#connection.send(post(path`task/${id}/recharge`, budget, options));
  }

  /** Why it does not run yet, or runs where it does. */
  why(id: string, options: CallOptions = {}): Promise<WhyAnswer> {
    return this.#connection.send(get(path`task/${id}/why`, options));
  }

  async log(id: string, { signal, ...query }: LogOptions = {}): Promise<LogLine[]> {
    const { lines } = await this.#connection.send<LogAnswer>(get(path`task/${id}/log`, { signal }, query));
    return lines;
  }

  /** What it prints, as it prints it, until it has ended. */
  followLog(id: string, options: Omit<LogOptions, "limit"> = {}): AsyncGenerator<LogLine, void, undefined> {
    return followLog(this.#connection, id, options);
  }

  /** How the queue of the zone is. */
  metrics(options: CallOptions = {}): Promise<QueueMetrics> {
    return this.#connection.send(get("metrics", options));
  }

  /** The zone at a glance. */
  overview(options: CallOptions = {}): Promise<OverviewAnswer> {
    return this.#connection.send(get("overview", options));
  }

  /** The class that a task would start in. */
  async classify(task: ClassifyBody, options: CallOptions = {}): Promise<Classified["priority_class"]> {
    const answer = await this.#connection.send<Classified>(repeatablePost("classify", task, options));
    return answer.priority_class;
  }

  /** A graph: what stands in a graph file, or its text in YAML or JSON. */
  async submitRun(
    graph: string | RunBody["graph"],
    options: RunOptions = {},
    call: CallOptions = {},
  ): Promise<RunAnswer> {
    refuseLoss(graph, "graph");
    return await submitRun(this.#connection, graph, options, call);
  }

  /**
   * The results of nodes of a graph, which is submitted for that; what they do not need is left out. Throws `NodeFailed` where one
   * of them fails. The signal cancels it.
   */
  async compute<const Nodes extends Wanted>(
    graph: TaskGraph,
    wanted: Nodes,
    options: ComputeOptions = {},
  ): Promise<ResultOf<Nodes>> {
    const { compute } = await import("./computation.ts");
    return await compute(this.#connection, graph, wanted, options);
  }

  /** The same, without waiting: for results as they come, and for more than one look at them. */
  async start<const Nodes extends Wanted>(
    graph: TaskGraph,
    wanted: Nodes,
    options: ComputeOptions = {},
  ): Promise<Computation<Nodes>> {
    const { startComputation } = await import("./computation.ts");
    return await startComputation(this.#connection, graph, wanted, options);
  }

  /** Results of nodes of a run, each by its id or as the node that it is. They must have completed, and not be freed. */
  async gather<const Nodes extends readonly (GraphNode | string)[]>(
    run: string,
    nodes: Nodes,
    options: CallOptions = {},
  ): Promise<ResultsOf<Nodes>> {
    const { nodeResults } = await import("./node-result.ts");
    return (await nodeResults(this.#connection, run, nodes.map(String), options)) as ResultsOf<Nodes>;
  }

  /** A result as it is kept: its bytes, and how to read them. */
  async rawResult(run: string, node: string, options: CallOptions = {}): Promise<RawResult> {
    const { rawResult } = await import("./node-result.ts");
    return await rawResult(this.#connection, run, node, options);
  }

  /** Lets workers forget the results of a run. False: there are none. */
  async releaseRun(id: string, options: CallOptions = {}): Promise<boolean> {
    return (await releaseRun(this.#connection, id, options)).released;
  }

  run(id: string, options: CallOptions = {}): Promise<RunAnswer> {
    return this.#connection.send(get(path`runs/${id}`, options));
  }

  /** Newest first. */
  runs(options: PageOptions = {}): AsyncGenerator<RunSummary, void, undefined> {
    return this.#pages<RunPage, RunSummary>("runs", {}, options, ({ runs }) => runs);
  }

  cancelRun(id: string, options: CallOptions = {}): Promise<RunCancelled> {
    return cancelRun(this.#connection, id, options);
  }

  /** What happened to its nodes, and when what remains should start and end. */
  runPlan(id: string, options: CallOptions = {}): Promise<RunPlanAnswer> {
    return this.#connection.send(get(path`runs/${id}/plan`, options));
  }

  /** The run when it has ended, or as it is when the time is over. */
  waitForRun(id: string, options: WaitOptions = {}): Promise<RunAnswer> {
    return waitForRun(this.#connection, id, options);
  }

  /** What happens, as it happens, for as long as it is listened to; broken connections are made again. */
  events(options: EventsOptions = {}): AsyncGenerator<ServiceEvent, void, undefined> {
    return serviceEvents(this.#connection, options);
  }

  /** What happens in a run until it has ended. */
  runEvents(id: string, options: EventsOptions = {}): AsyncGenerator<RunEvent, void, undefined> {
    return runEvents(this.#connection, id, options);
  }

  async workers(options: CallOptions = {}): Promise<WorkersAnswer["workers"]> {
    const { workers } = await this.#connection.send<WorkersAnswer>(get("workers", options));
    return workers;
  }

  drainWorker(id: string, options: CallOptions = {}): Promise<DrainAnswer> {
    return this.#connection.send(repeatablePost(path`workers/${id}/drain`, undefined, options));
  }

  /** Starts nothing of an executor, or of the whole zone, until it is resumed. */
  pause(executor?: string, options: CallOptions = {}): Promise<PauseAnswer> {
    return this.#connection.send(repeatablePost("pause", { executor }, options));
  }

  resume(executor?: string, options: CallOptions = {}): Promise<PauseAnswer> {
    return this.#connection.send(repeatablePost("resume", { executor }, options));
  }

  async agents(options: CallOptions = {}): Promise<AgentAnswer[]> {
    const { agents } = await this.#connection.send<AgentsAnswer>(get("agents", options));
    return agents;
  }

  setAgentLimit(agent: string, limit: AgentBody, options: CallOptions = {}): Promise<AgentAnswer> {
    return this.#connection.send(put(path`agents/${agent}`, limit, options));
  }

  /** For all agents of the zone that have no limit of their own. */
  setZoneLimit(limit: ConcurrencyBody, options: CallOptions = {}): Promise<ZoneAnswer> {
    return this.#connection.send(put("zone", limit, options));
  }

  /** Sent again only where it surely did not arrive: twice would be too much. */
  grantCredits(agent: string, amount: string | number, options: CallOptions = {}): Promise<AgentAnswer> {
    return this.#connection.send(post(path`agents/${agent}/credits`, { amount }, options));
  }

  async limits(options: CallOptions = {}): Promise<LimitAnswer[]> {
    const { limits } = await this.#connection.send<LimitsAnswer>(get("limits", options));
    return limits;
  }

  setLimit(name: string, limit: LimitBody, options: CallOptions = {}): Promise<LimitAnswer> {
    return this.#connection.send(put(path`limits/${name}`, limit, options));
  }

  /** Lists the audit of the zone, newest entry first. Only admins may ask. */
  audit(options: PageOptions = {}): AsyncGenerator<AuditEntry> {
    return this.#pages<AuditAnswer, AuditEntry>("audit", {}, options, ({ entries }) => entries);
  }

  /** Compares the audit with the ledger's chain; for operators. */
  checkAudit(options: CallOptions = {}): Promise<AuditCheckAnswer> {
    return this.#connection.send(get("audit/check", options));
  }

  /** The servers that share the store; for operators. */
  cluster(options: CallOptions = {}): Promise<ClusterAnswer> {
    return this.#connection.send(get("cluster", options));
  }

  /** Lets another server lead; for operators. Twice would make the next one step down too. */
  stepDown(options: CallOptions = {}): Promise<StepDownAnswer> {
    return this.#connection.send(post("cluster/step-down", undefined, options));
  }

  async *#pages<Page extends { readonly next: string | null }, Item>(
    from: string,
    query: Query,
    { pageSize, signal }: PageOptions,
    itemsOf: (page: Page) => readonly Item[],
  ): AsyncGenerator<Item, void, undefined> {
    let cursor: string | null | undefined;
    do {
      const page = await this.#connection.send<Page>(
        get(from, { signal }, { ...query, limit: pageSize, cursor }),
      );
      yield* itemsOf(page);
      cursor = page.next;
    } while (cursor !== null);
  }
}
