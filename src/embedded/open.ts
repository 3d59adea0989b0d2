import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import { hostname } from "node:os";
import { refuseLoss, submitIn, type Transaction } from "../client/index.ts";
import { LEASE_MS, leadOrRefuse, type Term } from "../cluster/index.ts";
import { canonicalJson, sha256Hex } from "../core/index.ts";
import { type BudgetPart, budgetOnWire, limitsOf, type Priority, taskBudget } from "../graph/index.ts";
import {
  type Api,
  type Caller,
  type Explanation,
  type OpenService,
  openService,
  type Refusal,
  type ServiceSettings,
  type TaskSubmission,
  type TaskView,
} from "../server/index.ts";
import { openServiceStore } from "../store/index.ts";
import { activeTrace } from "../telemetry/index.ts";
import type { Handlers } from "../worker/index.ts";
import { localCaller, startLocalWorker } from "./local-worker.ts";

export interface OpenOptions {
  /** `memory`, a URL of PostgreSQL, or undefined for a private PostgreSQL in the data directory. */
  readonly store?: string;
  readonly dataDir?: string;
  /** What the worker in this process runs, by task type; without any there is none. */
  readonly tasks?: Handlers;
  /** How many of them at once; by default the number of cores. */
  readonly slots?: number;
  readonly settings?: Partial<ServiceSettings>;
  readonly warn?: (message: string) => void;
}

export interface TaskOptions {
  /** 0 (critical) to 4 (best effort); 2 by default. */
  readonly priority?: Priority;
  readonly estimateMs?: number;
  /** Times are milliseconds since 1970. */
  readonly runAt?: number;
  readonly deadline?: number;
  readonly maxAttempts?: number;
  readonly backoffMs?: number;
  readonly timeoutMs?: number;
  /** Names, or what it counts towards each of them. */
  readonly limits?: readonly string[] | Readonly<Record<string, number>>;
  /** What an attempt may consume; parts that are left out have a default. */
  readonly budget?: Partial<Readonly<Record<BudgetPart, number>>>;
  /** When a part of the budget is used up it waits until it is recharged, or fails; "wait" by default. */
  readonly onExhausted?: "wait" | "fail";
  readonly idempotencyKey?: string;
  readonly executor?: string;
  /** A connection to the store's PostgreSQL: the task exists if and only if the transaction open there is committed. */
  readonly client?: Transaction;
}

/** The task did not complete. */
export class TaskFailed extends Error {
  override readonly name = "TaskFailed";
  readonly task: TaskView;

  constructor(task: TaskView) {
    super(`task ${task.id} ${task.status}${task.errorMessage === "" ? "" : `: ${task.errorMessage}`}`);
    this.task = task;
  }
}

/** The submission was refused; `code` says why. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly code: string;

  constructor({ code, message }: Refusal) {
    super(message);
    this.code = code;
  }
}

export interface Orrery extends AsyncDisposable {
  /** Resolves when the task is stored, with its id. */
  submit(type: string, payload?: unknown, options?: TaskOptions): Promise<string>;
  /** Resolves with the task's result; throws `TaskFailed`. */
  result(id: string): Promise<unknown>;
  task(id: string): Promise<TaskView | undefined>;
  why(id: string): Promise<Explanation | undefined>;
  cancel(id: string): Promise<boolean>;
  /** Lets what runs end, then stops. The same as disposing of it. */
  close(): Promise<void>;
  /** Everything else, as the server's routes use it. */
  readonly api: Api;
}

const ZONE = "default";
const EXECUTOR = "default";
const WAIT_MS = 60_000;

/** A scheduler, its store and a worker in this process, without HTTP. */
export async function open(options: OpenOptions = {}): Promise<Orrery> {
  const warn = options.warn ?? ((message) => process.emitWarning(message, "OrreryWarning"));
  const opened = await openServiceStore({
    store: options.store,
    dataDir: options.dataDir ?? ".orrery/embedded",
    warn,
  });
  const { service, term } = await leadAndOpen(opened, options, warn).catch(async (error: unknown) => {
    await opened[Symbol.asyncDispose]();
    throw error;
  });
  const worker = options.tasks && startLocalWorker(service.gateway, workerOptions(options, options.tasks));
  const { api } = service;
  const caller = localCaller(ZONE);
  const gone = new AbortController();
  // As many as wait for results.
  setMaxListeners(0, gone.signal);
  const close = async () => {
    gone.abort();
    await worker?.[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
    await term.release();
    await opened[Symbol.asyncDispose]();
  };
  return {
    api,
    async submit(type, payload = {}, options = {}) {
      if ("client" in options) {
        const client = options.client as Transaction;
        if (opened.store.inbox) return await submitIn(client, type, payload, optionsOf(options, caller));
        throw new TypeError("the store is in memory, which has no transactions; open it with a PostgreSQL");
      }
      const trace = activeTrace();
      const submission = submissionOf(type, payload, options);
      const [submitted] = await api.submit(caller, [trace ? { ...submission, trace } : submission]);
      if (!submitted?.accepted) throw new Refused(submitted as Refusal);
      return submitted.id;
    },
    async result(id) {
      for (;;) {
        const task = await api.waitForTask(caller, id, WAIT_MS, gone.signal);
        if (!task) throw new RangeError(`there is no task ${id}`);
        if (task.status === "completed") return JSON.parse(task.result ?? "null") as unknown;
        if (task.status === "failed" || task.status === "cancelled") throw new TaskFailed(task);
        gone.signal.throwIfAborted();
      }
    },
    task: (id) => api.task(caller, id),
    why: (id) => api.why(caller, id),
    cancel: (id) => api.cancel(caller, id),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** One process leads a store. This one has no address that another could hand requests on to, so it does not follow. */
async function leadAndOpen(
  { store, isShared }: Awaited<ReturnType<typeof openServiceStore>>,
  { settings }: OpenOptions,
  warn: (message: string) => void,
): Promise<{ service: OpenService; term: Term }> {
  const holder = `process ${process.pid} on ${hostname()}/${randomBytes(4).toString("hex")}`;
  const term = await leadOrRefuse({ store, isShared, leaseMs: LEASE_MS, as: { holder, url: "" } });
  const service = await openService({
    store,
    term,
    ...(settings && { settings }),
    warn,
    onFailed: (error) => warn(`the scheduler has stopped: ${error.message}`),
  }).catch(async (error: unknown) => {
    await term.release();
    throw error;
  });
  void term.deposed.then(() => warn("the scheduler has stopped: another process leads this store"));
  return { service, term };
}

function workerOptions({ slots }: OpenOptions, handlers: Handlers): Parameters<typeof startLocalWorker>[1] {
  return { handlers, executors: [EXECUTOR], zone: ZONE, ...(slots !== undefined && { slots }) };
}

const NONE: readonly string[] = [];
const NOTHING: readonly number[] = [];
const UNLIMITED = { limits: NONE, amounts: [] };
const PRIORITIES = ["critical", "high", "normal", "low", "best_effort"] as const;

/** In the words and units of the wire. */
function optionsOf(options: TaskOptions, { zone, agent }: Caller): Parameters<typeof submitIn>[3] {
  const { priority, estimateMs, runAt, deadline, maxAttempts, backoffMs, timeoutMs } = options;
  const { limits, idempotencyKey, executor = EXECUTOR, budget, onExhausted = "wait" } = options;
  return {
    zone,
    agent,
    executor,
    ...(priority !== undefined && { priority: PRIORITIES[priority] }),
    ...(estimateMs !== undefined && { estimated_service_time: estimateMs / 1000 }),
    ...(runAt !== undefined && { run_at: new Date(runAt).toISOString() }),
    ...(deadline !== undefined && { deadline: new Date(deadline).toISOString() }),
    ...(maxAttempts !== undefined && { max_attempts: maxAttempts }),
    ...(backoffMs !== undefined && { retry_backoff: backoffMs / 1000 }),
    ...(timeoutMs !== undefined && timeoutMs > 0 && { timeout: timeoutMs / 1000 }),
    ...(limits !== undefined && { limits: Object.fromEntries(amountsIn(limits)) }),
    ...(budget !== undefined && { budget: budgetBody(budget, onExhausted) }),
    ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
  };
}

function budgetBody(asked: NonNullable<TaskOptions["budget"]>, onExhausted: "wait" | "fail"): object {
  return { ...budgetOnWire(taskBudget(asked, true)), on_exhausted: onExhausted };
}

function submissionOf(type: string, payload: unknown, options: TaskOptions): TaskSubmission {
  const { priority = 2, estimateMs = 30_000, maxAttempts = 3, backoffMs = 1000, timeoutMs = 0 } = options;
  const { idempotencyKey, limits = NONE, executor = EXECUTOR, runAt = -1, deadline = -1 } = options;
  const { budget, onExhausted = "wait" } = options;
  refuseLoss(payload, "payload");
  return {
    executor,
    type,
    payload: JSON.stringify(payload),
    priority,
    requestState: "pending",
    estimateMs,
    boostMicros: 0,
    deadline,
    runAt,
    idempotencyKey,
    // Compared where a key comes again, so without a key there is nothing to compare.
    bodyHash: idempotencyKey === undefined ? "" : bodyHashOf(type, payload, options),
    cpuMillicores: 0,
    memoryBytes: 0,
    capabilities: NONE,
    ...(limits === NONE ? UNLIMITED : limitsOf(amountsIn(limits))),
    maxAttempts,
    backoffMs,
    timeoutMs,
    budget: budget === undefined ? NOTHING : taskBudget(budget, onExhausted === "wait"),
  };
}

function amountsIn(limits: NonNullable<TaskOptions["limits"]>): ReadonlyMap<string, number> {
  const entries = Object.entries(limits);
  return new Map(
    Array.isArray(limits) ? entries.map(([, name]) => [String(name), 1]) : (entries as [string, number][]),
  );
}

function bodyHashOf(type: string, payload: unknown, { client: _, ...options }: TaskOptions): string {
  return sha256Hex(canonicalJson({ type, payload, ...options }));
}
