// A service in memory that keeps the promises of `Api` and `WorkerGateway` in their simplest form: tasks wait
// first in, first out, and nothing is decided but visibility. It is there so that the HTTP edge can be tested alone.

import { uuidv7 } from "uuidv7";
import { sha256Hex } from "../src/core/index.ts";
import type { Ack, Heartbeat, PollAnswer, Registration, Report } from "../src/protocol/index.ts";
import { classify, type Tier } from "../src/queue/index.ts";
import type {
  AgentView,
  Api,
  Caller,
  EventsFrom,
  Explanation,
  LimitSetting,
  LimitView,
  ListFilter,
  Metrics,
  Page,
  Refusal,
  RegistrationRefusal,
  RunSubmission,
  RunView,
  StreamEvent,
  Submitted,
  TaskLineView,
  TaskSubmission,
  TaskView,
  WorkerGateway,
  WorkerSession,
  WorkerSink,
  WorkerView,
} from "../src/server/api.ts";
import { type ListCursor, type LogLine, QUEUED, ROW_STATUSES, type RowStatus } from "../src/store/index.ts";

type Stored = { -readonly [Key in keyof TaskView]: TaskView[Key] };
type StoredRun = { -readonly [Key in keyof RunView]: RunView[Key] };

export class MemoryService implements Api, WorkerGateway {
  readonly #tasks = new Map<string, Stored>();
  readonly #runs = new Map<string, StoredRun>();
  readonly #keys = new Map<string, { readonly taskId: string; readonly bodyHash: string }>();
  readonly #agents = new Map<string, AgentView>();
  readonly #limits = new Map<string, LimitView>();
  readonly #workers = new Map<string, Joined>();
  readonly #logs = new Map<string, LogLine[]>();
  readonly #events: (StreamEvent & { readonly zone: string; readonly agent: string })[] = [];
  readonly #wakes = new Set<() => void>();
  #seq = 0;
  /** Refuses the next submissions, as a full service does. */
  refusal: Refusal | undefined;
  throttle = false;

  async submit(caller: Caller, submissions: readonly TaskSubmission[]): Promise<readonly Submitted[]> {
    return submissions.map((submission) => this.#submitOne(caller, submission));
  }

  async task(caller: Caller, id: string): Promise<TaskView | undefined> {
    const task = this.#tasks.get(id);
    return task && sees(caller, task) ? { ...task } : undefined;
  }

  async waitForTask(
    caller: Caller,
    id: string,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<TaskView | undefined> {
    const until = Date.now() + waitMs;
    for (;;) {
      // Without an await between looking and waiting, or a change in between would be missed.
      const task = this.#tasks.get(id);
      if (!task || !sees(caller, task)) return undefined;
      if (isOver(task.status) || Date.now() >= until || signal.aborted) return { ...task };
      await this.#change(until - Date.now(), signal);
    }
  }

  async tasks(
    caller: Caller,
    filter: ListFilter,
    after: ListCursor | undefined,
    limit: number,
  ): Promise<Page<TaskLineView>> {
    const found = [...this.#tasks.values()].filter(
      (task) =>
        sees(caller, task) &&
        (filter.statuses?.includes(task.status) ?? true) &&
        (filter.executor ?? task.executor) === task.executor &&
        (filter.type ?? task.type) === task.type &&
        (filter.agent ?? task.agent) === task.agent &&
        (filter.runId === undefined || filter.runId === task.run?.id),
    );
    return page(found, after, limit);
  }

  async cancel(caller: Caller, id: string): Promise<boolean> {
    const task = this.#tasks.get(id);
    if (!task || !sees(caller, task) || isOver(task.status)) return false;
    this.#end(task, "cancelled");
    return true;
  }

  async retry(caller: Caller, id: string): Promise<TaskView | Refusal | undefined> {
    const task = this.#tasks.get(id);
    if (!task || !sees(caller, task)) return undefined;
    if (task.status !== "failed" && task.status !== "cancelled") {
      return { accepted: false, code: "not-ended", message: `the task is ${task.status}` };
    }
    Object.assign(task, QUEUED);
    return { ...task };
  }

  async why(caller: Caller, id: string): Promise<Explanation | undefined> {
    const task = await this.task(caller, id);
    if (!task) return undefined;
    const { status, worker, attempt } = task;
    const placed =
      worker === ""
        ? undefined
        : {
            worker,
            attempt,
            reason: { code: "OnlyWorkerAvailable" },
            runnerUp: undefined,
            rejected: {},
            text: "it asked",
          };
    return {
      id,
      status,
      waiting: status === "queued" ? [{ code: "Pending", text: "nobody asked yet" }] : [],
      placed,
    };
  }

  async log(
    caller: Caller,
    id: string,
    afterLine: number,
    limit: number,
  ): Promise<readonly LogLine[] | undefined> {
    if (!(await this.task(caller, id))) return undefined;
    return (this.#logs.get(id) ?? []).filter(({ line }) => line > afterLine).slice(0, limit);
  }

  async metrics(caller: Caller): Promise<Metrics> {
    const tasks = [...this.#tasks.values()].filter(({ zone }) => zone === caller.zone);
    const now = Date.now();
    const queued = tasks.filter(({ status }) => status === "queued");
    const running = tasks.filter(
      ({ status, agent }) => status === "running" && agent === caller.agent,
    ).length;
    return {
      queueByClass: [0, 1, 2].flatMap((priorityClass) => {
        const waits = queued
          .filter((task) => task.priorityClass === priorityClass)
          .map((task) => now - task.enqueuedAt);
        if (waits.length === 0) return [];
        const sum = waits.reduce((total, wait) => total + wait, 0);
        return [
          {
            priorityClass,
            count: waits.length,
            avgWaitMs: sum / waits.length,
            maxWaitMs: Math.max(...waits),
          },
        ];
      }),
      fairShare: { [caller.agent]: { running, max: 10, available: Math.max(0, 10 - running) } },
      useHrrn: false,
      totals: countsOf(tasks),
      backend: "memory",
    };
  }

  async submitRun(caller: Caller, { id, graph }: RunSubmission): Promise<RunView | Refusal> {
    const runId = id ?? uuidv7();
    if (this.#runs.has(runId))
      return { accepted: false, code: "duplicate-run", message: `run "${runId}" exists` };
    const run: StoredRun = {
      id: runId,
      zone: caller.zone,
      agent: caller.agent,
      name: graph.name,
      nodes: graph.nodes.length,
      submittedAt: Date.now(),
      submittedSeq: ++this.#seq,
      outcome: "",
      endedAt: -1,
      counts: { ...countsOf([]), queued: graph.nodes.length },
    };
    this.#runs.set(runId, run);
    this.#record("RunSubmitted", run, { runId });
    return { ...run };
  }

  async run(caller: Caller, id: string): Promise<RunView | undefined> {
    const run = this.#runs.get(id);
    return run && sees(caller, run) ? { ...run } : undefined;
  }

  async runs(caller: Caller, after: ListCursor | undefined, limit: number): Promise<Page<RunView>> {
    return page(
      [...this.#runs.values()].filter((run) => sees(caller, run)),
      after,
      limit,
    );
  }

  async cancelRun(caller: Caller, id: string): Promise<boolean> {
    const run = this.#runs.get(id);
    if (!run || !sees(caller, run) || run.outcome !== "") return false;
    run.outcome = "cancelled";
    run.endedAt = Date.now();
    run.counts = { ...countsOf([]), cancelled: run.nodes };
    this.#record("RunEnded", run, { runId: id, data: { outcome: "cancelled" } });
    return true;
  }

  async workers(caller: Caller): Promise<readonly WorkerView[]> {
    return [...this.#workers.values()]
      .filter((one) => one.view.zones.includes(caller.zone))
      .map(({ view }) => view);
  }

  async drainWorker(caller: Caller, id: string): Promise<boolean> {
    const joined = this.#workers.get(id);
    if (!joined?.view.zones.includes(caller.zone)) return false;
    joined.isDraining = true;
    return true;
  }

  async setPaused(): Promise<void> {}

  async agents(caller: Caller): Promise<readonly AgentView[]> {
    return caller.isZoneAdmin ? [...this.#agents.values()] : [this.#agent(caller.agent)];
  }

  async setAgentLimit(
    _: Caller,
    agent: string,
    maxConcurrent: number | null | undefined,
  ): Promise<AgentView> {
    return this.#keep({
      ...this.#agent(agent),
      maxConcurrent: maxConcurrent === undefined ? 10 : maxConcurrent,
    });
  }

  async setZoneLimit(): Promise<void> {}

  async grantCredits(_: Caller, agent: string, micros: number): Promise<AgentView> {
    const known = this.#agent(agent);
    return this.#keep({ ...known, creditsMicros: known.creditsMicros + micros });
  }

  async limits(): Promise<readonly LimitView[]> {
    return [...this.#limits.values()];
  }

  async setLimit(_: Caller, limit: LimitSetting): Promise<LimitView> {
    const view = { ...limit, running: 0 };
    this.#limits.set(limit.name, view);
    return view;
  }

  async *events(caller: Caller, from: EventsFrom, signal: AbortSignal): AsyncIterable<StreamEvent> {
    let next = from.at === "start" ? 0 : this.#events.length;
    if (from.at === "after") next = this.#events.findIndex(({ id }) => id === from.id) + 1;
    while (!signal.aborted) {
      for (; next < this.#events.length && !signal.aborted; next++) {
        const event = this.#events[next];
        if (event && sees(caller, event)) yield event;
      }
      await this.#change(1000, signal);
    }
  }

  async register(
    caller: Caller,
    registration: Registration,
    _: Heartbeat,
    sink: WorkerSink | undefined,
  ): Promise<WorkerSession | RegistrationRefusal> {
    const { id } = registration;
    const zone = registration.zone ?? caller.zone;
    const known = this.#workers.get(id);
    if (known && known.view.zone !== zone) return { refused: "worker-taken", message: "another zone has it" };
    const joined = new Joined(registration, zone, sink, this);
    this.#workers.set(id, joined);
    return joined;
  }

  session(caller: Caller, workerId: string, session: string): WorkerSession | undefined {
    const joined = this.#workers.get(workerId);
    return joined?.registration.session === session && joined.view.zone === caller.zone ? joined : undefined;
  }

  /** The first task that the worker may have, now running there. */
  assign({ id, zones, executors }: WorkerView): Stored | undefined {
    const task = [...this.#tasks.values()].find(
      ({ status, zone, executor }) =>
        status === "queued" && zones.includes(zone) && executors.includes(executor),
    );
    if (!task) return undefined;
    Object.assign(task, { status: "running", worker: id, attempt: task.attempt + 1, startedAt: Date.now() });
    return task;
  }

  settle(report: Report): Ack {
    const task = this.#tasks.get(report.task);
    if (task?.status !== "running" || task.attempt !== report.attempt)
      return { accepted: false, code: "stale" };
    if (report.type === "finished") task.result = JSON.stringify(report.result ?? null);
    if (report.type === "failed")
      Object.assign(task, { errorCode: report.code, errorMessage: report.message });
    this.#end(
      task,
      report.type === "finished" ? "completed" : report.type === "cancelled" ? "cancelled" : "failed",
    );
    return { accepted: true };
  }

  keepLog(taskId: string, line: Omit<LogLine, "line" | "taskId">): void {
    const lines = this.#logs.get(taskId) ?? [];
    lines.push({ ...line, taskId, line: lines.length });
    this.#logs.set(taskId, lines);
  }

  leave(id: string): void {
    this.#workers.delete(id);
  }

  /** Resolves with the next change, or when the time is over. */
  #change(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", wake);
        this.#wakes.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      signal.addEventListener("abort", wake);
      this.#wakes.add(wake);
    });
  }

  #submitOne(caller: Caller, submission: TaskSubmission): Submitted {
    if (this.refusal) return this.refusal;
    const { idempotencyKey, bodyHash } = submission;
    const key = JSON.stringify([caller.zone, caller.agent, idempotencyKey]);
    const earlier = idempotencyKey === undefined ? undefined : this.#keys.get(key);
    if (earlier && earlier.bodyHash !== bodyHash) {
      return { accepted: false, code: "key-reused", message: "the key came with another request" };
    }
    const known = earlier && this.#tasks.get(earlier.taskId);
    if (known) return { accepted: true, task: { ...known }, repeated: true, throttle: this.throttle };
    const task = this.#queue(caller, submission);
    if (idempotencyKey !== undefined) this.#keys.set(key, { taskId: task.id, bodyHash });
    return { accepted: true, task: { ...task }, repeated: false, throttle: this.throttle };
  }

  #queue(caller: Caller, submission: TaskSubmission): Stored {
    const { idempotencyKey, bodyHash, cpuMillicores, memoryBytes, capabilities, limits, ...rest } =
      submission;
    const { maxAttempts, backoffMs, timeoutMs, ...asked } = rest;
    const task: Stored = {
      ...QUEUED,
      ...asked,
      id: uuidv7(),
      run: undefined,
      zone: caller.zone,
      agent: caller.agent,
      priorityClass: classify(asked.priority as Tier, asked.requestState),
      effectiveTier: asked.priority,
      settings: "{}",
      payloadHash: sha256Hex(asked.payload),
      enqueuedAt: Date.now(),
      submittedSeq: ++this.#seq,
      progress: undefined,
    };
    this.#tasks.set(task.id, task);
    this.#record("TaskSubmitted", task, { taskId: task.id });
    return task;
  }

  #end(task: Stored, status: RowStatus): void {
    task.status = status;
    task.endedAt = Date.now();
    this.#record("TaskEnded", task, { taskId: task.id, data: { status } });
  }

  #record(
    kind: string,
    { zone, agent }: { readonly zone: string; readonly agent: string },
    event: { readonly taskId?: string; readonly runId?: string; readonly data?: Record<string, unknown> },
  ): void {
    const id = sha256Hex(`event ${this.#events.length}`).slice(0, 16);
    const { taskId, runId, data = {} } = event;
    this.#events.push({ id, kind, at: Date.now(), taskId, runId, data, zone, agent });
    for (const wake of [...this.#wakes]) wake();
  }

  #agent(agent: string): AgentView {
    const fresh = {
      agent,
      running: 0,
      maxConcurrent: 10,
      creditsMicros: 0,
      reservedMicros: 0,
      costMicros: 0,
    };
    return this.#agents.get(agent) ?? fresh;
  }

  #keep(view: AgentView): AgentView {
    this.#agents.set(view.agent, view);
    return view;
  }
}

class Joined implements WorkerSession {
  readonly leaseMs = 15_000;
  readonly heartbeatMs = 5000;
  readonly registration: Registration;
  readonly #zone: string;
  readonly #sink: WorkerSink | undefined;
  readonly #service: MemoryService;
  isDraining = false;

  constructor(
    registration: Registration,
    zone: string,
    sink: WorkerSink | undefined,
    service: MemoryService,
  ) {
    this.registration = registration;
    this.#zone = zone;
    this.#sink = sink;
    this.#service = service;
  }

  get view(): WorkerView {
    const {
      id,
      executors,
      capabilities = [],
      slots,
      cpu_millicores,
      memory_bytes,
      zones = [],
    } = this.registration;
    return {
      id,
      zone: this.#zone,
      zones: [this.#zone, ...zones],
      executors,
      capabilities,
      status: this.isDraining ? "Draining" : "Idle",
      slots,
      held: 0,
      cpuMillicores: cpu_millicores,
      freeCpuMillicores: cpu_millicores,
      memoryBytes: memory_bytes,
      freeMemoryBytes: memory_bytes,
    };
  }

  async report(report: Report): Promise<Ack> {
    return this.#service.settle(report);
  }

  heartbeat(): void {
    const assignments = this.#take();
    if (assignments.length > 0) this.#sink?.send({ type: "assign", assignments });
  }

  log(entries: Parameters<WorkerSession["log"]>[0]): void {
    for (const { task, attempt, at, stream, text } of entries)
      this.#service.keepLog(task, { attempt, at, stream, text });
  }

  progress(): void {}

  async drain(): Promise<void> {
    this.isDraining = true;
  }

  async leave(): Promise<void> {
    this.#service.leave(this.registration.id);
  }

  async poll(): Promise<PollAnswer> {
    return { assignments: this.#take(), cancel: [], drain: this.isDraining };
  }

  disconnected(): void {}

  #take(): PollAnswer["assignments"] {
    const task = this.isDraining ? undefined : this.#service.assign(this.view);
    if (!task) return [];
    const { id, attempt, type, executor, zone, agent, payload } = task;
    return [
      {
        task: id,
        attempt,
        task_type: type,
        executor,
        zone,
        agent,
        payload: JSON.parse(payload),
        timeout_ms: 0,
      },
    ];
  }
}

function sees(caller: Caller, owned: { readonly zone: string; readonly agent: string }): boolean {
  return owned.zone === caller.zone && (caller.isZoneAdmin || owned.agent === caller.agent);
}

function isOver(status: RowStatus): boolean {
  return status !== "queued" && status !== "running";
}

function countsOf(tasks: readonly { readonly status: RowStatus }[]): Record<RowStatus, number> {
  const counts = ROW_STATUSES.map((status) => [
    status,
    tasks.filter((task) => task.status === status).length,
  ]);
  return Object.fromEntries(counts) as Record<RowStatus, number>;
}

function page<Item extends { readonly submittedSeq: number; readonly id: string }>(
  items: readonly Item[],
  after: ListCursor | undefined,
  limit: number,
): Page<Item> {
  const ordered = items
    .filter(({ submittedSeq }) => after === undefined || submittedSeq < after.submittedSeq)
    .sort((a, b) => b.submittedSeq - a.submittedSeq);
  const shown = ordered.slice(0, limit);
  const last = shown.at(-1);
  const next = last && ordered.length > limit ? { submittedSeq: last.submittedSeq, id: last.id } : undefined;
  return { items: shown, next };
}
