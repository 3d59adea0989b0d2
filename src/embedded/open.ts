import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import { hostname } from "node:os";
import { submitIn, type Transaction } from "../client/index.ts";
import { LEASE_MS, leadOrRefuse, type Term } from "../cluster/index.ts";
import {
  type Api,
  type Explanation,
  type OpenService,
  openService,
  type Refusal,
  type ServiceSettings,
  type TaskView,
} from "../server/index.ts";
import { openServiceStore } from "../store/index.ts";
import { activeTrace } from "../telemetry/index.ts";
import type { Handlers } from "../worker/index.ts";
import { localCaller, startLocalWorker } from "./local-worker.ts";
import { checkedOptions, optionsOf, submissionOf, type TaskOptions } from "./task-options.ts";

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

/** Ids of tasks are UUIDs. Other texts are not looked for in the store, which may not even be able to hold them. */
const TASK_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function isTaskId(id: unknown): id is string {
  return typeof id === "string" && TASK_ID.test(id);
}

const ZONE = "default";
const EXECUTOR = "default";
const WAIT_MS = 60_000;

/** The largest number of slots that a worker can register. */
const MAX_SLOTS = 10_000;

/** A scheduler, its store and a worker in this process, without HTTP. */
export async function open(options: OpenOptions = {}): Promise<Orrery> {
  const { slots = 1 } = options;
  if (!Number.isInteger(slots) || slots < 1 || slots > MAX_SLOTS)
    throw new TypeError(`slots must be a whole number from 1 to ${MAX_SLOTS}; got ${String(slots)}`);
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
    async submit(type, payload = {}, options = undefined) {
      const checked = checkedOptions(type, options);
      if (options && Object.hasOwn(options, "client")) {
        const client = options.client as Transaction;
        if (opened.store.inbox) return await submitIn(client, type, payload, optionsOf(checked, caller));
        throw new TypeError("the store is in memory, which has no transactions; open it with a PostgreSQL");
      }
      const trace = activeTrace();
      const submission = submissionOf(type, payload, checked);
      const [submitted] = await api.submit(caller, [trace ? { ...submission, trace } : submission]);
      if (!submitted?.accepted) throw new Refused(submitted as Refusal);
      return submitted.id;
    },
    async result(id) {
      if (!isTaskId(id)) throw new RangeError(`there is no task ${String(id)}`);
      for (;;) {
        const task = await api.waitForTask(caller, id, WAIT_MS, gone.signal);
        if (!task) throw new RangeError(`there is no task ${id}`);
        if (task.status === "completed") return JSON.parse(task.result ?? "null") as unknown;
        if (task.status === "failed" || task.status === "cancelled") throw new TaskFailed(task);
        gone.signal.throwIfAborted();
      }
    },
    task: async (id) => (isTaskId(id) ? await api.task(caller, id) : undefined),
    why: async (id) => (isTaskId(id) ? await api.why(caller, id) : undefined),
    cancel: async (id) => isTaskId(id) && (await api.cancel(caller, id)),
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
